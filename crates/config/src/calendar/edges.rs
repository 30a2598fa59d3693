//! Where the windows of a time zone begin.
//!
//! A window begins where the local clock reaches what it begins at (a full hour, a midnight) or skips it. So the day on which the clock
//! goes forward at midnight begins at one o'clock, and the hour that is cut short by a half has half an hour. A midnight or a Monday
//! that comes twice, since the clock went back over it, begins its window the first time; an hour that comes twice is two hours.

use core::iter::once;

use cupo_core::number::MAX_INSTANT;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Unit;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// Seconds of local time, counted from the local midnight that 1970 began with.
type Local = i64;

/// The edges of `unit` after the Unix epoch, in microseconds since then; the last is the first after all instants there are. Weeks begin
/// `first_day` days after Monday.
pub(super) fn edges(unit: Unit, zone: &TimeZone, first_day: i64) -> Vec<u64> {
    let mut edges = Edges { found: Vec::new() };
    // Where the clock was, and what the next window begins at.
    let (mut clock, mut next) = (Local::MAX, first(unit, 0, first_day));
    for Offset { from, until, seconds } in offsets(zone) {
        let (from, until) = (from.saturating_add(seconds), until.saturating_add(seconds));
        if unit == Unit::Hour && from < clock {
            next = first(unit, from, first_day);
        }
        while next < until {
            // What was skipped begins where the clock came to be later.
            edges.push(next.max(from).saturating_sub(seconds));
            next = after(unit, next);
        }
        clock = until;
    }
    edges.found
}

struct Edges {
    found: Vec<u64>,
}

impl Edges {
    /// Takes an edge in Unix seconds; several skipped at once are one.
    fn push(&mut self, at: i64) {
        let Some(micros) = u64::try_from(at).ok().and_then(|at| at.checked_mul(1_000_000)) else { return };
        let last = self.found.last().copied().unwrap_or(0);
        if micros > last && last <= MAX_INSTANT {
            self.found.push(micros);
        }
    }
}

/// A time in which the zone's clock is so many seconds ahead of UTC.
#[derive(Debug, Clone, Copy)]
struct Offset {
    from: i64,
    until: i64,
    seconds: i64,
}

/// The offsets of a zone from the Unix epoch to beyond the end of the number domain, where even a month has ended.
fn offsets(zone: &TimeZone) -> impl Iterator<Item = Offset> {
    let seconds = |micros: u64| i64::try_from(micros / 1_000_000).unwrap_or(i64::MAX);
    let end = seconds(MAX_INSTANT).saturating_add(DAY.saturating_mul(33));
    let changes = zone
        .following(Timestamp::UNIX_EPOCH)
        .map(|change| (change.timestamp().as_second(), i64::from(change.offset().seconds())))
        .take_while(move |(at, _)| *at < end);
    let first = (0, i64::from(zone.to_offset(Timestamp::UNIX_EPOCH).seconds()));
    let ends = changes.clone().map(|(at, _)| at).chain(once(end)).collect::<Vec<_>>();
    let begun = once(first).chain(changes).collect::<Vec<_>>();
    begun.into_iter().zip(ends).map(|((from, seconds), until)| Offset { from, until, seconds })
}

/// The first beginning at or after `local`.
fn first(unit: Unit, local: Local, first_day: i64) -> Local {
    let of = |length: i64, shift: i64| {
        let over = local.saturating_sub(shift).rem_euclid(length);
        if over == 0 { local } else { local.saturating_add(length).saturating_sub(over) }
    };
    match unit {
        Unit::Hour => of(HOUR, 0),
        Unit::Day => of(DAY, 0),
        // 1970 began with a Thursday.
        Unit::Week => of(DAY.saturating_mul(7), DAY.saturating_mul(first_day.saturating_add(4))),
        Unit::Month => 0,
    }
}

/// The beginning after one.
fn after(unit: Unit, beginning: Local) -> Local {
    match unit {
        Unit::Hour => beginning.saturating_add(HOUR),
        Unit::Day => beginning.saturating_add(DAY),
        Unit::Week => beginning.saturating_add(DAY.saturating_mul(7)),
        Unit::Month => {
            // Local time is that of a zone without an offset.
            let day = Timestamp::from_second(beginning).map(|at| TimeZone::UTC.to_datetime(at).date());
            let days = day.map_or(31, |day: Date| i64::from(day.days_in_month()));
            beginning.saturating_add(days.saturating_mul(DAY))
        }
    }
}
