//! Instants as logs write them, in microseconds since the Unix epoch.

use jiff::Timestamp;
use jiff::fmt::strtime;

/// Reads times. Lines that follow each other mostly have the same second, which is read once.
#[derive(Default)]
pub(super) struct Times {
    text: Vec<u8>,
    micros: u64,
}

impl Times {
    /// `10/Oct/2000:13:55:36 -0700`, `2000-10-10T13:55:36.123-07:00`, or a number since the Unix epoch.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<u64> {
        if !text.is_empty() && self.text == text {
            return Some(self.micros);
        }
        self.micros = read(core::str::from_utf8(text).ok()?)?;
        self.text.clear();
        self.text.extend_from_slice(text);
        Some(self.micros)
    }
}

fn read(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return number(text);
    }
    let instant = match text.parse::<Timestamp>() {
        Ok(instant) => instant,
        Err(_) => strtime::parse("%d/%b/%Y:%H:%M:%S%.f %z", text).ok()?.to_timestamp().ok()?,
    };
    u64::try_from(instant.as_microsecond()).ok()
}

/// A number of seconds, or of thousandths of that by as many digits as only those have in our days.
fn number(text: &str) -> Option<u64> {
    let whole = text.split('.').next()?.len();
    match whole {
        0 => None,
        1..=11 => scaled(text, 6),
        12..=14 => scaled(text, 3),
        15..=17 => scaled(text, 0),
        _ => text.split('.').next()?.parse::<u64>().ok()?.checked_div(1_000),
    }
}

/// A decimal number times ten to this power; what is left behind the point is cut off.
pub(super) fn scaled(text: &str, power: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(power);
    digits
        .map(|digit| u64::from(digit - b'0'))
        .try_fold(whole.parse::<u64>().ok()?, |number, digit| number.checked_mul(10)?.checked_add(digit))
}

#[cfg(test)]
mod tests {
    use super::{Times, scaled};

    #[test]
    fn the_same_instant_however_it_is_written() {
        for text in [
            "1795986000",
            "1795986000.0",
            "1795986000.000000999",
            "1795986000000",
            "1795986000000000",
            "1795986000000000000",
            "2026-11-29T21:00:00Z",
            "2026-11-29T21:00:00.000Z",
            "2026-11-29T22:00:00+01:00",
            "2026-11-29T22:00:00+0100",
            "2026-11-30 02:30:00+05:30",
            "29/Nov/2026:21:00:00 +0000",
            "29/Nov/2026:14:00:00 -0700",
        ] {
            assert_eq!(Times::default().read(text.as_bytes()), Some(1_795_986_000_000_000), "{text}");
        }
        let mut times = Times::default();
        assert_eq!(times.read(b"1795986000.25"), Some(1_795_986_000_250_000));
        assert_eq!(times.read(b"1795986000.5"), Some(1_795_986_000_500_000));
        assert_eq!(times.read(b"29/Nov/2026:21:00:00.25 +0000"), Some(1_795_986_000_250_000));
    }

    #[test]
    fn what_is_no_instant() {
        for text in [
            "",
            "-",
            ".",
            ".5",
            "1.2.3",
            "yesterday",
            "31/Feb/2026:00:00:00 +0000",
            "29/Nov/2026:21:00:00",
            "2026-11-29T21:00:00",
            "2026-11-29",
            "29/Nov/1926:21:00:00 +0000",
            "99999999999999999999999",
            "\u{e9}",
        ] {
            assert_eq!(Times::default().read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Times::default().read(b"\xff"), None);
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(scaled("0.000001", 6), Some(1));
        assert_eq!(scaled("12.5", 3), Some(12_500));
        assert_eq!(scaled("12.5", 0), Some(12));
        assert_eq!(scaled("-1", 6), None);
        assert_eq!(scaled("99999999999999999999", 6), None);
    }
}
