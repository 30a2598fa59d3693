//! Token bucket: a bucket of C tokens, refilled continuously at R per P ticks; a request takes `cost` tokens.
//!
//! Starts full. Burst (C) and sustained rate (R/P) are two separate knobs. In any interval of t ticks at most
//! `C + R * t / P` units pass. O(1) time and space.
//!
//! A token is counted in `period` parts, of which `refill` arrive each tick: no remainder is ever lost, and there is
//! nothing to round but the answers.

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

/// The level at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// Parts of tokens in the bucket: tokens times `period`.
    pub level: u64,
    /// The tick at which that was the level.
    pub at: u64,
}

impl Params {
    /// The level at `now`, and `now` itself, which never runs backwards.
    fn refilled(&self, &State { level, at }: &State, now: u64) -> (u64, u64) {
        let full = self.capacity.saturating_mul(self.period);
        let now = now.max(at);
        // Longer than the time to fill means full; the bound keeps the product inside the domain.
        let elapsed = now.saturating_sub(at).min(ceil_div(full, self.refill));
        (level.saturating_add(elapsed.saturating_mul(self.refill)).min(full), now)
    }
}

/// Decides a request of `cost` units at tick `now`; the new state, or `None` where nothing changes.
#[must_use]
pub fn decide(params: &Params, state: Option<&State>, now: u64, cost: u64) -> (Decision<u64>, Option<State>) {
    let Params { capacity, refill, period } = *params;
    let full = capacity.saturating_mul(period);
    let (level, now) = state.map_or((full, now), |state| params.refilled(state, now));

    let (verdict, level, next) = if cost > capacity {
        (Verdict::Impossible, level, None)
    } else {
        let need = cost.saturating_mul(period);
        match level.checked_sub(need) {
            None => {
                (Verdict::Deny { retry_after: ceil_div(need.saturating_sub(level), refill) }, level, None)
            }
            Some(level) => (Verdict::Admit, level, (cost > 0).then_some(State { level, at: now })),
        }
    };
    let reset_after = ceil_div(full.saturating_sub(level), refill);
    (decision(verdict, capacity, floor_div(level, period), reset_after), next)
}

/// Gives back at tick `now` what is left of `cost` units that were charged at tick `charged_at`; the new state, or `None` where
/// nothing is left of them.
///
/// A full bucket gains nothing, so a charge fades while the bucket would have been full without it: to give such a charge back
/// whole would grant it twice. When that was cannot be told from the state, so a charge is taken to fade from the start, by
/// what arrives: late refunds err towards denial, by at most `refill * (now - charged_at)`.
#[must_use]
pub fn refund(params: &Params, state: &State, now: u64, cost: u64, charged_at: u64) -> Option<State> {
    let full = params.capacity.saturating_mul(params.period);
    let (level, at) = params.refilled(state, now);
    let elapsed = at.saturating_sub(charged_at).min(ceil_div(full, params.refill));
    let charged = cost.min(params.capacity).saturating_mul(params.period);
    let left = charged.saturating_sub(elapsed.saturating_mul(params.refill));
    (left > 0).then_some(State { level: level.saturating_add(left).min(full), at })
}

/// The tick at which the bucket is full again: from then on the state decides like no state.
#[must_use]
pub fn expires_at(params: &Params, state: &State) -> u64 {
    let missing = params.capacity.saturating_mul(params.period).saturating_sub(state.level);
    state.at.saturating_add(ceil_div(missing, params.refill))
}
