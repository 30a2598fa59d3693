//! What servers may take a path for. Where they differ nobody knows which reading the upstream goes by.

use std::borrow::Cow;

use crate::path::{Dots, Parameters, Reading, Separators, Template, is_normal, read};

/// The readings of a path: the [normal](crate::normalise) one, and where the path is doubtful the others. It is doubtful
/// where it has, encoded or not, a segment `.` or `..`, a backslash or a `;`, and where it has an encoded or doubled slash.
#[derive(Debug)]
pub(crate) struct Readings<'a> {
    normal: Cow<'a, str>,
    /// Each once, and none that is the normal one. At most 15.
    others: Vec<String>,
}

impl<'a> Readings<'a> {
    /// O(length), and without allocating where the path is normal.
    pub(crate) fn of(path: &'a str) -> Self {
        if is_normal(path) {
            return Self { normal: Cow::Borrowed(path), others: Vec::new() };
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let normal = read(path, Reading::NORMAL);
        let mut others = Vec::new();
        if is_doubtful(path) {
            // A proxy on the way may have resolved what is not encoded.
            for path in [Cow::Borrowed(path), resolve(path)] {
                for reading in every() {
                    let other = read(&path, reading);
                    if other != normal && !others.contains(&other) {
                        others.push(other);
                    }
                }
            }
        }
        Self { normal: Cow::Owned(normal), others }
    }

    pub(crate) fn normal(&self) -> &str {
        &self.normal
    }

    /// All but the normal one.
    pub(crate) fn others(&self) -> &[String] {
        &self.others
    }

    /// Whether one reading matches.
    pub(crate) fn some_match(&self, template: &Template) -> bool {
        template.matches(&self.normal) || self.others.iter().any(|path| template.matches(path))
    }

    /// Whether every reading matches.
    pub(crate) fn all_match(&self, template: &Template) -> bool {
        template.matches(&self.normal) && self.others.iter().all(|path| template.matches(path))
    }
}

fn every() -> impl Iterator<Item = Reading> {
    let separators = [Separators::Split, Separators::Opaque].into_iter();
    separators.flat_map(|separators| {
        [Dots::Resolved, Dots::Kept].into_iter().flat_map(move |dots| {
            let parameters = [Parameters::Dropped, Parameters::Kept].into_iter();
            parameters.map(move |parameters| Reading { separators, dots, parameters })
        })
    })
}

fn is_doubtful(path: &str) -> bool {
    let bytes = path.as_bytes();
    let hides = |triple: &[u8]| {
        matches!(triple, [b'%', b'2', b'f' | b'F'] | [b'%', b'5', b'c' | b'C'] | [b'%', b'3', b'b' | b'B'])
    };
    bytes.iter().any(|byte| matches!(byte, b'\\' | b';'))
        || bytes.windows(2).any(|pair| pair == b"//")
        || bytes.windows(3).any(hides)
        || path.split('/').any(is_dots)
}

/// Whether a segment is `.` or `..`, each dot encoded or not.
fn is_dots(segment: &str) -> bool {
    let mut rest = segment;
    for dots in 0..3 {
        if rest.is_empty() {
            return dots > 0;
        }
        let after =
            rest.strip_prefix('.').or_else(|| rest.strip_prefix("%2e")).or_else(|| rest.strip_prefix("%2E"));
        let Some(after) = after else { return false };
        rest = after;
    }
    false
}

/// The path without its `.` and `..` that are not encoded, as RFC 3986 has it: an empty segment is a segment.
fn resolve(path: &str) -> Cow<'_, str> {
    if !path.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Cow::Borrowed(path);
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/').skip(usize::from(path.starts_with('/'))) {
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    Cow::Owned(format!("/{}", segments.join("/")))
}

#[cfg(test)]
#[path = "readings_tests.rs"]
mod tests;
