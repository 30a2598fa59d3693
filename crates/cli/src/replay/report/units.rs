//! Numbers, spans and instants for people.

use std::time::Duration;

use jiff::Timestamp;

/// `1,234,567`.
pub(in crate::replay) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `12.34 %`, cut off.
pub(in crate::replay) fn share(part: u64, whole: u64) -> String {
    let hundredths = u128::from(part).saturating_mul(10_000).checked_div(u128::from(whole)).unwrap_or(0);
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

/// `250 ms`, `1.5 s`, `2 min 30 s`, `3 d 4 h`: the two units that matter.
pub(super) fn span(span: Duration) -> String {
    let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    let two = |small: u64, large: &str, factor: u64, unit: &str| match small % factor {
        0 => format!("{} {large}", small / factor),
        rest => format!("{} {large} {rest} {unit}", small / factor),
    };
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => decimal(micros, 1_000, "ms"),
        1_000_000..60_000_000 => decimal(micros / 1_000, 1_000, "s"),
        60_000_000..3_600_000_000 => two(micros / 1_000_000, "min", 60, "s"),
        3_600_000_000..86_400_000_000 => two(micros / 60_000_000, "h", 60, "min"),
        _ => two(micros / 3_600_000_000, "d", 24, "h"),
    }
}

fn decimal(number: u64, factor: u64, unit: &str) -> String {
    let text = format!("{}.{:03}", number / factor, number % factor);
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// An instant, in microseconds since the epoch, in the form that `strftime` describes, in UTC.
pub(super) fn instant(micros: u64, form: &str) -> String {
    let instant = i64::try_from(micros).ok().and_then(|micros| Timestamp::from_microsecond(micros).ok());
    instant.map_or_else(|| micros.to_string(), |instant| instant.strftime(form).to_string())
}

/// An instant in full.
pub(super) fn full(micros: u64) -> String {
    instant(
        micros,
        if micros.is_multiple_of(1_000_000) { "%Y-%m-%d %H:%M:%S UTC" } else { "%Y-%m-%d %H:%M:%S.%3f UTC" },
    )
}

#[cfg(test)]
mod tests {
    use super::{Duration, count, full, share, span};

    #[test]
    fn as_people_write_them() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([share(1, 3), share(0, 0), share(7, 7)], ["33.33 %", "0.00 %", "100.00 %"]);
        let spans = [1, 1_500, 250_000, 1_500_000, 60_000_000, 150_000_000, 3_600_000_000, 273_600_000_000];
        assert_eq!(
            spans.map(|micros| span(Duration::from_micros(micros))),
            ["1 µs", "1.5 ms", "250 ms", "1.5 s", "1 min", "2 min 30 s", "1 h", "3 d 4 h"]
        );
        assert_eq!(full(1_795_986_000_000_000), "2026-11-29 21:00:00 UTC");
        assert_eq!(full(1_795_986_000_250_000), "2026-11-29 21:00:00.250 UTC");
    }
}
