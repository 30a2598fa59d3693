//! The five algorithms: pure functions from parameters, state, instant and cost to a decision and a change of state.
//! [`ending_window`] is a variant of [`fixed_window`].
//!
//! Each file holds one algorithm: its `Params` and `State`, `decide` and `expires_at`. None knows a clock, a key, a
//! store, a log or a metric. All numbers are whole ticks and units inside the domain of [`crate::number`], which
//! [`Limit`](crate::Limit), the only constructor of parameters, guarantees. Differences clamp at zero by intent; sums and
//! products never reach a bound.

#![deny(clippy::arithmetic_side_effects)]

pub mod ending_window;
pub mod fixed_window;
pub mod leaky_bucket;
pub mod sliding_window_counter;
pub mod sliding_window_log;
pub mod token_bucket;

use core::fmt;

use crate::decision::{Decision, Verdict};

/// The algorithms by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// See [`fixed_window`].
    FixedWindow,
    /// See [`sliding_window_log`].
    SlidingWindowLog,
    /// See [`sliding_window_counter`].
    SlidingWindowCounter,
    /// See [`token_bucket`].
    TokenBucket,
    /// See [`leaky_bucket`].
    LeakyBucket,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 5] = [
        Self::FixedWindow,
        Self::SlidingWindowLog,
        Self::SlidingWindowCounter,
        Self::TokenBucket,
        Self::LeakyBucket,
    ];

    /// The name in policies, metrics and documents, such as `token_bucket`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindowLog => "sliding_window_log",
            Self::SlidingWindowCounter => "sliding_window_counter",
            Self::TokenBucket => "token_bucket",
            Self::LeakyBucket => "leaky_bucket",
        }
    }

    /// The algorithm called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.name() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The numbers of a limit, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Params {
    /// See [`fixed_window`].
    FixedWindow(fixed_window::Params),
    /// See [`ending_window`].
    EndingWindow(ending_window::Params),
    /// See [`sliding_window_log`].
    SlidingWindowLog(sliding_window_log::Params),
    /// See [`sliding_window_counter`].
    SlidingWindowCounter(sliding_window_counter::Params),
    /// See [`token_bucket`].
    TokenBucket(token_bucket::Params),
    /// See [`leaky_bucket`].
    LeakyBucket(leaky_bucket::Params),
}

/// What a store keeps for a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum State {
    /// See [`fixed_window`].
    FixedWindow(fixed_window::State),
    /// See [`ending_window`].
    EndingWindow(ending_window::State),
    /// See [`sliding_window_log`].
    SlidingWindowLog(sliding_window_log::State),
    /// See [`sliding_window_counter`].
    SlidingWindowCounter(sliding_window_counter::State),
    /// See [`token_bucket`].
    TokenBucket(token_bucket::State),
    /// See [`leaky_bucket`].
    LeakyBucket(leaky_bucket::State),
}

/// What a decision does to the state, once the whole check is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Nothing: a denial or a peek.
    Keep,
    /// The state becomes this one.
    FixedWindow(fixed_window::State),
    /// The state becomes this one.
    EndingWindow(ending_window::State),
    /// The state becomes this one.
    SlidingWindowCounter(sliding_window_counter::State),
    /// The state becomes this one.
    TokenBucket(token_bucket::State),
    /// The state becomes this one.
    LeakyBucket(leaky_bucket::State),
    /// The log drops what has expired and gains this entry.
    SlidingWindowLog(sliding_window_log::Entry),
    /// The log gives back what this entry was charged.
    SlidingWindowLogRefund(sliding_window_log::Entry),
    /// The log gives back so many units of its newest entries.
    SlidingWindowLogGrant(u64),
}

/// What a store has to know to give back a charge: plain data, made of the decision that charged it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Charge<Instant> {
    /// When it was charged.
    pub at: Instant,
    /// When the whole limit would have been available again had nothing else been admitted: `at` plus the decision's
    /// `reset_after`.
    pub end: Instant,
    /// Units to give back, at most those that were charged.
    pub cost: u64,
}

impl Params {
    /// The algorithm these numbers are for.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self {
            Self::FixedWindow(_) | Self::EndingWindow(_) => Algorithm::FixedWindow,
            Self::SlidingWindowLog(_) => Algorithm::SlidingWindowLog,
            Self::SlidingWindowCounter(_) => Algorithm::SlidingWindowCounter,
            Self::TokenBucket(_) => Algorithm::TokenBucket,
            Self::LeakyBucket(_) => Algorithm::LeakyBucket,
        }
    }

    /// Decides a request of `cost` units at tick `now`. A `state` of another algorithm counts as absent.
    #[must_use]
    pub fn decide(&self, state: Option<&State>, now: u64, cost: u64) -> (Decision<u64>, Change) {
        match (self, state) {
            (Self::FixedWindow(p), Some(State::FixedWindow(s))) => {
                wrap(fixed_window::decide(p, Some(s), now, cost))
            }
            (Self::FixedWindow(p), _) => wrap(fixed_window::decide(p, None, now, cost)),
            (Self::EndingWindow(p), Some(State::EndingWindow(s))) => {
                wrap(ending_window::decide(p, Some(s), now, cost))
            }
            (Self::EndingWindow(p), _) => wrap(ending_window::decide(p, None, now, cost)),
            (Self::SlidingWindowLog(p), Some(State::SlidingWindowLog(s))) => {
                wrap(sliding_window_log::decide(p, Some(s), now, cost))
            }
            (Self::SlidingWindowLog(p), _) => wrap(sliding_window_log::decide(p, None, now, cost)),
            (Self::SlidingWindowCounter(p), Some(State::SlidingWindowCounter(s))) => {
                wrap(sliding_window_counter::decide(p, Some(s), now, cost))
            }
            (Self::SlidingWindowCounter(p), _) => wrap(sliding_window_counter::decide(p, None, now, cost)),
            (Self::TokenBucket(p), Some(State::TokenBucket(s))) => {
                wrap(token_bucket::decide(p, Some(s), now, cost))
            }
            (Self::TokenBucket(p), _) => wrap(token_bucket::decide(p, None, now, cost)),
            (Self::LeakyBucket(p), Some(State::LeakyBucket(s))) => {
                wrap(leaky_bucket::decide(p, Some(s), now, cost))
            }
            (Self::LeakyBucket(p), _) => wrap(leaky_bucket::decide(p, None, now, cost)),
        }
    }

    /// Gives back a charge at tick `now`, as far as it still counts. [`Change::Keep`] where nothing of it does, or `state` is of
    /// another algorithm.
    #[must_use]
    pub fn refund(&self, state: Option<&State>, now: u64, charge: Charge<u64>) -> Change {
        let Charge { at, end, cost } = charge;
        let change = match (self, state) {
            (Self::FixedWindow(p), Some(State::FixedWindow(s))) => {
                fixed_window::refund(p, s, cost, at).map(Into::into)
            }
            (Self::EndingWindow(_), Some(State::EndingWindow(s))) => {
                ending_window::refund(s, cost, end).map(Into::into)
            }
            (Self::SlidingWindowCounter(p), Some(State::SlidingWindowCounter(s))) => {
                sliding_window_counter::refund(p, s, cost, at).map(Into::into)
            }
            (Self::TokenBucket(p), Some(State::TokenBucket(s))) => {
                token_bucket::refund(p, s, now, cost, at).map(Into::into)
            }
            (Self::LeakyBucket(p), Some(State::LeakyBucket(s))) => {
                leaky_bucket::cancel(p, s, now, cost, end).map(Into::into)
            }
            (Self::SlidingWindowLog(_), Some(State::SlidingWindowLog(_))) => {
                Some(Change::SlidingWindowLogRefund(sliding_window_log::Entry { at, cost }))
            }
            _ => None,
        };
        change.unwrap_or(Change::Keep)
    }

    /// Settles a charge of which `actual` units stay, at tick `now`: [`refund`](Self::refund) of what is beyond them, or a charge of
    /// what is lacking, as far as there is room. The change, and the units that found no room.
    #[must_use]
    pub fn settle(&self, state: Option<&State>, now: u64, charge: Charge<u64>, actual: u64) -> (Change, u64) {
        let Some(extra) = actual.checked_sub(charge.cost) else {
            let cost = charge.cost.saturating_sub(actual);
            return (self.refund(state, now, Charge { cost, ..charge }), 0);
        };
        let units = extra.min(self.decide(state, now, 0).0.remaining);
        if units == 0 {
            return (Change::Keep, extra);
        }
        match self.decide(state, now, units) {
            (decision, change) if decision.is_admitted() => (change, extra.saturating_sub(units)),
            _ => (Change::Keep, extra),
        }
    }

    /// Gives `units` back at tick `now`, whoever used them: what remains rises by exactly as many, or by all that is used where
    /// that is less. [`Change::Keep`] where nothing is, or `state` is of another algorithm.
    #[must_use]
    pub fn grant(&self, state: Option<&State>, now: u64, units: u64) -> Change {
        let change = match (self, state) {
            (Self::FixedWindow(p), Some(State::FixedWindow(s))) => {
                fixed_window::grant(p, s, now, units).map(Into::into)
            }
            (Self::EndingWindow(p), Some(State::EndingWindow(s))) => {
                ending_window::grant(p, s, now, units).map(Into::into)
            }
            (Self::SlidingWindowCounter(p), Some(State::SlidingWindowCounter(s))) => {
                sliding_window_counter::grant(p, s, now, units).map(Into::into)
            }
            (Self::TokenBucket(p), Some(State::TokenBucket(s))) => {
                token_bucket::grant(p, s, now, units).map(Into::into)
            }
            (Self::LeakyBucket(p), Some(State::LeakyBucket(s))) => {
                leaky_bucket::grant(p, s, now, units).map(Into::into)
            }
            (Self::SlidingWindowLog(p), Some(State::SlidingWindowLog(s))) => {
                Some(sliding_window_log::grant(p, s, now, units))
                    .filter(|back| *back > 0)
                    .map(Change::SlidingWindowLogGrant)
            }
            _ => None,
        };
        change.unwrap_or(Change::Keep)
    }

    /// The tick from which on `state` decides like no state at all; 0 for a state of another algorithm.
    #[must_use]
    pub fn expires_at(&self, state: &State) -> u64 {
        match (self, state) {
            (Self::FixedWindow(p), State::FixedWindow(s)) => fixed_window::expires_at(p, s),
            (Self::EndingWindow(_), State::EndingWindow(s)) => ending_window::expires_at(s),
            (Self::SlidingWindowLog(p), State::SlidingWindowLog(s)) => sliding_window_log::expires_at(p, s),
            (Self::SlidingWindowCounter(p), State::SlidingWindowCounter(s)) => {
                sliding_window_counter::expires_at(p, s)
            }
            (Self::TokenBucket(p), State::TokenBucket(s)) => token_bucket::expires_at(p, s),
            (Self::LeakyBucket(p), State::LeakyBucket(s)) => leaky_bucket::expires_at(p, s),
            _ => 0,
        }
    }

    /// Carries out `change` on the state of a key.
    pub fn apply(&self, state: &mut Option<State>, change: Change) {
        *state = Some(match change {
            Change::Keep => return,
            Change::FixedWindow(s) => State::FixedWindow(s),
            Change::EndingWindow(s) => State::EndingWindow(s),
            Change::SlidingWindowCounter(s) => State::SlidingWindowCounter(s),
            Change::TokenBucket(s) => State::TokenBucket(s),
            Change::LeakyBucket(s) => State::LeakyBucket(s),
            Change::SlidingWindowLogRefund(_) | Change::SlidingWindowLogGrant(_) => {
                if let Some(State::SlidingWindowLog(log)) = state {
                    match change {
                        Change::SlidingWindowLogRefund(entry) => log.refund(entry),
                        Change::SlidingWindowLogGrant(units) => log.take_newest(units),
                        _ => {}
                    }
                    if log.is_empty() {
                        *state = None;
                    }
                }
                return;
            }
            Change::SlidingWindowLog(entry) => {
                let Self::SlidingWindowLog(params) = self else { return };
                let mut log = match state.take() {
                    Some(State::SlidingWindowLog(log)) => log,
                    _ => sliding_window_log::State::default(),
                };
                log.append(params, entry);
                State::SlidingWindowLog(log)
            }
        });
    }
}

fn wrap<S: Into<Change>>((decision, next): (Decision<u64>, Option<S>)) -> (Decision<u64>, Change) {
    (decision, next.map_or(Change::Keep, Into::into))
}

macro_rules! change_from {
    ($($variant:ident($state:ty)),*) => { $(impl From<$state> for Change {
        fn from(state: $state) -> Self { Self::$variant(state) }
    })* };
}
change_from!(
    FixedWindow(fixed_window::State),
    EndingWindow(ending_window::State),
    SlidingWindowCounter(sliding_window_counter::State),
    TokenBucket(token_bucket::State),
    LeakyBucket(leaky_bucket::State),
    SlidingWindowLog(sliding_window_log::Entry)
);

/// The decision of an algorithm that never delays.
const fn decision(verdict: Verdict<u64>, limit: u64, remaining: u64, reset_after: u64) -> Decision<u64> {
    Decision { verdict, limit, remaining, reset_after, delay: 0 }
}
