//! The calendars of a call: the server gets the edges around the caller's instant and picks the window by its own clock.

use cupo_core::algorithm::ending_window::Edges;
use cupo_core::{Calendar, Limit, Params, Timestamp};

use crate::codec::seven;

/// The calendar of a limit that has one.
pub(crate) const fn calendar(limit: &Limit) -> Option<&'static Calendar> {
    match limit.params() {
        Params::EndingWindow(p) => match p.edges {
            Edges::Calendar(calendar) => Some(calendar),
            Edges::FirstRequest { .. } => None,
        },
        _ => None,
    }
}

/// Edges of calendars around an instant, packed for the script: each calendar once.
#[derive(Debug)]
pub(crate) struct Calendars {
    around: Timestamp,
    pub(crate) packed: Vec<u8>,
    places: Vec<(&'static Calendar, u64)>,
}

impl Calendars {
    pub(crate) const fn new(around: Timestamp) -> Self {
        Self { around, packed: Vec::new(), places: Vec::new() }
    }

    /// Where the edges of `calendar` begin, counted from 1.
    pub(crate) fn place(&mut self, calendar: &'static Calendar) -> u64 {
        if let Some((_, place)) = self.places.iter().find(|(known, _)| *known == calendar) {
            return *place;
        }
        let place = u64::try_from(self.packed.len()).unwrap_or(u64::MAX).saturating_add(1);
        for edge in edges(calendar, self.around) {
            self.packed.extend(seven(edge));
        }
        self.places.push((calendar, place));
        place
    }
}

/// The edges of the window that `around` lies in, of the one before it and of the one after it. A limit with a calendar counts in
/// microseconds.
fn edges(calendar: &Calendar, around: Timestamp) -> [u64; 4] {
    let (start, end) = calendar.window(around.as_micros());
    let (before, _) = calendar.window(start.saturating_sub(1));
    let (_, after) = calendar.window(end);
    [before, start, end, after]
}
