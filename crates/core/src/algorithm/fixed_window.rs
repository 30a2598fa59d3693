//! Fixed window: at most L units in each window of W ticks, windows aligned to the Unix epoch.
//!
//! Admits when `count + cost <= L`. O(1) time and space. Across an edge up to 2L can pass within one W: the price of
//! its simplicity, and its stated bound: in any interval of length t at most `L * (ceil((t - 1) / W) + 1)`, and at
//! most L in an interval that lies in one window.

use super::decision;
use crate::decision::{Decision, Verdict};
use crate::number::modulo;

/// The numbers of a fixed window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Params {
    /// L: units per window.
    pub count: u64,
    /// W: the window's length in ticks, above 0.
    pub window: u64,
}

/// The window that the last admitted request fell in, and what it has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// The first tick of the window (its index times W).
    pub start: u64,
    /// Units admitted in it.
    pub count: u64,
}

/// Decides a request of `cost` units at tick `now`; the new state, or `None` where nothing changes.
#[must_use]
pub fn decide(params: &Params, state: Option<&State>, now: u64, cost: u64) -> (Decision<u64>, Option<State>) {
    let Params { count: limit, window } = *params;
    let State { start: seen, count } = state.copied().unwrap_or(State { start: 0, count: 0 });
    let now = now.max(seen);
    let start = now.saturating_sub(modulo(now, window));
    let count = if start == seen { count } else { 0 };
    let left_in_window = start.saturating_add(window).saturating_sub(now);

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
    let next = (verdict.is_admit() && cost > 0).then_some(State { start, count: after });
    (decision(verdict, limit, limit.saturating_sub(charged), reset_after), next)
}

/// Gives back `cost` units that were charged at tick `charged_at`; the new state, or `None` where that window has passed and
/// there is nothing to give back.
#[must_use]
pub fn refund(params: &Params, state: &State, cost: u64, charged_at: u64) -> Option<State> {
    let start = charged_at.saturating_sub(modulo(charged_at, params.window));
    (start == state.start).then_some(State { start, count: state.count.saturating_sub(cost) })
}

/// Gives `units` back at tick `now`, whoever used them; the new state, or `None` where there is nothing to give back.
#[must_use]
pub fn grant(params: &Params, state: &State, now: u64, units: u64) -> Option<State> {
    let now = now.max(state.start);
    let start = now.saturating_sub(modulo(now, params.window));
    let count = state.count.min(params.count);
    (start == state.start && count > 0 && units > 0)
        .then_some(State { start, count: count.saturating_sub(units) })
}

/// The end of the window: from then on the state decides like no state.
#[must_use]
pub fn expires_at(params: &Params, state: &State) -> u64 {
    state.start.saturating_add(params.window)
}
