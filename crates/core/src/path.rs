//! Paths: one spelling for each, so that no other spelling evades a rule.

use std::borrow::Cow;
use std::fmt::Write as _;

use thiserror::Error;

/// How a server reads a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) separators: Separators,
    pub(crate) dots: Dots,
    pub(crate) parameters: Parameters,
}

/// Whether backslashes and encoded slashes separate like slashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separators {
    Split,
    Opaque,
}

/// Whether `.` and `..` are steps or names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dots {
    Resolved,
    Kept,
}

/// Whether what follows a `;` belongs to the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameters {
    Dropped,
    Kept,
}

impl Reading {
    pub(crate) const NORMAL: Self =
        Self { separators: Separators::Split, dots: Dots::Resolved, parameters: Parameters::Dropped };
}

/// The one spelling of `path`: percent-encoding undone where it hides nothing, path parameters (`;…`) dropped, `.` and `..`
/// resolved, empty segments and the trailing slash gone. Letter case is kept. Encoded slashes and backslashes separate like slashes.
/// What stays encoded (controls, non-ASCII, `%`) is spelled in upper case. Always begins with `/`. O(length).
#[must_use]
pub fn normalise(path: &str) -> Cow<'_, str> {
    if is_normal(path) {
        return Cow::Borrowed(path);
    }
    Cow::Owned(read(path.split(['?', '#']).next().unwrap_or_default(), Reading::NORMAL))
}

/// The path, which has no query, in this reading. O(length).
pub(crate) fn read(path: &str, reading: Reading) -> String {
    let decoded = decode(path, reading.separators);
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split('/') {
        let name = match reading.parameters {
            Parameters::Dropped => segment.split(';').next().unwrap_or_default(),
            Parameters::Kept => segment,
        };
        match (name, reading.dots) {
            ("", _) | (".", Dots::Resolved) => {}
            ("..", Dots::Resolved) => {
                segments.pop();
            }
            (name, _) => segments.push(name),
        }
    }
    let mut normal = String::with_capacity(decoded.len());
    for segment in segments {
        normal.push('/');
        normal.push_str(segment);
    }
    if normal.is_empty() {
        normal.push('/');
    }
    normal
}

/// Whether `path` is spelled the one way already: the usual case, told without allocating.
pub(crate) fn is_normal(path: &str) -> bool {
    let mut bytes = path.bytes();
    if bytes.next() != Some(b'/') {
        return false;
    }
    let mut last = b'/';
    for byte in bytes {
        let separates = byte == b'/' || byte == b'.';
        if !(0x21..0x7f).contains(&byte)
            || matches!(byte, b'%' | b';' | b'\\' | b'?' | b'#')
            || (last == b'/' && separates)
        {
            return false;
        }
        last = byte;
    }
    last != b'/' || path.len() == 1
}

fn decode(path: &str, separators: Separators) -> String {
    let mut out = String::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let hex =
            |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        let (byte, encoded) = match (byte, hex(ahead.next()), hex(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes = ahead;
                (high << 4 | low, true)
            }
            _ => (byte, false),
        };
        match byte {
            b'/' if !encoded => out.push('/'),
            b'/' | b'\\' if separators == Separators::Split => out.push('/'),
            0x21..0x7f if !matches!(byte, b'%' | b'/' | b'\\') => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// The normal path with its numeric and UUID segments replaced by `{id}`.
#[must_use]
pub(crate) fn collapse(normal: &str) -> Cow<'_, str> {
    if !normal.split('/').any(is_id) {
        return Cow::Borrowed(normal);
    }
    let mut out = String::with_capacity(normal.len());
    for segment in normal.split('/').skip(1) {
        out.push('/');
        out.push_str(if is_id(segment) { "{id}" } else { segment });
    }
    Cow::Owned(out)
}

fn is_id(segment: &str) -> bool {
    let digits = !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
    digits || is_uuid(segment)
}

fn is_uuid(segment: &str) -> bool {
    segment.len() == 36
        && segment.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// A path template: `/users/{id}/posts`, or `/search/**` for everything below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: Box<str>,
    segments: Box<[Segment]>,
    open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Any,
    Literal(Box<str>),
}

/// Why a text is no path template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// It does not begin with `/`.
    #[error("the path template `{0}` does not begin with `/`")]
    NotAbsolute(Box<str>),
    /// `**` stands elsewhere than at the end.
    #[error(
        "`**` in the path template `{0}` is not its last segment: it matches everything below, so nothing can follow"
    )]
    OpenInside(Box<str>),
    /// A segment has a brace or star that is not a whole `{{name}}` or `**`.
    #[error(
        "the segment `{segment}` of the path template `{text}` is neither a literal, nor `{{name}}`, nor a final `**`"
    )]
    Segment {
        /// The template.
        text: Box<str>,
        /// The offending segment.
        segment: Box<str>,
    },
    /// The template is not in the one spelling that requests are compared in.
    #[error("the path template `{text}` never matches, since paths are normalised first; write `{normal}`")]
    NotNormal {
        /// The template.
        text: Box<str>,
        /// What it should be.
        normal: Box<str>,
    },
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// [`TemplateError`] where the text is not a normal path of literals, `{name}` and a final `**`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if !text.starts_with('/') {
            return Err(TemplateError::NotAbsolute(text.into()));
        }
        let normal = normalise(text);
        if normal != text {
            return Err(TemplateError::NotNormal { text: text.into(), normal: normal.into() });
        }
        let mut segments = Vec::new();
        let mut open = false;
        for segment in text.split('/').skip(1).filter(|s| !s.is_empty()) {
            if open {
                return Err(TemplateError::OpenInside(text.into()));
            }
            let name = segment.strip_prefix('{').and_then(|s| s.strip_suffix('}'));
            match name {
                _ if segment == "**" => open = true,
                Some(name) if !name.is_empty() && !name.contains(['{', '}', '*']) => {
                    segments.push(Segment::Any);
                }
                None if !segment.contains(['{', '}', '*']) => segments.push(Segment::Literal(segment.into())),
                _ => return Err(TemplateError::Segment { text: text.into(), segment: segment.into() }),
            }
        }
        Ok(Self { text: text.into(), segments: segments.into(), open })
    }

    /// The template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the normal path `path` matches. `/a/**` matches `/a` and everything below it. O(segments).
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let mut segments = path.split('/').skip(1).filter(|s| !s.is_empty());
        for expected in &self.segments {
            match (expected, segments.next()) {
                (_, None) => return false,
                (Segment::Literal(literal), Some(segment)) if **literal != *segment => return false,
                _ => {}
            }
        }
        self.open || segments.next().is_none()
    }

    /// Its segments, `None` for one that may be any; without the final `**`.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Option<&str>> {
        self.segments.iter().map(|segment| match segment {
            Segment::Any => None,
            Segment::Literal(literal) => Some(&**literal),
        })
    }

    /// Whether it ends with `**`.
    pub(crate) const fn is_open(&self) -> bool {
        self.open
    }

    /// Whether whatever matches `other` matches this one as well.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let fits = |(own, other): (&Segment, &Segment)| *own == Segment::Any || own == other;
        let as_long = match (self.open, other.open) {
            (true, _) => other.segments.len() >= self.segments.len(),
            (false, true) => false,
            (false, false) => other.segments.len() == self.segments.len(),
        };
        as_long && self.segments.iter().zip(&other.segments).all(fits)
    }

    /// Orders templates from general to specific: of two that match a path, the greater one names it better.
    pub(crate) fn specificity(&self) -> impl Ord + '_ {
        (&self.segments, !self.open)
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
