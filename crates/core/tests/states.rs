//! What holds for any state at all, also one that no history of admissions leads to.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use cupo_core::algorithm::{
    Change, Params, State, ending_window, fixed_window, leaky_bucket, sliding_window_counter,
    sliding_window_log, token_bucket,
};
use cupo_core::{Algorithm, Limit, Timestamp};
use cupo_testkit::{calendars, strategy};

/// Limits of few units and ticks with every state that they can hold.
fn small() -> Vec<(Params, State)> {
    let mut all = Vec::new();
    for (count, window) in [(1, 1), (1, 4), (3, 2), (3, 5), (7, 3)] {
        for index in 0..3 {
            let start = index * window;
            for used in 1..=count {
                let state = State::FixedWindow(fixed_window::State { start, count: used });
                all.push((Params::FixedWindow(fixed_window::Params { count, window }), state));
                let edges = ending_window::Edges::FirstRequest { window };
                let state = State::EndingWindow(ending_window::State { end: start + window, count: used });
                all.push((Params::EndingWindow(ending_window::Params { count, edges }), state));
                let entry = |at| sliding_window_log::Entry { at, cost: used };
                let entries = [start, start + window].map(entry);
                let state = State::SlidingWindowLog(sliding_window_log::State::from_entries(entries));
                all.push((Params::SlidingWindowLog(sliding_window_log::Params { count, window }), state));
            }
            for (previous, current) in (0..=count).flat_map(|p| (0..=count).map(move |c| (p, c))) {
                let state = sliding_window_counter::State { start, previous, current };
                let params = sliding_window_counter::Params { count, window };
                all.push((Params::SlidingWindowCounter(params), State::SlidingWindowCounter(state)));
            }
        }
    }
    for end in [3, 4, 9, 10, 11, 16] {
        let edges = ending_window::Edges::Calendar(calendars::number(0));
        let state = State::EndingWindow(ending_window::State { end, count: 2 });
        all.push((Params::EndingWindow(ending_window::Params { count: 3, edges }), state));
    }
    for (units, rate, period) in [(1, 1, 1), (2, 1, 3), (3, 2, 5), (3, 7, 2)] {
        for (parts, at) in (0..units * period).flat_map(|parts| [0, 5].map(|at| (parts, at))) {
            let params = token_bucket::Params { capacity: units, refill: rate, period };
            let state = State::TokenBucket(token_bucket::State { missing: parts + 1, at });
            all.push((Params::TokenBucket(params), state));
            let params = leaky_bucket::Params { rate, period, queue: units - 1 };
            let state = State::LeakyBucket(leaky_bucket::State { backlog: parts + 1, at });
            all.push((Params::LeakyBucket(params), state));
        }
    }
    all
}

#[test]
fn a_state_decides_like_none_from_its_expiry_on() {
    for (params, state) in small() {
        let expires_at = params.expires_at(&state);
        for now in expires_at..expires_at + 12 {
            for cost in 0..9 {
                let (decision, change) = params.decide(Some(&state), now, cost);
                let (without, fresh) = params.decide(None, now, cost);
                assert_eq!(decision, without, "{params:?} {state:?} {cost} at {now}");
                let (mut after, mut new) = (Some(state.clone()), None);
                params.apply(&mut after, change);
                params.apply(&mut new, fresh);
                if cost > 0 && decision.is_admitted() {
                    assert_eq!(after, new, "{params:?} {state:?} {cost} at {now}");
                }
            }
        }
    }
}

#[test]
fn a_state_that_still_shows_has_not_expired() {
    for (params, state) in small() {
        // What a counter counts may weigh less than a unit long before it is gone: it is only certain to show at the
        // start of a window.
        let last = match (&state, &params) {
            (State::SlidingWindowCounter(s), _) if s.current == 0 && s.previous == 0 => continue,
            (State::SlidingWindowCounter(s), Params::SlidingWindowCounter(p)) if s.current > 0 => {
                s.start + p.window
            }
            (State::SlidingWindowCounter(s), _) => s.start,
            _ => params.expires_at(&state) - 1,
        };
        let (decision, _) = params.decide(Some(&state), last, 0);
        let (without, _) = params.decide(None, last, 0);
        assert_ne!(decision, without, "{params:?} {state:?} at {last}");
    }
}

#[test]
fn the_expiry_of_a_counter_is_the_end_of_the_last_window_that_it_weighs_in() {
    let params = Params::SlidingWindowCounter(sliding_window_counter::Params { count: 9, window: 10 });
    let expires_at = |previous, current| {
        let state = sliding_window_counter::State { start: 20, previous, current };
        params.expires_at(&State::SlidingWindowCounter(state))
    };
    assert_eq!(expires_at(1, 0), 30);
    assert_eq!(expires_at(0, 1), 40);
    assert_eq!(expires_at(1, 1), 40);
}

#[test]
fn a_state_of_another_algorithm_counts_as_absent() {
    for (params, _) in small() {
        for (_, other) in small().iter().filter(|(other, _)| other.algorithm() != params.algorithm()) {
            assert_eq!(params.decide(Some(other), 3, 1), params.decide(None, 3, 1), "{params:?} {other:?}");
            assert_eq!(params.expires_at(other), 0, "{params:?} {other:?}");
            let (_, change) = params.decide(None, 3, 1);
            let (mut instead, mut fresh) = (Some(other.clone()), None);
            params.apply(&mut instead, change);
            params.apply(&mut fresh, change);
            assert_eq!(instead, fresh, "{params:?} {other:?}");
        }
    }
}

#[test]
fn a_log_entry_changes_nothing_but_a_log() {
    let params = Params::FixedWindow(fixed_window::Params { count: 1, window: 1 });
    let mut state = None;
    params.apply(&mut state, Change::SlidingWindowLog(sliding_window_log::Entry { at: 0, cost: 1 }));
    assert_eq!(state, None);
}

#[test]
fn a_log_gives_the_memory_of_a_burst_back() {
    let params = sliding_window_log::Params { count: 10_000, window: 1_000 };
    let mut log = sliding_window_log::State::default();
    assert_eq!(log.heap_bytes(), 0);
    for at in 0..1_000 {
        log.append(&params, sliding_window_log::Entry { at, cost: 1 });
    }
    let full = log.heap_bytes();
    assert!((16_000..=16_000 * 2 + 64).contains(&full), "{full} bytes for 1,000 entries of 16");
    // A few at a time keep what they need and a little more, and never less than they need.
    for at in (0..64).map(|n| 2_000 + n * 100) {
        log.append(&params, sliding_window_log::Entry { at, cost: 1 });
    }
    assert_eq!(log.entries().len(), 10);
    let few = log.heap_bytes();
    assert!((160..=16 * 40).contains(&few), "{few} bytes for 10 entries of 16");
}

/// Memory is only given back where it pays: not by a small log, and not before three quarters are unused.
#[test]
fn a_log_does_not_give_memory_back_for_little() {
    let params = sliding_window_log::Params { count: 100, window: 1_000 };
    let log_of = |entries: u64| {
        let mut log = sliding_window_log::State::default();
        for at in 0..entries {
            log.append(&params, sliding_window_log::Entry { at, cost: 1 });
        }
        log
    };
    let mut small = log_of(10);
    let bytes = small.heap_bytes();
    assert!(bytes <= 16 * 16, "{bytes} bytes for 10 entries");
    small.append(&params, sliding_window_log::Entry { at: 5_000, cost: 1 });
    assert_eq!((small.entries().len(), small.heap_bytes()), (1, bytes));

    let mut large = log_of(20);
    let bytes = large.heap_bytes();
    let quarter = u64::try_from(bytes / 16 / 4).unwrap();
    assert!(bytes > 16 * 16 && quarter > 1, "{bytes} bytes for 20 entries");
    // The first 21 - quarter leave, one comes.
    large.append(&params, sliding_window_log::Entry { at: 1_020 - quarter, cost: 1 });
    assert_eq!((large.entries().len(), large.heap_bytes()), (bytes / 64, bytes));
    // Two leave, one comes: less than a quarter is used.
    large.append(&params, sliding_window_log::Entry { at: 1_022 - quarter, cost: 1 });
    assert_eq!(large.entries().len(), bytes / 64 - 1);
    assert!((bytes / 4 - 16..=bytes / 2).contains(&large.heap_bytes()), "{} of {bytes}", large.heap_bytes());
}

#[test]
fn an_expiry_in_time_is_the_instant_of_its_tick() {
    for algorithm in Algorithm::ALL {
        for limit in strategy::edges(algorithm).into_iter().filter(|limit| limit.quota() > 0) {
            let (decision, change) = limit.decide(None, Timestamp::EPOCH, 1);
            let mut state = None;
            limit.apply(&mut state, change);
            let ticks = limit.params().expires_at(state.as_ref().unwrap());
            let instant = limit.expires_at(state.as_ref().unwrap());
            assert_eq!(instant, limit.resolution().instant(ticks), "{limit}");
            assert!(instant >= Timestamp::EPOCH.after(decision.reset_after), "{limit}");
        }
    }
}

/// A charge of a token bucket fades as tokens arrive: once it is gone, giving it back writes nothing.
#[test]
fn a_refund_of_what_time_has_given_back_changes_nothing() {
    let params = Params::TokenBucket(token_bucket::Params { capacity: 5, refill: 1, period: 2 });
    let state = State::TokenBucket(token_bucket::State { missing: 6, at: 10 });
    let charge = cupo_core::Charge { at: 10, end: 16, cost: 3 };
    let back = |missing, at| Change::TokenBucket(token_bucket::State { missing, at });
    assert_eq!(params.refund(Some(&state), 10, charge), back(0, 10));
    assert_eq!(params.refund(Some(&state), 15, charge), back(0, 15));
    assert_eq!(params.refund(Some(&state), 16, charge), Change::Keep);
    assert_eq!(params.refund(Some(&state), 90, charge), Change::Keep);
}

/// What was consumed stays consumed, whatever the capacity becomes.
#[test]
fn a_token_bucket_lacks_the_same_under_any_capacity() {
    let of = |capacity| Params::TokenBucket(token_bucket::Params { capacity, refill: 1, period: 10 });
    let state = Some(State::TokenBucket(token_bucket::State { missing: 150, at: 1_000 }));
    let remaining = |capacity, now| of(capacity).decide(state.as_ref(), now, 0).0.remaining;
    let expires_at = |capacity| of(capacity).expires_at(state.as_ref().unwrap());
    assert_eq!(remaining(20, 1_000), 5);
    // Raised: the difference, at once; and the bucket is whole when it would have been.
    assert_eq!((remaining(100, 1_000), remaining(100, 1_050)), (85, 90));
    assert_eq!((expires_at(20), expires_at(100)), (1_150, 1_150));
    // Lowered: a bucket lacks no more than it holds, and is full after the time that it takes to fill.
    assert_eq!(
        (remaining(8, 1_000), remaining(8, 1_010), remaining(8, 1_079), remaining(8, 1_080)),
        (0, 1, 7, 8)
    );
    assert_eq!(expires_at(8), 1_080);
    let (denied, _) = of(8).decide(state.as_ref(), 1_000, 8);
    assert_eq!(denied.retry_after(), Some(80));
    assert_eq!((remaining(0, 1_000), expires_at(0)), (0, 1_000));
    // What is charged under one and given back under another is given back once.
    let charge = cupo_core::Charge { at: 1_000, end: 1_150, cost: 15 };
    let back = |capacity| of(capacity).refund(state.as_ref(), 1_000, charge);
    let whole = Change::TokenBucket(token_bucket::State { missing: 0, at: 1_000 });
    assert_eq!((back(20), back(100), back(8)), (whole, whole, whole));
}

#[test]
fn what_counts_by_another_algorithm_is_not_carried() {
    let minute = core::time::Duration::from_secs(60);
    let (log, counter) =
        (Limit::sliding_window_log(9, minute).unwrap(), Limit::sliding_window_counter(9, minute).unwrap());
    let now = Timestamp::from_micros(1_000_000);
    let mut state = None;
    log.apply(&mut state, log.decide(None, now, 4).1);
    assert_eq!((log.used(state.as_ref(), now), log.used(None, now)), (4, 0));
    let old = state.as_ref().unwrap();
    assert_eq!(counter.carry(None, &log, old, now), Change::Keep);
    let more = Limit::sliding_window_log(3, minute * 2).unwrap();
    let mut carried = None;
    more.apply(&mut carried, more.carry(None, &log, old, now));
    assert_eq!(more.used(carried.as_ref(), now), 3, "as far as there is room");
    assert_eq!(more.carry(None, &log, old, now.after(minute)), Change::Keep, "nothing counts any more");
}

#[test]
fn only_a_leaky_bucket_gives_slots_back() {
    let second = core::time::Duration::from_secs(1);
    let leaky = Limit::leaky_bucket(cupo_core::Rate::new(1, second), 3).unwrap();
    let at = |seconds: u64| Timestamp::from_micros(seconds * 1_000_000);
    let mut state = None;
    let ask = |state: &mut Option<State>| {
        let (decision, change) = leaky.decide(state.as_ref(), at(100), 1);
        leaky.apply(state, change);
        at(100).after(decision.reset_after)
    };
    let (first, second) = (ask(&mut state), ask(&mut state));
    // Somebody has queued behind the first.
    assert_eq!(leaky.cancel(state.as_ref(), at(100), 1, first), Change::Keep);
    let change = leaky.cancel(state.as_ref(), at(100), 1, second);
    let one = leaky_bucket::State { backlog: 1_000_000, at: 100_000_000 };
    assert_eq!(change, Change::LeakyBucket(one));
    // Its slot, at 101, has passed.
    assert_eq!(leaky.cancel(state.as_ref(), at(102), 1, second), Change::Keep);
    assert_eq!(leaky.cancel(None, at(100), 1, second), Change::Keep);
    for (params, other) in small() {
        if params.algorithm() != Algorithm::LeakyBucket {
            assert_eq!(leaky.cancel(Some(&other), at(100), 1, second), Change::Keep, "{other:?}");
        }
    }
}
