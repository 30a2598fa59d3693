//! `X-RateLimit-*`: older than any draft, and what most clients look for.

use core::time::Duration;

use cupo_core::Timestamp;
use http::HeaderMap;
use http::header::HeaderName;

use super::{Dialect, Facts, Values};
use crate::advice::Quota;
use crate::seconds::{self, parse_whole};

static LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
static REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
static RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Resets from here on are instants, in seconds since the Unix epoch (2001), and from [`MILLIS`] on in milliseconds; below,
/// they are seconds from now. Nobody waits for 31 years.
const INSTANTS: u64 = 1_000_000_000;
const MILLIS: u64 = 1_000_000_000_000;

/// The reset is when the whole limit is there again, which is never before `Retry-After`.
pub(super) fn write(facts: &Facts<'_>, values: &mut Values) {
    let decision = &facts.binding.decision;
    values.numeric(&LIMIT, seconds::cap_units(decision.limit));
    values.numeric(&REMAINING, seconds::cap_units(decision.remaining));
    values.numeric(&RESET, facts.outcome.at().after(decision.reset_after).as_secs_ceil());
}

pub(super) fn read(headers: &HeaderMap, now: Timestamp) -> Option<Quota> {
    let whole = |name| headers.get(name).and_then(|value| parse_whole(value.as_bytes().trim_ascii()));
    let quota = Quota {
        limit: whole(&LIMIT).map(seconds::cap_units),
        remaining: whole(&REMAINING).map(seconds::cap_units),
        reset_after: headers.get(&RESET).and_then(|value| parse_reset(value.as_bytes().trim_ascii(), now)),
        ..Quota::of(Dialect::XRateLimit)
    };
    quota.says_anything().then_some(quota)
}

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
    use super::{Duration, Timestamp, parse_reset};

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
}
