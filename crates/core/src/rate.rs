//! Rates and durations as people write them.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use thiserror::Error;

/// A number of units per period: `100/minute`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    /// Units per period; 0 admits nothing.
    pub count: u64,
    /// The period; never zero when parsed.
    pub period: Duration,
}

/// Why a text is not a rate or a duration. Every message quotes the text and says what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RateError {
    /// There is no `/` or `per` between count and period.
    #[error("`{text}` is not a rate: write COUNT/PERIOD, as in `100/minute`, `5 per 10s` or `20/500ms`")]
    NotARate {
        /// The offending text.
        text: Box<str>,
    },
    /// The count is not a non-negative whole number.
    #[error(
        "`{count}` in `{text}` is not a count: write a whole number from 0 to 9007199254740991, without sign, point or separator"
    )]
    Count {
        /// The whole text.
        text: Box<str>,
        /// The part that should be a count.
        count: Box<str>,
    },
    /// The number of a duration is not a positive whole number, or the duration is too long.
    #[error(
        "`{number}` in `{text}` is not a length of time: write a whole number above 0 and a unit, together at most 26000 days, as in `500ms`, `10s` or `1h`"
    )]
    Length {
        /// The whole text.
        text: Box<str>,
        /// The part that should be a number.
        number: Box<str>,
    },
    /// There is no unit.
    #[error("`{text}` does not say its unit of time: add ms, s, m, h or d, as in `{text}s`")]
    NoUnit {
        /// The offending text.
        text: Box<str>,
    },
    /// The unit is unknown.
    #[error(
        "`{unit}` in `{text}` is not a unit of time: use ms, s, m, h or d, or their long names (milliseconds, seconds, minutes, hours, days)"
    )]
    Unit {
        /// The whole text.
        text: Box<str>,
        /// The part that should be a unit.
        unit: Box<str>,
    },
    /// The unit is one of the calendar's.
    #[error(
        "`{unit}` in `{text}` is not a length of time: write days, as in `{days}d`, or a limit in windows of the calendar"
    )]
    Calendar {
        /// The whole text.
        text: Box<str>,
        /// The part that is a unit of the calendar.
        unit: Box<str>,
        /// About how many days it has.
        days: u8,
        /// What a policy calls it.
        calendar: &'static str,
    },
}

/// The longest period that parses: beyond it a microsecond span leaves the number domain.
const MAX_MILLIS: u64 = 26_000 * 86_400_000;

impl Rate {
    /// `count` units per `period`.
    #[must_use]
    pub const fn new(count: u64, period: Duration) -> Self {
        Self { count, period }
    }
}

impl FromStr for Rate {
    type Err = RateError;

    /// Parses `COUNT/PERIOD` or `COUNT per PERIOD`, where PERIOD is a unit (`minute`) or a number and a unit (`10s`,
    /// `500 ms`). Blanks are free; upper and lower case are alike.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.trim().to_ascii_lowercase();
        let (count, period) = lower
            .split_once('/')
            .or_else(|| lower.split_once("per"))
            .ok_or_else(|| RateError::NotARate { text: text.into() })?;
        Ok(Self { count: parse_count(text, count.trim())?, period: parse_period(text, period.trim(), true)? })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} per {}", self.count, DisplayDuration(self.period))
    }
}

/// Parses a duration such as `500ms`, `10 s`, `1m`, `2 hours`. A bare number is an error: it does not say its unit.
///
/// # Errors
/// [`RateError`] where the text is not a positive whole number and a known unit, or longer than 26,000 days.
pub fn parse_duration(text: &str) -> Result<Duration, RateError> {
    parse_period(text, text.trim().to_ascii_lowercase().as_str(), false)
}

fn parse_count(text: &str, count: &str) -> Result<u64, RateError> {
    let error = || RateError::Count { text: text.into(), count: count.into() };
    if count.is_empty() || !count.bytes().all(|b| b.is_ascii_digit()) {
        return Err(error());
    }
    count.parse().ok().filter(|&n| n < crate::number::DOMAIN).ok_or_else(error)
}

fn parse_period(text: &str, period: &str, bare_unit: bool) -> Result<Duration, RateError> {
    let digits = period.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = period.split_at(digits);
    let unit = unit.trim();
    // A sign, a point or a comma belongs to a number that is not one of ours; blame the number, not the unit.
    if unit.starts_with(['-', '+', '.', ',']) {
        return Err(RateError::Length { text: text.into(), number: period.into() });
    }
    let of_calendar =
        |days, calendar| RateError::Calendar { text: text.into(), unit: unit.into(), days, calendar };
    let millis_per_unit: u64 = match unit {
        "" => return Err(RateError::NoUnit { text: text.into() }),
        "ms" | "millisecond" | "milliseconds" => 1,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
        "h" | "hr" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        "w" | "week" | "weeks" => return Err(of_calendar(7, "week")),
        "mo" | "month" | "months" => return Err(of_calendar(30, "month")),
        _ => return Err(RateError::Unit { text: text.into(), unit: unit.into() }),
    };
    let length = || RateError::Length { text: text.into(), number: number.into() };
    let number: u64 =
        if number.is_empty() && bare_unit { 1 } else { number.parse().map_err(|_| length())? };
    match number.checked_mul(millis_per_unit) {
        Some(millis) if (1..=MAX_MILLIS).contains(&millis) => Ok(Duration::from_millis(millis)),
        _ => Err(length()),
    }
}

/// Shows a duration in the largest unit that divides it: `90s`, `2m`, `1500us`.
#[derive(Debug, Clone, Copy)]
pub struct DisplayDuration(pub Duration);

impl fmt::Display for DisplayDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u128, &str); 6] = [
            (86_400_000_000, "d"),
            (3_600_000_000, "h"),
            (60_000_000, "m"),
            (1_000_000, "s"),
            (1_000, "ms"),
            (1, "us"),
        ];
        let micros = self.0.as_micros();
        if micros == 0 {
            return f.write_str("0s");
        }
        for (size, unit) in UNITS {
            if let (Some(whole), Some(0)) = (micros.checked_div(size), micros.checked_rem(size)) {
                return write!(f, "{whole}{unit}");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "rate_tests.rs"]
mod tests;
