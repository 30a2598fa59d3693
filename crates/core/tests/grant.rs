//! What a grant gives back: exactly what was asked for or all that is used, and nothing that makes a later instant worse.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use cupo_core::algorithm::{
    ending_window, fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log, token_bucket,
};
use cupo_core::{Algorithm, Change, Params, State};
use cupo_testkit::{calendars, strategy};
use proptest::prelude::*;

/// Small limits, where edges are everywhere; `units` again is what they become when a policy is changed meanwhile.
fn params(algorithm: Algorithm) -> impl Strategy<Value = (Params, Params)> {
    let calendar = calendars::leaked("grants", &(1..300).map(|n| 5 * n + n % 3).collect::<Vec<_>>());
    let make = move |units: u64, ticks: u64, rate: u64| {
        let ending = |edges| Params::EndingWindow(ending_window::Params { count: units, edges });
        match algorithm {
            Algorithm::FixedWindow if rate == 1 => {
                ending(ending_window::Edges::FirstRequest { window: ticks })
            }
            Algorithm::FixedWindow if rate == 2 => ending(ending_window::Edges::Calendar(calendar)),
            Algorithm::FixedWindow => {
                Params::FixedWindow(fixed_window::Params { count: units, window: ticks })
            }
            Algorithm::SlidingWindowLog => {
                Params::SlidingWindowLog(sliding_window_log::Params { count: units, window: ticks })
            }
            Algorithm::SlidingWindowCounter => {
                Params::SlidingWindowCounter(sliding_window_counter::Params { count: units, window: ticks })
            }
            Algorithm::TokenBucket => {
                Params::TokenBucket(token_bucket::Params { capacity: units, refill: rate, period: ticks })
            }
            Algorithm::LeakyBucket => {
                Params::LeakyBucket(leaky_bucket::Params { rate, period: ticks, queue: units - 1 })
            }
        }
    };
    (1..9_u64, 1..9_u64, 1..12_u64, 1..5_u64)
        .prop_map(move |(units, later, ticks, rate)| (make(units, ticks, rate), make(later, ticks, rate)))
}

fn charged(params: &Params, steps: &[(u64, u64)]) -> (u64, Option<State>) {
    let (mut now, mut state) = (1_000, None);
    for &(gap, cost) in steps {
        now += gap;
        let (_, change) = params.decide(state.as_ref(), now, cost);
        params.apply(&mut state, change);
    }
    (now, state)
}

fn remaining(params: &Params, state: Option<&State>, now: u64) -> u64 {
    params.decide(state, now, 0).0.remaining
}

fn test(algorithm: Algorithm) {
    let steps = prop::collection::vec((0..7_u64, 1..4_u64), 1..30);
    let cases = (params(algorithm), steps, 0..10_u64, 0..10_u64);
    let mut runner = proptest::test_runner::TestRunner::new(strategy::config(2_000));
    let result = runner.run(&cases, |((before, params), steps, gap, units)| {
        let (now, state) = charged(&before, &steps);
        let now = now + gap;
        let (left, quota) = (remaining(&params, state.as_ref(), now), remaining(&params, None, now));
        let change = params.grant(state.as_ref(), now, units);
        let mut granted = state.clone();
        params.apply(&mut granted, change);
        let expected = left + units.min(quota - left);
        prop_assert_eq!(remaining(&params, granted.as_ref(), now), expected, "{:?} of {:?}", params, state);
        if expected == left {
            return Ok(());
        }
        prop_assert_ne!(change, Change::Keep);
        for later in now..now + 80 {
            let (with, without) =
                (params.decide(granted.as_ref(), later, 0).0, params.decide(state.as_ref(), later, 0).0);
            prop_assert!(with.remaining >= without.remaining, "{:?}: {:?} at {}", params, state, later);
            prop_assert!(with.reset_after <= without.reset_after, "{:?}: {:?} at {}", params, state, later);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{algorithm}: {error}"));
}

#[test]
fn a_fixed_window_gives_back_what_is_asked() {
    test(Algorithm::FixedWindow);
}

#[test]
fn a_sliding_window_log_gives_back_what_is_asked() {
    test(Algorithm::SlidingWindowLog);
}

#[test]
fn a_sliding_window_counter_gives_back_what_is_asked() {
    test(Algorithm::SlidingWindowCounter);
}

#[test]
fn a_token_bucket_gives_back_what_is_asked() {
    test(Algorithm::TokenBucket);
}

#[test]
fn a_leaky_bucket_gives_back_what_is_asked() {
    test(Algorithm::LeakyBucket);
}

#[test]
fn nothing_is_given_to_whom_nothing_was_taken() {
    for algorithm in Algorithm::ALL {
        let mut runner = proptest::test_runner::TestRunner::new(strategy::config(50));
        runner
            .run(&params(algorithm), |(params, _)| {
                prop_assert_eq!(params.grant(None, 1_000, 5), Change::Keep);
                Ok(())
            })
            .unwrap();
    }
}
