//! Leaky bucket as a shaper: requests leave evenly spaced, one unit each P/R ticks; at most Q units wait.
//!
//! A request is admitted with the `delay` to its slot, which is when everything before it has drained. It is denied when its
//! wait would not fit the queue: `backlog + cost > Q + 1` units, one of them in service. A cost of c takes c slots in
//! a row and is released at the first. In any interval of t ticks at most `R * t / P + Q + 1` units are admitted, and at
//! most `R * t / P + 1` requests of one unit are released. O(1) time and space.
//!
//! The state is the backlog at an instant, the next free slot being `at + backlog / R`: an integer pair is exact where
//! P/R is not a whole number of ticks, and it remembers when the key was last seen. A unit is counted in `period` parts,
//! of which `rate` drain each tick.

use crate::decision::{Decision, Verdict};
use crate::number::{ceil_div, floor_div};

/// The numbers of a leaky bucket, with `2 * (queue + 1) * period + rate` inside the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Params {
    /// R: units that leave per period.
    pub rate: u64,
    /// P: the period in ticks, above 0; in lowest terms with R.
    pub period: u64,
    /// Q: units that may wait behind the one in service.
    pub queue: u64,
}

/// The backlog at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// Parts of units that have not drained yet: units times `period`.
    pub backlog: u64,
    /// The tick at which that was the backlog.
    pub at: u64,
}

impl Params {
    /// Units that the bucket holds: the queue and the one in service; 0 where nothing ever leaves.
    pub(crate) const fn places(&self) -> u64 {
        if self.rate == 0 { 0 } else { self.queue.saturating_add(1) }
    }

    /// What of the state has not drained at `now`, and `now` itself, which never runs backwards.
    fn drained(&self, state: Option<&State>, now: u64) -> (u64, u64) {
        let Some(&State { backlog, at }) = state else { return (0, now) };
        let now = now.max(at);
        // Longer than the time to empty means empty; the bound keeps the product inside the domain.
        let elapsed = now.saturating_sub(at).min(ceil_div(backlog, self.rate));
        (backlog.saturating_sub(elapsed.saturating_mul(self.rate)), now)
    }
}

/// Decides a request of `cost` units at tick `now`; the new state, or `None` where nothing changes.
#[must_use]
pub fn decide(params: &Params, state: Option<&State>, now: u64, cost: u64) -> (Decision<u64>, Option<State>) {
    let places = params.places();
    let full = places.saturating_mul(params.period);
    let (backlog, now) = params.drained(state, now);

    let (verdict, after, delay, next) = if cost == 0 {
        (Verdict::Admit, backlog, 0, None)
    } else if cost > places {
        (Verdict::Impossible, backlog, 0, None)
    } else {
        let after = backlog.saturating_add(cost.saturating_mul(params.period));
        if after > full {
            let retry_after = ceil_div(after.saturating_sub(full), params.rate);
            (Verdict::Deny { retry_after }, backlog, 0, None)
        } else {
            (Verdict::Admit, after, ceil_div(backlog, params.rate), Some(State { backlog: after, at: now }))
        }
    };
    let remaining = floor_div(full.saturating_sub(after), params.period);
    (Decision { verdict, limit: places, remaining, reset_after: ceil_div(after, params.rate), delay }, next)
}

/// Gives back at tick `now` the slot of a request of `cost` units that was cancelled; the new state, or `None` where
/// the slot has passed or somebody has queued behind it. `end` is the tick at which the bucket would have been empty
/// when the request was admitted: that instant plus its `reset_after`.
#[must_use]
pub fn cancel(params: &Params, state: &State, now: u64, cost: u64, end: u64) -> Option<State> {
    // Where more than one unit leaves per tick, ticks cannot tell who queued last.
    if expires_at(params, state) != end || params.rate > params.period {
        return None;
    }
    let (backlog, now) = params.drained(Some(state), now);
    let backlog = backlog.checked_sub(cost.saturating_mul(params.period))?;
    Some(State { backlog, at: now })
}

/// Gives `units` back at tick `now`, whoever used them; the new state, or `None` where there is nothing to give back. Slots that
/// were promised stay promised, so for a while more may leave than the rate says.
#[must_use]
pub fn grant(params: &Params, state: &State, now: u64, units: u64) -> Option<State> {
    let places = params.places();
    let (backlog, at) = params.drained(Some(state), now);
    let backlog = backlog.min(places.saturating_mul(params.period));
    let back = units.min(places).saturating_mul(params.period);
    (backlog > 0 && back > 0).then_some(State { backlog: backlog.saturating_sub(back), at })
}

/// The tick at which the backlog has drained: from then on the state decides like no state.
#[must_use]
pub fn expires_at(params: &Params, state: &State) -> u64 {
    state.at.saturating_add(ceil_div(state.backlog, params.rate))
}
