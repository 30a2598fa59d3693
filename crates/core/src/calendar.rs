//! Calendars: where the windows of a calendar begin, as plain data.
//!
//! Core knows no time zones. Whoever does works out the edges once, and a calendar keeps them as runs of windows of equal
//! length: the days of a zone with daylight saving are a few hundred runs, its months two thousand. So a calendar is exact at
//! every instant, small, immutable, and asked by a binary search.

use core::fmt;
use core::hash::{Hash, Hasher};

use thiserror::Error;

use crate::number::{MAX_INSTANT, MAX_SPAN, modulo};

/// The edges of a calendar's windows. Windows are half-open: an edge belongs to the window that it begins.
///
/// ```
/// use cupo_core::Calendar;
///
/// let hour = 3_600_000_000;
/// // Two days, of which the second has 23 hours; then 24 again.
/// let calendar = Calendar::from_edges("day", [24 * hour, 47 * hour, 71 * hour])?;
/// assert_eq!(calendar.window(30 * hour), (24 * hour, 47 * hour));
/// assert_eq!(calendar.window(47 * hour), (47 * hour, 71 * hour));
/// # Ok::<(), cupo_core::CalendarError>(())
/// ```
#[derive(Clone)]
pub struct Calendar {
    name: Box<str>,
    runs: Box<[Run]>,
    longest: u64,
    shortest: u64,
}

/// Windows of equal length, up to the start of the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    start: u64,
    length: u64,
}

/// Why edges make no calendar.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CalendarError {
    /// There is no edge after the Unix epoch.
    #[error("a calendar needs at least one edge after the Unix epoch")]
    NoEdge,
    /// An edge is not after the one before it.
    #[error("the edge at {edge} is not after the one before it, at {before}; give edges in ascending order")]
    NotAscending {
        /// The edge before it.
        before: u64,
        /// The offending edge.
        edge: u64,
    },
    /// An edge or a window is outside the number domain.
    #[error("the window from {start} to {edge} is outside the number domain")]
    OutOfDomain {
        /// The start of the window.
        start: u64,
        /// Its end.
        edge: u64,
    },
}

impl Calendar {
    /// The calendar whose windows begin at the Unix epoch and at `edges`, which are ascending, in microseconds since then. After
    /// the last edge, windows are as long as the last one. The name completes "per", as in `month of Europe/Madrid`.
    ///
    /// # Errors
    /// [`CalendarError`] where there are no edges, they do not ascend, or they leave the number domain.
    pub fn from_edges(name: &str, edges: impl IntoIterator<Item = u64>) -> Result<Self, CalendarError> {
        let (mut runs, mut before) = (Vec::<Run>::new(), 0);
        for edge in edges.into_iter().skip_while(|edge| *edge == 0) {
            let Some(length) = edge.checked_sub(before).filter(|length| *length > 0) else {
                return Err(CalendarError::NotAscending { before, edge });
            };
            if length > MAX_SPAN || before > MAX_INSTANT {
                return Err(CalendarError::OutOfDomain { start: before, edge });
            }
            if runs.last().is_none_or(|run| run.length != length) {
                runs.push(Run { start: before, length });
            }
            before = edge;
        }
        let lengths = || runs.iter().map(|run| run.length);
        let (Some(longest), Some(shortest)) = (lengths().max(), lengths().min()) else {
            return Err(CalendarError::NoEdge);
        };
        Ok(Self { name: name.into(), longest, shortest, runs: runs.into() })
    }

    /// What it is called.
    #[must_use]
    pub const fn name(&self) -> &str {
        &self.name
    }

    /// The window that `at` lies in, from its first microsecond to that of the next one.
    #[must_use]
    pub fn window(&self, at: u64) -> (u64, u64) {
        let after = self.runs.partition_point(|run| run.start <= at);
        // The first run begins at 0, so there always is one.
        let run = after.checked_sub(1).and_then(|i| self.runs.get(i));
        let Run { start, length } = run.copied().unwrap_or(Run { start: 0, length: self.longest });
        let start = at.saturating_sub(modulo(at.saturating_sub(start), length));
        (start, start.saturating_add(length))
    }

    /// The length of the longest window, in microseconds.
    #[must_use]
    pub const fn longest(&self) -> u64 {
        self.longest
    }

    /// The length of the shortest window, in microseconds.
    #[must_use]
    pub const fn shortest(&self) -> u64 {
        self.shortest
    }
}

/// Two calendars are one if they have the same name and windows.
impl PartialEq for Calendar {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other) || (self.name == other.name && self.runs == other.runs)
    }
}

impl Eq for Calendar {}

impl Hash for Calendar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, runs, .. } = self;
        write!(f, "Calendar({name}, {} runs)", runs.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Calendar, CalendarError, MAX_INSTANT, MAX_SPAN};

    #[test]
    fn every_instant_lies_between_its_edges() {
        let edges = [10, 20, 25, 30, 31, 38];
        let calendar = Calendar::from_edges("test", edges).unwrap();
        assert_eq!((calendar.longest(), calendar.shortest()), (10, 1));
        assert_eq!(calendar.runs.len(), 4);
        // After the last edge the last length goes on.
        let all: Vec<u64> = [0].into_iter().chain(edges).chain((1..9).map(|n| 38 + 7 * n)).collect();
        for pair in all.windows(2) {
            for at in pair[0]..pair[1] {
                assert_eq!(calendar.window(at), (pair[0], pair[1]), "{at}");
            }
        }
    }

    #[test]
    fn an_edge_at_the_epoch_says_nothing() {
        let with = Calendar::from_edges("test", [0, 5, 9]).unwrap();
        assert_eq!(with, Calendar::from_edges("test", [5, 9]).unwrap());
        assert_ne!(with, Calendar::from_edges("other", [5, 9]).unwrap());
        assert_ne!(with, Calendar::from_edges("test", [5, 8]).unwrap());
    }

    #[test]
    fn what_is_no_calendar_is_refused() {
        let error = |edges: &[u64]| Calendar::from_edges("test", edges.iter().copied()).unwrap_err();
        assert_eq!(error(&[]), CalendarError::NoEdge);
        assert_eq!(error(&[0]), CalendarError::NoEdge);
        assert_eq!(error(&[5, 5]), CalendarError::NotAscending { before: 5, edge: 5 });
        assert_eq!(error(&[5, 4]), CalendarError::NotAscending { before: 5, edge: 4 });
        let far = MAX_SPAN + 1;
        assert_eq!(error(&[far]), CalendarError::OutOfDomain { start: 0, edge: far });
        let edges = [MAX_SPAN, 2 * MAX_SPAN, MAX_INSTANT];
        assert!(Calendar::from_edges("test", edges).is_ok());
        let beyond = [MAX_SPAN, 2 * MAX_SPAN, MAX_INSTANT + 1, MAX_INSTANT + 2];
        assert_eq!(
            error(&beyond),
            CalendarError::OutOfDomain { start: MAX_INSTANT + 1, edge: MAX_INSTANT + 2 }
        );
    }
}
