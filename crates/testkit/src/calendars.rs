//! Calendars for tests: few ticks and odd lengths, hours and days that a zone with daylight saving has, and the edge of the
//! number domain.

use std::sync::LazyLock;

use cupo_core::Calendar;
use cupo_core::number::{MAX_INSTANT, MAX_SPAN};

const MINUTE: u64 = 60_000_000;
const HOUR: u64 = 60 * MINUTE;

/// An instant of which the calendars with real lengths have edges nearby.
const NOW: u64 = 1_760_000_000_000_000;

static ALL: LazyLock<[(Calendar, Vec<u64>); 6]> = LazyLock::new(|| {
    [
        of("few ticks", vec![3, 4, 9, 10, 11, 16, 18, 25, 27, 28, 40]),
        of("a tick or two", (0..40).map(|n| 3 * (n / 2) + n % 2 + 1).collect()),
        // Two irregular windows among regular ones, in the way of daylight saving.
        of("hours", after(NOW, &[HOUR, HOUR, HOUR / 2, HOUR, HOUR, HOUR, HOUR * 3 / 2, HOUR])),
        of("days", after(NOW, &[24 * HOUR, 23 * HOUR, 24 * HOUR, 24 * HOUR, 25 * HOUR, 24 * HOUR])),
        of(
            "months",
            after(NOW - 700 * HOUR, &[31 * 24 * HOUR, 28 * 24 * HOUR - HOUR, 31 * 24 * HOUR + HOUR]),
        ),
        of("the longest windows", vec![MAX_SPAN, 2 * MAX_SPAN, MAX_INSTANT]),
    ]
});

/// The calendars, each with its edges after the first.
#[must_use]
pub fn all() -> &'static [(Calendar, Vec<u64>)] {
    &*ALL
}

/// One of them.
#[must_use]
pub fn number(n: usize) -> &'static Calendar {
    &ALL[n % ALL.len()].0
}

/// The calendar with these edges, for ever.
///
/// # Panics
/// Where there is none.
#[must_use]
pub fn leaked(name: &str, edges: &[u64]) -> &'static Calendar {
    if let Some((calendar, _)) =
        ALL.iter().find(|(calendar, known)| calendar.name() == name && known == edges)
    {
        return calendar;
    }
    Box::leak(Box::new(Calendar::from_edges(name, edges.iter().copied()).unwrap()))
}

/// The edges of a calendar, up to the end of the window that follows its last.
///
/// # Panics
/// Where it is not one of these.
#[must_use]
pub fn edges(calendar: &Calendar) -> &'static [u64] {
    &ALL.iter().find(|(known, _)| known == calendar).unwrap_or_else(|| panic!("{calendar:?}")).1
}

fn of(name: &str, edges: Vec<u64>) -> (Calendar, Vec<u64>) {
    (Calendar::from_edges(name, edges.iter().copied()).unwrap(), edges)
}

/// Windows of these lengths from the first multiple of the first length before `start` on, and as regular ones before.
fn after(start: u64, lengths: &[u64]) -> Vec<u64> {
    let first = start - start % lengths[0];
    let mut edge = first;
    let irregular = lengths.iter().map(|length| {
        edge += length;
        edge
    });
    (1..=first / lengths[0]).map(|n| n * lengths[0]).chain(irregular).collect()
}
