//! What a refund gives back: never more than was charged, and never what time has given back already.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use cupo_core::{Algorithm, Change, Charge, Params, State, Verdict};
use cupo_testkit::bound::units_within;
use cupo_testkit::{calendars, strategy};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Ask { gap: u64, cost: u64 },
    Refund { gap: u64, which: prop::sample::Index },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![4 => 0..3_u64, 3 => 0..12_u64, 1 => 0..60_u64];
    let ask = (gap.clone(), 1..4_u64).prop_map(|(gap, cost)| Step::Ask { gap, cost });
    let refund = (gap, any::<prop::sample::Index>()).prop_map(|(gap, which)| Step::Refund { gap, which });
    prop::collection::vec(prop_oneof![2 => ask, 1 => refund], 1..40)
}

/// Small limits, where edges are everywhere.
fn params(algorithm: Algorithm) -> impl Strategy<Value = Params> {
    use cupo_core::algorithm::{
        ending_window, fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log, token_bucket,
    };
    let ending = |count, edges| Params::EndingWindow(ending_window::Params { count, edges });
    let first = move |count, window| ending(count, ending_window::Edges::FirstRequest { window });
    // Windows of 3 to 7 ticks where the histories begin, again and again.
    let calendar = calendars::leaked("refunds", &(1..300).map(|n| 5 * n + n % 3).collect::<Vec<_>>());
    let of = move |count| ending(count, ending_window::Edges::Calendar(calendar));
    (1..6_u64, 1..12_u64, 1..5_u64).prop_map(move |(units, ticks, rate)| match algorithm {
        Algorithm::FixedWindow if rate == 1 => first(units, ticks),
        Algorithm::FixedWindow if rate == 2 => of(units),
        Algorithm::FixedWindow => Params::FixedWindow(fixed_window::Params { count: units, window: ticks }),
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
    })
}

/// Units that were charged at a tick and not given back.
type Charged = Vec<(u64, u64)>;

fn run(params: &Params, steps: &[Step]) -> Charged {
    let (mut now, mut state, mut outstanding) = (1_000, None::<State>, Vec::new());
    let mut charged = Charged::new();
    for step in steps {
        match *step {
            Step::Ask { gap, cost } => {
                now += gap;
                let (decision, change) = params.decide(state.as_ref(), now, cost);
                params.apply(&mut state, change);
                if decision.verdict == Verdict::Admit {
                    outstanding
                        .push((charged.len(), Charge { at: now, end: now + decision.reset_after, cost }));
                    charged.push((now, cost));
                }
            }
            Step::Refund { gap, ref which } => {
                now += gap;
                if outstanding.is_empty() {
                    continue;
                }
                let (index, charge) = outstanding.swap_remove(which.index(outstanding.len()));
                let balance = |state: &Option<State>| params.decide(state.as_ref(), now, 0).0;
                let before = balance(&state);
                let change = params.refund(state.as_ref(), now, charge);
                params.apply(&mut state, change);
                let after = balance(&state);
                assert!(after.remaining >= before.remaining, "a refund takes nothing");
                assert!(after.remaining <= after.limit, "a refund never lifts a balance above the limit");
                assert!(
                    after.remaining - before.remaining <= charge.cost,
                    "a refund gives what was charged at most"
                );
                // A slot of a leaky bucket that has passed stays charged: the request has been let go.
                if params.algorithm() != Algorithm::LeakyBucket || change != Change::Keep {
                    charged[index].1 = 0;
                }
            }
        }
    }
    charged
}

fn bound_holds(params: &Params, charged: &Charged) -> Result<(), String> {
    for (i, &(from, _)) in charged.iter().enumerate() {
        let mut sum = 0_i128;
        for &(to, cost) in &charged[i..] {
            sum += i128::from(cost);
            let most = units_within(params, to - from);
            if sum > most {
                return Err(format!(
                    "{sum} units were charged in [{from}, {to}], at most {most} may be: {charged:?}"
                ));
            }
        }
    }
    Ok(())
}

macro_rules! laws {
    ($($name:ident: $algorithm:ident),*) => { $(
        mod $name {
            use super::*;

            proptest! {
                #![proptest_config(strategy::config(4_000))]

                #[test]
                fn what_stays_charged_keeps_the_bound(params in params(Algorithm::$algorithm), steps in steps()) {
                    if let Err(fault) = bound_holds(&params, &run(&params, &steps)) {
                        prop_assert!(false, "{fault}");
                    }
                }
            }
        }
    )* };
}
laws!(
    fixed_window: FixedWindow,
    sliding_window_log: SlidingWindowLog,
    sliding_window_counter: SlidingWindowCounter,
    token_bucket: TokenBucket,
    leaky_bucket: LeakyBucket
);

proptest! {
    #![proptest_config(strategy::config(2_000))]

    /// A refund at once makes it as if nothing had been charged.
    #[test]
    fn a_refund_at_once_undoes(
        limit in prop::sample::select(Algorithm::ALL.to_vec()).prop_flat_map(strategy::limit),
        now in 0..1_u64 << 50,
        wanted in 1..20_u64,
    ) {
        let params = limit.params();
        // Where more than one unit leaves per tick, a slot is not given back.
        prop_assume!(!matches!(params, Params::LeakyBucket(p) if p.rate > p.period));
        let ask = |state: &mut Option<State>| {
            let cost = wanted.min(limit.quota().max(1));
            let (decision, change) = params.decide(state.as_ref(), now, cost);
            params.apply(state, change);
            decision.is_admitted().then_some(Charge { at: now, end: now + decision.reset_after, cost })
        };
        let mut state = None;
        // The slot of a leaky bucket's first request comes at once, and is gone at once: the second is one that waits.
        let before = (params.algorithm() == Algorithm::LeakyBucket).then(|| { ask(&mut state); state.clone() }).flatten();
        if let Some(charge) = ask(&mut state) {
            let refund = params.refund(state.as_ref(), now, charge);
            params.apply(&mut state, refund);
        }
        let balance = |state: &Option<State>| params.decide(state.as_ref(), now, 0).0;
        prop_assert_eq!(balance(&state), balance(&before));
    }
}

#[test]
fn a_late_refund_of_a_bucket_gives_at_most_what_was_taken() {
    use cupo_core::algorithm::token_bucket;
    // Ten tokens, one per ten ticks. Ten are taken at 0; without that the bucket would have been full ever since.
    let params = Params::TokenBucket(token_bucket::Params { capacity: 10, refill: 1, period: 10 });
    let (decision, change) = params.decide(None, 0, 10);
    let charge = Charge { at: 0, end: decision.reset_after, cost: 10 };
    let given = |now| {
        let mut state = None;
        params.apply(&mut state, change);
        let before = params.decide(state.as_ref(), now, 0).0.remaining;
        let refund = params.refund(state.as_ref(), now, charge);
        params.apply(&mut state, refund);
        (before, params.decide(state.as_ref(), now, 0).0.remaining)
    };
    assert_eq!(given(0), (0, 10));
    assert_eq!(given(1), (0, 10));
    assert_eq!(given(50), (5, 10));
    assert_eq!(given(99), (9, 10));
    assert_eq!(given(100), (10, 10));
    assert_eq!(given(1_000), (10, 10));
}

#[test]
fn a_window_that_has_passed_gets_nothing_back() {
    use cupo_core::algorithm::{ending_window, fixed_window, sliding_window_counter};
    let fixed = Params::FixedWindow(fixed_window::Params { count: 2, window: 10 });
    let state = State::FixedWindow(fixed_window::State { start: 20, count: 2 });
    let charge = |at| Charge { at, end: at, cost: 1 };
    assert_eq!(fixed.refund(Some(&state), 25, charge(19)), Change::Keep);
    assert_eq!(
        fixed.refund(Some(&state), 25, charge(20)),
        Change::FixedWindow(fixed_window::State { start: 20, count: 1 })
    );
    // One that is kept by its end goes by the end that the charge was given.
    let edges = ending_window::Edges::FirstRequest { window: 10 };
    let ending = Params::EndingWindow(ending_window::Params { count: 2, edges });
    let state = State::EndingWindow(ending_window::State { end: 34, count: 2 });
    assert_eq!(ending.refund(Some(&state), 25, charge(33)), Change::Keep);
    assert_eq!(ending.refund(Some(&state), 25, charge(35)), Change::Keep);
    assert_eq!(
        ending.refund(Some(&state), 25, charge(34)),
        Change::EndingWindow(ending_window::State { end: 34, count: 1 })
    );
    let counter = Params::SlidingWindowCounter(sliding_window_counter::Params { count: 9, window: 10 });
    let state = sliding_window_counter::State { start: 20, previous: 3, current: 2 };
    let refunded = |at| counter.refund(Some(&State::SlidingWindowCounter(state)), 25, charge(at));
    assert_eq!(refunded(9), Change::Keep);
    assert_eq!(
        refunded(19),
        Change::SlidingWindowCounter(sliding_window_counter::State { previous: 2, ..state })
    );
    assert_eq!(
        refunded(20),
        Change::SlidingWindowCounter(sliding_window_counter::State { current: 1, ..state })
    );
}

#[test]
fn a_state_of_another_algorithm_or_none_gets_nothing_back() {
    use cupo_core::algorithm::{fixed_window, token_bucket};
    let bucket = Params::TokenBucket(token_bucket::Params { capacity: 10, refill: 1, period: 10 });
    let other = State::FixedWindow(fixed_window::State { start: 20, count: 2 });
    let charge = Charge { at: 25, end: 90, cost: 1 };
    assert_eq!(bucket.refund(Some(&other), 25, charge), Change::Keep);
    assert_eq!(bucket.refund(None, 25, charge), Change::Keep);
}

#[test]
fn a_log_forgets_what_it_gave_back() {
    use cupo_core::algorithm::sliding_window_log::{Entry, Params as Log, State as Entries};
    let params = Params::SlidingWindowLog(Log { count: 5, window: 10 });
    let mut state = Some(State::SlidingWindowLog(Entries::from_entries([
        Entry { at: 1, cost: 2 },
        Entry { at: 2, cost: 1 },
        Entry { at: 3, cost: 1 },
    ])));
    let mut refund = |at, cost| {
        let change = params.refund(state.as_ref(), 4, Charge { at, end: at, cost });
        params.apply(&mut state, change);
        let (decision, _) = params.decide(state.as_ref(), 4, 0);
        (decision.remaining, decision.reset_after)
    };
    assert_eq!(refund(7, 1), (1, 9), "nothing was charged then");
    assert_eq!(refund(2, 1), (2, 9), "an entry inside is worth nothing any more");
    assert_eq!(refund(1, 1), (3, 9), "a part");
    assert_eq!(refund(3, 9), (4, 7), "the newest is gone, and the worthless one before it");
    assert_eq!(refund(1, 1), (5, 0));
    assert_eq!(state, None);
}
