//! Token bucket: a bucket of C tokens, refilled continuously at R per P ticks; a request takes `cost` tokens.
//!
//! Starts full. Burst (C) and sustained rate (R/P) are two separate knobs. In any interval of t ticks at most
//! `C + R * t / P` units pass. O(1) time and space.
//!
//! A token is counted in `period` parts, of which `refill` arrive each tick: no remainder is ever lost, and there is
//! nothing to round but the answers. What is kept is what is missing, and not what is left: so a state means the same under any
//! capacity, and what was consumed stays consumed when the capacity changes.

use super::decision;
use crate::decision::{Decision, Verdict};
use crate::number::{ceil_div, floor_div};

/// The numbers of a token bucket, with `2 * capacity * period + refill` inside the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Params {
    /// C: tokens in a full bucket.
    pub capacity: u64,
    /// R: tokens that arrive per period.
    pub refill: u64,
    /// P: the period in ticks, above 0; in lowest terms with R.
    pub period: u64,
}

/// What a bucket lacks at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// Parts of tokens that were consumed and have not arrived again: tokens times `period`. A bucket that is smaller lacks no more
    /// than it holds.
    pub missing: u64,
    /// The tick at which that was missing.
    pub at: u64,
}

impl Params {
    /// Parts of a full bucket.
    const fn full(&self) -> u64 {
        self.capacity.saturating_mul(self.period)
    }

    /// What is missing at `now`, and `now` itself, which never runs backwards.
    fn lacking(&self, &State { missing, at }: &State, now: u64) -> (u64, u64) {
        let missing = missing.min(self.full());
        let now = now.max(at);
        // Longer than the time to fill means full; the bound keeps the product inside the domain.
        let elapsed = now.saturating_sub(at).min(ceil_div(missing, self.refill));
        (missing.saturating_sub(elapsed.saturating_mul(self.refill)), now)
    }
}

/// Decides a request of `cost` units at tick `now`; the new state, or `None` where nothing changes.
#[must_use]
pub fn decide(params: &Params, state: Option<&State>, now: u64, cost: u64) -> (Decision<u64>, Option<State>) {
    let Params { capacity, refill, period } = *params;
    let full = params.full();
    let (missing, now) = state.map_or((0, now), |state| params.lacking(state, now));

    let (verdict, missing, next) = if cost > capacity {
        (Verdict::Impossible, missing, None)
    } else {
        let after = missing.saturating_add(cost.saturating_mul(period));
        if after > full {
            let retry_after = ceil_div(after.saturating_sub(full), refill);
            (Verdict::Deny { retry_after }, missing, None)
        } else {
            (Verdict::Admit, after, (cost > 0).then_some(State { missing: after, at: now }))
        }
    };
    let remaining = floor_div(full.saturating_sub(missing), period);
    (decision(verdict, capacity, remaining, ceil_div(missing, refill)), next)
}

/// Gives back at tick `now` what is left of `cost` units that were charged at tick `charged_at`; the new state, or `None` where
/// nothing is left of them.
///
/// A full bucket gains nothing, so a charge fades while the bucket would have been full without it: to give such a charge back
/// whole would grant it twice. When that was cannot be told from the state, so a charge is taken to fade from the start, by
/// what arrives: late refunds err towards denial, by at most `refill * (now - charged_at)`.
#[must_use]
pub fn refund(params: &Params, state: &State, now: u64, cost: u64, charged_at: u64) -> Option<State> {
    let (missing, at) = params.lacking(state, now);
    let elapsed = at.saturating_sub(charged_at).min(ceil_div(params.full(), params.refill));
    let charged = cost.min(params.capacity).saturating_mul(params.period);
    let left = charged.saturating_sub(elapsed.saturating_mul(params.refill));
    (left > 0).then_some(State { missing: missing.saturating_sub(left), at })
}

/// Gives `units` back at tick `now`, whoever used them; the new state, or `None` where there is nothing to give back.
#[must_use]
pub fn grant(params: &Params, state: &State, now: u64, units: u64) -> Option<State> {
    let (missing, at) = params.lacking(state, now);
    let back = units.min(params.capacity).saturating_mul(params.period);
    (missing > 0 && back > 0).then_some(State { missing: missing.saturating_sub(back), at })
}

/// The tick at which the bucket is full again: from then on the state decides like no state.
#[must_use]
pub fn expires_at(params: &Params, state: &State) -> u64 {
    state.at.saturating_add(ceil_div(state.missing.min(params.full()), params.refill))
}
