//! Fixed windows that are kept by their end: those of a calendar, and those that begin with a key's first request.
//!
//! Admits when `count + cost <= L`, as [`fixed_window`](super::fixed_window) does. A window that has begun goes on to the end
//! that it was given, which is all that has to be known of it: where it began and how long its neighbours are plays no part.
//! O(1) space; time O(1), and a binary search where a window of a calendar begins. At most L units in each window, so in any
//! interval at most L times the windows that it touches: 2L across an edge.

use super::decision;
use crate::calendar::Calendar;
use crate::decision::{Decision, Verdict};

/// The numbers of a fixed window that is kept by its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Params {
    /// L: units per window.
    pub count: u64,
    /// Where windows begin and end.
    pub edges: Edges,
}

/// Where windows begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edges {
    /// A window begins with the first request that is admitted while none is open.
    FirstRequest {
        /// W: the window's length in ticks, above 0.
        window: u64,
    },
    /// The windows of a calendar, where a tick is a microsecond.
    Calendar(&'static Calendar),
}

/// The window that the last admitted request fell in, and what it has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// The first tick after the window.
    pub end: u64,
    /// Units admitted in it.
    pub count: u64,
}

impl Params {
    /// The end of a window that has its first request at `now`.
    #[must_use]
    pub fn end(&self, now: u64) -> u64 {
        match self.edges {
            Edges::FirstRequest { window } => now.saturating_add(window),
            Edges::Calendar(calendar) => calendar.window(now).1,
        }
    }

    /// The length of the longest window in ticks.
    #[must_use]
    pub const fn longest(&self) -> u64 {
        match self.edges {
            Edges::FirstRequest { window } => window,
            Edges::Calendar(calendar) => calendar.longest(),
        }
    }
}

/// Decides a request of `cost` units at tick `now`; the new state, or `None` where nothing changes.
///
/// Where the clock has stepped back behind the window, the window stays what it is; the wait that is told is no longer than
/// the longest window, and so is enough once the clock has caught up.
#[must_use]
pub fn decide(params: &Params, state: Option<&State>, now: u64, cost: u64) -> (Decision<u64>, Option<State>) {
    let limit = params.count;
    let State { end: seen, count } = state.copied().unwrap_or(State { end: 0, count: 0 });
    let (end, count) = if seen > now { (seen, count) } else { (params.end(now), 0) };
    let left_in_window = end.saturating_sub(now).min(params.longest());

    let after = count.saturating_add(cost);
    let verdict = if cost == 0 || after <= limit {
        Verdict::Admit
    } else if cost > limit {
        Verdict::Impossible
    } else {
        Verdict::Deny { retry_after: left_in_window }
    };
    let charged = if verdict.is_admit() { after } else { count };
    let reset_after = if charged == 0 { 0 } else { left_in_window };
    let next = (verdict.is_admit() && cost > 0).then_some(State { end, count: after });
    (decision(verdict, limit, limit.saturating_sub(charged), reset_after), next)
}

/// Gives back `cost` units that were charged to the window that ends at `end`; the new state, or `None` where that window has
/// passed and there is nothing to give back. The window ends when it would have.
#[must_use]
pub fn refund(state: &State, cost: u64, end: u64) -> Option<State> {
    (end == state.end).then_some(State { end, count: state.count.saturating_sub(cost) })
}

/// Gives `units` back at tick `now`, whoever used them; the new state, or `None` where there is nothing to give back. The window
/// ends when it would have.
#[must_use]
pub fn grant(params: &Params, state: &State, now: u64, units: u64) -> Option<State> {
    let count = state.count.min(params.count);
    (state.end > now && count > 0 && units > 0)
        .then_some(State { end: state.end, count: count.saturating_sub(units) })
}

/// The end of the window: from then on the state decides like no state.
#[must_use]
pub const fn expires_at(state: &State) -> u64 {
    state.end
}
