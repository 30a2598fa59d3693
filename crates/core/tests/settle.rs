//! Charges that are settled: what was charged in the end keeps the bound, whatever the order and however late.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "this is a test")]

use cupo_core::algorithm::{
    ending_window, fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log, token_bucket,
};
use cupo_core::{Algorithm, Change, Charge, Params, State};
use cupo_testkit::bound::units_within;
use cupo_testkit::{calendars, strategy};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Ask { gap: u64, cost: u64 },
    Settle { gap: u64, which: prop::sample::Index, actual: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![4 => 0..3_u64, 3 => 0..12_u64, 1 => 0..60_u64];
    let ask = (gap.clone(), 1..4_u64).prop_map(|(gap, cost)| Step::Ask { gap, cost });
    let settle = (gap, any::<prop::sample::Index>(), 0..7_u64)
        .prop_map(|(gap, which, actual)| Step::Settle { gap, which, actual });
    prop::collection::vec(prop_oneof![1 => ask, 1 => settle], 1..40)
}

/// Small limits, where edges are everywhere.
fn params() -> impl Strategy<Value = Params> {
    // Windows of 3 to 7 ticks where the histories begin, again and again.
    let calendar = calendars::leaked("settling", &(1..300).map(|n| 5 * n + n % 3).collect::<Vec<_>>());
    (0..7_u8, 1..6_u64, 1..12_u64, 1..5_u64).prop_map(move |(kind, units, ticks, rate)| match kind {
        0 => Params::FixedWindow(fixed_window::Params { count: units, window: ticks }),
        1 => {
            let edges = ending_window::Edges::FirstRequest { window: ticks };
            Params::EndingWindow(ending_window::Params { count: units, edges })
        }
        2 => {
            let edges = ending_window::Edges::Calendar(calendar);
            Params::EndingWindow(ending_window::Params { count: units, edges })
        }
        3 => Params::SlidingWindowLog(sliding_window_log::Params { count: units, window: ticks }),
        4 => Params::SlidingWindowCounter(sliding_window_counter::Params { count: units, window: ticks }),
        5 => Params::TokenBucket(token_bucket::Params { capacity: units, refill: rate, period: ticks }),
        _ => Params::LeakyBucket(leaky_bucket::Params { rate, period: ticks, queue: units - 1 }),
    })
}

/// Units that were charged at a tick, in the order of the ticks.
type Charged = Vec<(u64, u64)>;

fn run(params: &Params, steps: &[Step]) -> Charged {
    let (mut now, mut state, mut open, mut charged) = (1_000, None::<State>, Vec::new(), Charged::new());
    for step in steps {
        match *step {
            Step::Ask { gap, cost } => {
                now += gap;
                let (decision, change) = params.decide(state.as_ref(), now, cost);
                params.apply(&mut state, change);
                if decision.is_admitted() {
                    open.push((charged.len(), Charge { at: now, end: now + decision.reset_after, cost }));
                    charged.push((now, cost));
                }
            }
            Step::Settle { gap, ref which, actual } => {
                now += gap;
                if open.is_empty() {
                    continue;
                }
                let (index, charge) = open.swap_remove(which.index(open.len()));
                let balance = |state: &Option<State>| params.decide(state.as_ref(), now, 0).0;
                let before = balance(&state);
                let (change, uncovered) = params.settle(state.as_ref(), now, charge, actual);
                params.apply(&mut state, change);
                let after = balance(&state);
                assert!(after.remaining <= after.limit, "never above the limit");
                if actual <= charge.cost {
                    assert_eq!(uncovered, 0, "nothing was lacking");
                    let given =
                        after.remaining.checked_sub(before.remaining).expect("a refund takes nothing");
                    assert!(given <= charge.cost - actual, "a refund gives what was beyond the cost at most");
                    // A slot of a leaky bucket that has passed stays charged: the request has been let go.
                    if params.algorithm() != Algorithm::LeakyBucket || change != Change::Keep {
                        charged[index].1 = actual;
                    }
                } else {
                    let extra = actual - charge.cost;
                    assert!(uncovered <= extra);
                    assert_eq!(extra - uncovered, extra.min(before.remaining), "all that there is room for");
                    assert_eq!(after.remaining, before.remaining - (extra - uncovered));
                    charged.push((now, extra - uncovered));
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
                return Err(format!("{sum} units in [{from}, {to}], at most {most} may be: {charged:?}"));
            }
        }
    }
    Ok(())
}

/// The algorithms that give back units: a leaky bucket gives back slots, see its own document.
const UNITS: [Algorithm; 4] = [
    Algorithm::FixedWindow,
    Algorithm::SlidingWindowLog,
    Algorithm::SlidingWindowCounter,
    Algorithm::TokenBucket,
];

proptest! {
    #![proptest_config(strategy::config(20_000))]

    #[test]
    fn what_was_charged_in_the_end_keeps_the_bound(params in params(), steps in steps()) {
        if let Err(fault) = bound_holds(&params, &run(&params, &steps)) {
            prop_assert!(false, "{params:?}: {fault}");
        }
    }

    /// Settled at once, a charge is as if the request had cost that from the beginning.
    #[test]
    fn settled_at_once_it_is_as_if_it_had_cost_that(
        limit in prop::sample::select(UNITS.to_vec()).prop_flat_map(strategy::limit),
        now in 0..1_u64 << 50,
        (reserved, wanted) in (1..20_u64, 0..25_u64),
    ) {
        let params = limit.params();
        if limit.quota() == 0 {
            return Ok(());
        }
        let (reserved, actual) = (reserved.min(limit.quota()), wanted.min(limit.quota()));
        let (mut settled, mut plain) = (None, None);
        let (decision, change) = params.decide(None, now, reserved);
        prop_assert!(decision.is_admitted());
        params.apply(&mut settled, change);
        let charge = Charge { at: now, end: now + decision.reset_after, cost: reserved };
        let (change, uncovered) = params.settle(settled.as_ref(), now, charge, actual);
        params.apply(&mut settled, change);
        prop_assert_eq!(uncovered, 0);
        let (_, change) = params.decide(None, now, actual);
        params.apply(&mut plain, change);
        let balance = |state: &Option<State>| params.decide(state.as_ref(), now, 0).0;
        prop_assert_eq!(balance(&settled), balance(&plain));
    }

    /// Whatever is claimed, nothing leaves the number domain, and no balance the limit.
    #[test]
    fn no_cost_is_too_large(
        limit in prop::sample::select(Algorithm::ALL.to_vec()).prop_flat_map(strategy::limit),
        now in 0..1_u64 << 50,
        actual in prop_oneof![0..100_u64, (1_u64 << 52)..=u64::MAX],
    ) {
        let params = limit.params();
        let mut state = None;
        let (decision, change) = params.decide(None, now, limit.quota().min(1));
        params.apply(&mut state, change);
        let charge = Charge { at: now, end: now + decision.reset_after, cost: limit.quota().min(1) };
        let (change, uncovered) = params.settle(state.as_ref(), now, charge, actual);
        params.apply(&mut state, change);
        let after = params.decide(state.as_ref(), now, 0).0;
        prop_assert!(after.remaining <= after.limit);
        let most = limit.quota().max(charge.cost);
        prop_assert_eq!(uncovered, actual.saturating_sub(most), "what does not fit the limit is not covered");
    }
}
