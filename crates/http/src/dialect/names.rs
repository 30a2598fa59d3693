//! Three fields that speak of the binding rule: its limit, what is left, and when there is more. Dialects of this form differ in
//! their names and in what the reset counts from, so a policy may name its own.

use core::time::Duration;

use cupo_core::Timestamp;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::{Dialect, Facts, Values};
use crate::advice::Quota;
use crate::error::PresentationError;
use crate::reserved;
use crate::seconds::{self, parse_whole};

/// What a reset says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResetAs {
    /// The instant, in seconds since the Unix epoch, as in `X-RateLimit-Reset`.
    #[default]
    Epoch,
    /// Seconds from now, as in `RateLimit-Reset`.
    Delta,
}

/// Names for the three fields; any of them may be left out, but not all.
///
/// ```
/// use cupo_core::Timestamp;
/// use cupo_http::{FieldNames, ResetAs};
///
/// let names = FieldNames::new(Some("X-Quota"), Some("X-Quota-Left"), None, ResetAs::Delta)?;
/// let mut headers = http::HeaderMap::new();
/// headers.insert("x-quota-left", "7".parse()?);
/// assert_eq!(names.read(&headers, Timestamp::EPOCH).and_then(|quota| quota.remaining), Some(7));
///
/// assert!(FieldNames::new(Some("Content-Length"), None, None, ResetAs::Delta).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldNames {
    pub(super) limit: Option<HeaderName>,
    pub(super) remaining: Option<HeaderName>,
    pub(super) reset: Option<HeaderName>,
    pub(super) reset_as: ResetAs,
}

impl FieldNames {
    /// Fields of these names, in any letter case.
    ///
    /// # Errors
    /// [`PresentationError`] where a name is none, is not a policy's to set, or comes twice, or where there is no name at all.
    pub fn new(
        limit: Option<&str>,
        remaining: Option<&str>,
        reset: Option<&str>,
        reset_as: ResetAs,
    ) -> Result<Self, PresentationError> {
        let name = |text: Option<&str>| text.map(reserved::field_name).transpose();
        let names = Self { limit: name(limit)?, remaining: name(remaining)?, reset: name(reset)?, reset_as };
        let mut seen: Vec<&HeaderName> = Vec::new();
        for name in names.iter() {
            if seen.contains(&name) {
                return Err(PresentationError::FieldTwice(name.as_str().into()));
            }
            seen.push(name);
        }
        if seen.is_empty() { Err(PresentationError::NoFields) } else { Ok(names) }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &HeaderName> {
        [&self.limit, &self.remaining, &self.reset].into_iter().flatten()
    }

    pub(crate) fn write<'a>(&'a self, facts: &Facts<'_>, values: &mut Values<'a>) {
        let decision = &facts.binding.decision;
        if let Some(name) = &self.limit {
            values.numeric(name, seconds::cap_units(decision.limit));
        }
        if let Some(name) = &self.remaining {
            values.numeric(name, seconds::cap_units(decision.remaining));
        }
        let reset = match self.reset_as {
            // When the whole limit is there again, which is never before `Retry-After`.
            ResetAs::Epoch => Some(facts.whole_at()),
            ResetAs::Delta => facts.more_after(decision),
        };
        if let (Some(name), Some(reset)) = (&self.reset, reset) {
            values.numeric(name, reset);
        }
    }

    /// What fields of these names say to a client that received them at `now`. The quota's dialect is the one that has the same
    /// meaning of a reset.
    #[must_use]
    pub fn read(&self, headers: &HeaderMap, now: Timestamp) -> Option<Quota> {
        let value = |name: &Option<HeaderName>| headers.get(name.as_ref()?).map(HeaderValue::as_bytes);
        let reset = |text: &[u8]| match self.reset_as {
            ResetAs::Epoch => parse_reset(text.trim_ascii(), now),
            ResetAs::Delta => first(text).map(seconds::duration),
        };
        let dialect = match self.reset_as {
            ResetAs::Epoch => Dialect::XRateLimit,
            ResetAs::Delta => Dialect::Ietf06,
        };
        let quota = Quota {
            limit: value(&self.limit).and_then(first).map(seconds::cap_units),
            remaining: value(&self.remaining).and_then(first).map(seconds::cap_units),
            reset_after: value(&self.reset).and_then(reset),
            ..Quota::of(dialect)
        };
        quota.says_anything().then_some(quota)
    }
}

impl FieldNames {
    /// The same of fields that an upstream wrote: `None` where a field comes several times or where a limit or a balance is no
    /// number.
    pub(super) fn read_once(&self, headers: &HeaderMap, now: Timestamp) -> Option<Quota> {
        let repeated = |name: &HeaderName| headers.get_all(name).iter().nth(1).is_some();
        let there = |name: &Option<HeaderName>| name.as_ref().is_some_and(|name| headers.contains_key(name));
        let quota = self.read(headers, now)?;
        let broken = (there(&self.limit) && quota.limit.is_none())
            || (there(&self.remaining) && quota.remaining.is_none())
            || self.iter().any(repeated);
        (!broken).then_some(quota)
    }
}

/// The number that a value begins with: some servers list the policies behind it, as in `100, 100;w=60`.
fn first(value: &[u8]) -> Option<u64> {
    let end = value.iter().position(|byte| matches!(byte, b',' | b';')).unwrap_or(value.len());
    parse_whole(value.get(..end)?.trim_ascii())
}

/// Resets from here on are instants, in seconds since the Unix epoch (2001), and from [`MILLIS`] on in milliseconds; below,
/// they are seconds from now. Nobody waits for 31 years.
const INSTANTS: u64 = 1_000_000_000;
const MILLIS: u64 = 1_000_000_000_000;

/// Reads the three meanings that are numbers: an instant in seconds or in milliseconds, and seconds from now. A fraction
/// counts as a whole second.
fn parse_reset(text: &[u8], now: Timestamp) -> Option<Duration> {
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let whole = parse_whole(parts.next()?)?;
    let begun = match parts.next() {
        None => 0,
        Some(fraction) => u64::from(parse_whole(fraction)? > 0),
    };
    let number = whole.saturating_add(begun);
    if number < INSTANTS {
        return Some(seconds::duration(number));
    }
    let micros = number.saturating_mul(if number < MILLIS { 1_000_000 } else { 1_000 });
    Some(Timestamp::from_micros(micros).since(now).min(Duration::from_secs(seconds::MAX_SECONDS)))
}

#[cfg(test)]
mod tests {
    use super::{Duration, FieldNames, ResetAs, Timestamp, parse_reset};
    use crate::error::PresentationError;

    #[test]
    fn a_reset_has_three_meanings() {
        let now = Timestamp::from_micros(1_700_000_000_500_000);
        for (text, wait) in [
            ("30", Some(Duration::from_secs(30))),
            ("0", Some(Duration::ZERO)),
            ("1.2", Some(Duration::from_secs(2))),
            ("1.000", Some(Duration::from_secs(1))),
            ("1700000030", Some(Duration::from_millis(29_500))),
            ("1700000030.25", Some(Duration::from_millis(30_500))),
            ("1700000030000", Some(Duration::from_millis(29_500))),
            ("1600000000", Some(Duration::ZERO)),
            ("", None),
            ("-5", None),
            ("1.", None),
            ("1.2.3", None),
            ("2026-11-29T21:00:00Z", None),
        ] {
            assert_eq!(parse_reset(text.as_bytes(), now), wait, "{text}");
        }
        let absurd = parse_reset(b"99999999999999999999999", now).unwrap();
        assert!(absurd <= Duration::from_secs(crate::MAX_SECONDS));
    }

    #[test]
    fn names_are_three_different_ones_or_fewer() {
        let names = |limit, remaining, reset| FieldNames::new(limit, remaining, reset, ResetAs::Epoch);
        assert!(names(Some("X-A"), Some("X-B"), Some("X-C")).is_ok());
        assert!(names(None, Some("x-b"), None).is_ok());
        assert!(matches!(names(None, None, None), Err(PresentationError::NoFields)));
        assert!(matches!(names(Some("X-A"), None, Some("x-a")), Err(PresentationError::FieldTwice(_))));
        assert!(matches!(names(Some("X A"), None, None), Err(PresentationError::FieldName(_))));
        for reserved in ["Connection", "Transfer-Encoding", "Retry-After", "Set-Cookie", "grpc-status"] {
            assert!(matches!(names(Some(reserved), None, None), Err(PresentationError::FieldReserved(_))));
        }
    }
}
