//! Whole seconds and units, as they travel.

use core::time::Duration;

/// The longest wait that is written or believed, in seconds: 2^31 (68 years), which RFC 9111 calls large enough for
/// anything.
pub const MAX_SECONDS: u64 = 1 << 31;

/// The most units that are written as a structured field or believed: the largest integer of RFC 9651.
pub const MAX_UNITS: u64 = 999_999_999_999_999;

/// `span` in whole seconds, rounded up and capped: whoever waits that long has waited long enough.
pub(crate) fn ceil(span: Duration) -> u64 {
    let begun = u64::from(span.subsec_nanos() > 0);
    span.as_secs().saturating_add(begun).min(MAX_SECONDS)
}

/// `seconds` as a duration, capped.
pub(crate) fn duration(seconds: u64) -> Duration {
    Duration::from_secs(seconds.min(MAX_SECONDS))
}

/// `units`, capped.
pub(crate) fn cap_units(units: u64) -> u64 {
    units.min(MAX_UNITS)
}

/// Parses a whole number without sign; saturates, so that an absurd number stays a large one.
pub(crate) fn parse_whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        Some(number.saturating_mul(10).saturating_add(digit.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::{Duration, MAX_SECONDS, ceil, parse_whole};

    #[test]
    fn seconds_round_up_and_end_somewhere() {
        assert_eq!(ceil(Duration::ZERO), 0);
        assert_eq!(ceil(Duration::from_nanos(1)), 1);
        assert_eq!(ceil(Duration::from_secs(7)), 7);
        assert_eq!(ceil(Duration::MAX), MAX_SECONDS);
    }

    #[test]
    fn numbers_are_digits_and_saturate() {
        assert_eq!(parse_whole(b"0042"), Some(42));
        assert_eq!(parse_whole(b"99999999999999999999999"), Some(u64::MAX));
        for bad in ["", "-1", "+1", "1.5", " 1", "1e3", "١"] {
            assert_eq!(parse_whole(bad.as_bytes()), None, "{bad}");
        }
    }
}
