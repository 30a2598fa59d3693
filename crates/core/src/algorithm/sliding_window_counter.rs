//! Sliding window counter: two fixed windows, the older one weighted by how much of it still lies in the last W ticks.
//!
//! Admits when `floor(previous * (W - e) / W) + current + cost <= L`, where `e = now mod W`. O(1) time and space, and the
//! default. It assumes that the previous window's requests were spread evenly; its stated bound is L in a window aligned
//! to the epoch, and in any interval of t ticks, 2 <= t <= W + 1, at most `L + ceil(L * (t - 2) / W)`: never more than 2L in W. See "How we built rate limiting capable of scaling to
//! millions of domains" (Cloudflare, 2017) for the idea; the exact wait is ours.

use super::decision;
use crate::decision::{Decision, Verdict};
use crate::number::{floor_div, modulo};

/// The numbers of a sliding window counter, with `(count + 1) * window` inside the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Params {
    /// L: units per window.
    pub count: u64,
    /// W: the window's length in ticks, above 0.
    pub window: u64,
}

/// The window that the last admitted request fell in, and what it and the one before it have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// The first tick of the current window (its index times W).
    pub start: u64,
    /// Units admitted in the window before.
    pub previous: u64,
    /// Units admitted in the current window.
    pub current: u64,
}

/// Decides a request of `cost` units at tick `now`; the new state, or `None` where nothing changes.
#[must_use]
pub fn decide(params: &Params, state: Option<&State>, now: u64, cost: u64) -> (Decision<u64>, Option<State>) {
    let Params { count: limit, window } = *params;
    let seen = state.copied().unwrap_or(State { start: 0, previous: 0, current: 0 });
    let now = now.max(seen.start);
    let elapsed = modulo(now, window);
    let start = now.saturating_sub(elapsed);
    let (previous, current) = if start == seen.start {
        (seen.previous, seen.current)
    } else if start == seen.start.saturating_add(window) {
        (seen.current, 0)
    } else {
        (0, 0)
    };
    let left_in_window = window.saturating_sub(elapsed);
    let used = floor_div(previous.saturating_mul(left_in_window), window).saturating_add(current);

    let after = used.saturating_add(cost);
    let verdict = if cost == 0 || after <= limit {
        Verdict::Admit
    } else if cost > limit {
        Verdict::Impossible
    } else {
        Verdict::Deny { retry_after: wait(window, elapsed, previous, current, limit.saturating_sub(cost)) }
    };
    let admitted = verdict.is_admit();
    let (charged, current) = if admitted { (after, current.saturating_add(cost)) } else { (used, current) };
    // The balance is whole once nothing weighs any more: the wait for a use of at most zero.
    let reset_after = if charged == 0 { 0 } else { wait(window, elapsed, previous, current, 0) };
    let next = (admitted && cost > 0).then_some(State { start, previous, current });
    (decision(verdict, limit, limit.saturating_sub(charged), reset_after), next)
}

/// The shortest wait after which at most `room` units weigh, if nothing else is admitted; more than that weigh now.
fn wait(window: u64, elapsed: u64, previous: u64, current: u64, room: u64) -> u64 {
    if let Some(room) = room.checked_sub(current) {
        let at = elapsed_until(window, previous, room);
        if at < window {
            return at.saturating_sub(elapsed);
        }
    }
    // Not in this window: in the next one, `current` is what fades.
    window.saturating_sub(elapsed).saturating_add(elapsed_until(window, current, room))
}

/// The first tick of a window at which `floor(previous * (window - tick) / window) <= room`; the window's length if
/// that is only at its end.
fn elapsed_until(window: u64, previous: u64, room: u64) -> u64 {
    if previous <= room {
        return 0;
    }
    let fits = room.saturating_add(1).saturating_mul(window).saturating_sub(1);
    window.saturating_sub(floor_div(fits, previous))
}

/// Gives back `cost` units that were charged at tick `charged_at` to the window that they were charged to; the new state, or
/// `None` where that window weighs no more.
#[must_use]
pub fn refund(params: &Params, state: &State, cost: u64, charged_at: u64) -> Option<State> {
    let start = charged_at.saturating_sub(modulo(charged_at, params.window));
    if start == state.start {
        Some(State { current: state.current.saturating_sub(cost), ..*state })
    } else if start.saturating_add(params.window) == state.start {
        Some(State { previous: state.previous.saturating_sub(cost), ..*state })
    } else {
        None
    }
}

/// Gives `units` back at tick `now`, whoever used them; the new state, or `None` where there is nothing to give back.
///
/// The current window gets them back before the previous one, which fades by itself; of that one as much goes as makes it weigh
/// what is left. Neither grows, so no later instant is worse for it.
#[must_use]
pub fn grant(params: &Params, state: &State, now: u64, units: u64) -> Option<State> {
    let Params { count: limit, window } = *params;
    let now = now.max(state.start);
    let elapsed = modulo(now, window);
    let start = now.saturating_sub(elapsed);
    let (previous, current) = if start == state.start {
        (state.previous, state.current)
    } else if start == state.start.saturating_add(window) {
        (state.current, 0)
    } else {
        (0, 0)
    };
    let left_in_window = window.saturating_sub(elapsed);
    let weight = floor_div(previous.saturating_mul(left_in_window), window);
    let used = weight.saturating_add(current);
    if used.min(limit) == 0 || units == 0 {
        return None;
    }
    let target = used.min(limit).saturating_sub(units);
    let current = current.saturating_sub(used.saturating_sub(target));
    let heavy = target.saturating_sub(current);
    // The most that weighs so much.
    let most = floor_div(heavy.saturating_add(1).saturating_mul(window).saturating_sub(1), left_in_window);
    let previous = if weight > heavy { most } else { previous };
    Some(State { start, previous, current })
}

/// The tick at which neither window weighs any more: from then on the state decides like no state.
#[must_use]
pub fn expires_at(params: &Params, state: &State) -> u64 {
    let end = state.start.saturating_add(params.window);
    if state.current == 0 { end } else { end.saturating_add(params.window) }
}
