//! Messages with places for numbers.

use core::fmt::Write as _;
use core::time::Duration;

use super::kind::MessageKind;
use super::words::Words;
use crate::error::PresentationError;

/// A text with placeholders such as `{limit}`; a brace is written `{{` or `}}`. Which placeholders there are depends on the
/// [kind of message](MessageKind::placeholders).
///
/// ```
/// use cupo_http::{MessageKind, PresentationError, Template};
///
/// assert!(Template::parse("Only {limit} in {window}; come again in {retry_after}.", MessageKind::Exceeded).is_ok());
/// let wrong = Template::parse("Come again in {retry}.", MessageKind::Exceeded);
/// assert_eq!(wrong, Err(PresentationError::Placeholder("retry".into())));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Box<[Piece]>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Box<str>),
    Place(Place),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Limit,
    Window,
    RetryAfter,
    Rule,
    Remaining,
    Key,
}

/// What stands in the places; nothing where a kind of message has no such value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Insertions<'a> {
    pub(super) limit: Option<u64>,
    pub(super) window: Option<Duration>,
    /// Seconds, as `Retry-After` says them.
    pub(super) retry_after: Option<u64>,
    pub(super) rule: Option<&'a str>,
    pub(super) remaining: Option<u64>,
    pub(super) key: Option<&'a cupo_core::KeySpec>,
}

impl Place {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "limit" => Self::Limit,
            "window" => Self::Window,
            "retry_after" => Self::RetryAfter,
            "rule" => Self::Rule,
            "remaining" => Self::Remaining,
            "key" => Self::Key,
            _ => return None,
        })
    }
}

impl Template {
    /// Parses the text of a message of this kind.
    ///
    /// # Errors
    /// [`PresentationError::Placeholder`] and [`PresentationError::Brace`].
    pub fn parse(text: &str, kind: MessageKind) -> Result<Self, PresentationError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, brace, after)) = split_at_brace(rest) {
            plain.push_str(before);
            if let Some(after) = after.strip_prefix(brace) {
                plain.push(brace);
                rest = after;
                continue;
            }
            let Some((name, after)) = after.split_once('}').filter(|_| brace == '{') else {
                let at = text.chars().count().saturating_sub(after.chars().count());
                return Err(PresentationError::Brace { at });
            };
            let place = Place::from_name(name).filter(|_| kind.placeholders().contains(&name));
            let Some(place) = place else { return Err(PresentationError::Placeholder(name.into())) };
            if !plain.is_empty() {
                pieces.push(Piece::Text(core::mem::take(&mut plain).into()));
            }
            pieces.push(Piece::Place(place));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain.into()));
        }
        Ok(Self(pieces.into()))
    }

    pub(super) fn render(&self, words: Words, insertions: &Insertions<'_>) -> String {
        let mut text = String::with_capacity(128);
        for piece in &self.0 {
            // Writing into a string does not fail.
            let _ = match piece {
                Piece::Text(plain) => text.write_str(plain),
                Piece::Place(place) => place.write(words, insertions, &mut text),
            };
        }
        text
    }
}

impl Place {
    fn write(self, words: Words, values: &Insertions<'_>, text: &mut String) -> core::fmt::Result {
        let mut number = |value: Option<u64>| value.map_or(Ok(()), |value| write!(text, "{value}"));
        match self {
            Self::Limit => number(values.limit),
            Self::Remaining => number(values.remaining),
            Self::Window => values.window.map_or(Ok(()), |span| words.span(span, text)),
            Self::RetryAfter => {
                values.retry_after.map_or(Ok(()), |seconds| words.span(Duration::from_secs(seconds), text))
            }
            Self::Rule => text.write_str(values.rule.unwrap_or_default()),
            Self::Key => values.key.map_or(Ok(()), |key| write!(text, "{key}")),
        }
    }
}

/// What is before the first brace, the brace, and what is after it.
fn split_at_brace(text: &str) -> Option<(&str, char, &str)> {
    let at = text.find(['{', '}'])?;
    let (before, from) = text.split_at_checked(at)?;
    let mut rest = from.chars();
    Some((before, rest.next()?, rest.as_str()))
}

#[cfg(test)]
mod tests {
    use super::{Duration, Insertions, MessageKind, PresentationError, Template, Words};

    fn parsed(text: &str) -> Result<Template, PresentationError> {
        Template::parse(text, MessageKind::Exceeded)
    }

    #[test]
    fn places_are_filled_and_doubled_braces_are_braces() {
        let values = Insertions {
            limit: Some(100),
            window: Some(Duration::from_secs(60)),
            retry_after: Some(30),
            rule: Some("burst"),
            remaining: Some(0),
            key: None,
        };
        for (text, shown) in [
            ("", ""),
            ("{limit}", "100"),
            (
                "¡{rule}: {remaining}/{limit}, {window}, {retry_after}!",
                "¡burst: 0/100, 1 minute, 30 seconds!",
            ),
            ("{{limit}} {{{limit}}} }}{{", "{limit} {100} }{"),
        ] {
            assert_eq!(parsed(text).unwrap().render(Words::English, &values), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_placeholder_is_refused() {
        for (text, name) in [("{}", ""), ("{limits}", "limits"), ("{ limit }", " limit "), ("{key}", "key")] {
            assert_eq!(parsed(text), Err(PresentationError::Placeholder(name.into())), "{text}");
        }
        for (text, at) in [("{", 1), ("ñ{limit", 2), ("a}b", 2), ("{limit}}", 8), ("{{{", 3)] {
            assert_eq!(parsed(text), Err(PresentationError::Brace { at }), "{text}");
        }
        assert!(Template::parse("{retry_after}", MessageKind::Impossible).is_err(), "waiting does not help");
        assert!(Template::parse("{key}", MessageKind::Missing).is_ok());
    }
}
