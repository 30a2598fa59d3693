//! The marks of the axes.

use super::units::instant;

const SECOND: u64 = 1_000_000;
const DAY: u64 = 86_400 * SECOND;

/// Steps of time that people count in.
const STEPS: [u64; 34] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    60 * SECOND,
    120 * SECOND,
    300 * SECOND,
    600 * SECOND,
    900 * SECOND,
    1_800 * SECOND,
    3_600 * SECOND,
    7_200 * SECOND,
    10_800 * SECOND,
    21_600 * SECOND,
    43_200 * SECOND,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    28 * DAY,
    84 * DAY,
    364 * DAY,
    3_640 * DAY,
];

/// At most so many marks between two instants: where and what.
pub(super) fn times(from: u64, to: u64, most: u64) -> Vec<(u64, String)> {
    let length = to.saturating_sub(from);
    let step = STEPS.into_iter().find(|step| length / step <= most).unwrap_or(36_400 * DAY);
    let form = match step {
        ..SECOND => "%H:%M:%S.%3f",
        SECOND..60_000_000 => "%H:%M:%S",
        _ if step < DAY && length <= DAY => "%H:%M",
        _ if step < DAY => "%b %-d %H:%M",
        _ if step < 84 * DAY => "%b %-d",
        _ => "%b %Y",
    };
    let first = from.div_ceil(step);
    (first..)
        .map(|number| number.saturating_mul(step))
        .take_while(|at| *at <= to)
        .map(|at| (at, instant(at, form)))
        .collect()
}

/// Round numbers from nothing to at least `highest`, some four of them; the last is the top of the chart.
pub(super) fn numbers(highest: u64) -> Vec<u64> {
    let mut power = 1_u64;
    let step = loop {
        let step = [1, 2, 5]
            .into_iter()
            .map(|factor| power.saturating_mul(factor))
            .find(|step| highest.div_ceil(*step) <= 4);
        match step {
            Some(step) => break step,
            None => power = power.saturating_mul(10),
        }
    };
    (0..=highest.div_ceil(step)).map(|number| number.saturating_mul(step)).collect()
}

#[cfg(test)]
mod tests {
    use super::{numbers, times};

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(numbers(1), [0, 1]);
        assert_eq!(numbers(5), [0, 2, 4, 6]);
        assert_eq!(numbers(1_234), [0, 500, 1_000, 1_500]);
        assert!(numbers(u64::MAX).len() <= 5);
        let nine = 1_795_986_000_000_000;
        let labels = |length: u64| {
            times(nine, nine + length * 1_000_000, 6).into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(
            labels(60),
            ["21:00:00", "21:00:10", "21:00:20", "21:00:30", "21:00:40", "21:00:50", "21:01:00"]
        );
        assert_eq!(labels(3_600), ["21:00", "21:10", "21:20", "21:30", "21:40", "21:50", "22:00"]);
        assert_eq!(
            labels(3 * 86_400),
            ["Nov 30 00:00", "Nov 30 12:00", "Dec 1 00:00", "Dec 1 12:00", "Dec 2 00:00", "Dec 2 12:00"]
        );
        for exponent in 0..52 {
            let marks = times(nine / 2, nine / 2 + (1 << exponent), 6).len();
            assert!(marks <= 7, "{exponent}: {marks}");
        }
    }
}
