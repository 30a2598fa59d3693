//! What a request costs, and when that is charged.

use core::fmt;
use core::ops::RangeInclusive;

use crate::attributes::Attributes;
use crate::number::ceil_div;

/// What one request takes from a rule's limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CostSource {
    /// So many units, above 0.
    Fixed(u64),
    /// What the response says in a header. Until then `reserve` units are charged; a response that does not say it in whole
    /// units leaves them charged.
    Response {
        /// The header, in lower case.
        header: String,
        /// Units, above 0.
        reserve: u64,
    },
    /// What the request says in a header that somebody vouches for ([`Attributes::vouched_header`]): at least 1 unit, at most
    /// `max`.
    Request {
        /// The header, in lower case.
        header: String,
        /// Units, above 0.
        max: u64,
        /// Units, from 1 to `max`, where nobody who is believed says it in whole units.
        default: u64,
    },
    /// One unit for each started `unit` of the request's body, at least 1 unit and at most `max`; `max` where its length is not
    /// known beforehand.
    Body {
        /// Bytes, above 0.
        unit: u64,
        /// Units, above 0.
        max: u64,
    },
}

/// When a rule's cost is charged for good.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ChargeSource {
    /// When the request comes.
    #[default]
    OnRequest,
    /// When it comes too, so that requests side by side cannot slip by; given back where the response has another status.
    OnResponse(Statuses),
}

/// Statuses of responses: numbers from 100 to 599.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statuses(Vec<RangeInclusive<u16>>);

impl From<u64> for CostSource {
    fn from(units: u64) -> Self {
        Self::Fixed(units)
    }
}

impl CostSource {
    /// The most units that a request takes when it comes.
    #[must_use]
    pub const fn most(&self) -> u64 {
        match self {
            Self::Fixed(units) | Self::Response { reserve: units, .. } => *units,
            Self::Request { max, .. } | Self::Body { max, .. } => *max,
        }
    }

    /// Whether the response says what the request cost.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Response { .. })
    }

    /// Units that this request takes when it comes.
    pub(crate) fn units<A: Attributes + ?Sized>(&self, attributes: &A) -> u64 {
        match self {
            Self::Fixed(units) | Self::Response { reserve: units, .. } => *units,
            Self::Request { header, max, default } => {
                let said = attributes.vouched_header(header).and_then(|value| whole_units(&value));
                said.map_or(*default, |units| units.clamp(1, (*max).max(1)))
            }
            Self::Body { unit, max } => {
                attributes.body_bytes().map_or(*max, |bytes| ceil_div(bytes, *unit).clamp(1, (*max).max(1)))
            }
        }
    }
}

/// Decimal digits, blanks around which do not count; what is beyond 64 bits is the largest number of them.
pub(crate) fn whole_units(text: &[u8]) -> Option<u64> {
    let digits = text.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let push = |number: u64, digit: &u8| number.saturating_mul(10).saturating_add(u64::from(digit & 15));
    Some(digits.iter().fold(0, push))
}

impl Statuses {
    /// Whether `status` is one of them.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }

    /// The ranges, in the order in which they were written.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = &RangeInclusive<u16>> {
        self.0.iter()
    }
}

impl FromIterator<RangeInclusive<u16>> for Statuses {
    fn from_iter<I: IntoIterator<Item = RangeInclusive<u16>>>(ranges: I) -> Self {
        Self(ranges.into_iter().collect())
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, range) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            match (*range.start(), *range.end()) {
                (from, to) if from == to => write!(f, "{from}")?,
                (from @ (100 | 200 | 300 | 400 | 500), to) if to.saturating_sub(from) == 99 => {
                    write!(f, "{}xx", from / 100)?;
                }
                (from, to) => write!(f, "{from} to {to}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Statuses, whole_units};

    #[test]
    fn units_are_whole_and_never_overflow() {
        for (text, units) in [
            ("0", Some(0)),
            ("12", Some(12)),
            (" 0012\t", Some(12)),
            ("18446744073709551615", Some(u64::MAX)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("", None),
            (" ", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("1e3", None),
            ("0x10", None),
            ("1, 2", None),
            ("1 2", None),
            ("\u{664}", None),
        ] {
            assert_eq!(whole_units(text.as_bytes()), units, "{text:?}");
        }
    }

    #[test]
    fn statuses_are_shown_as_they_are_written() {
        let statuses: Statuses = [401..=401, 400..=499, 500..=503].into_iter().collect();
        assert_eq!(statuses.to_string(), "401, 4xx, 500 to 503");
        assert!([401, 400, 499, 503].into_iter().all(|status| statuses.contains(status)));
        assert!([200, 399, 504].into_iter().all(|status| !statuses.contains(status)));
    }
}
