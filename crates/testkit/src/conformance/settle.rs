//! Charges that are settled.

use core::time::Duration;

use cupo_core::{Charge, Limit, Settlement, State, Store, Timestamp};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use proptest::{prop_assert_eq, prop_oneof};

use super::checks::{NOW, limits};
use super::{Setup, check_of, execute, key};
use crate::strategy;

/// What happens.
#[derive(Debug, Clone)]
enum Act {
    /// So many units are asked for under each of these keys, alone.
    Ask(Vec<(Index, u64)>),
    /// These charges turn out to have cost so much.
    Settle(Vec<(Index, u64)>),
}

/// A key as it ought to be.
struct Kept {
    limit: Limit,
    state: Option<State>,
    charges: Vec<Charge<Timestamp>>,
}

/// A charge that is settled gives back or takes what [`Limit::settle`] says: in any order, late, more than once, several keys at
/// once. Settling what is not there creates no key, and takes what there is room for.
pub fn charges_are_settled<S: Setup>(setup: &S) {
    nothing_is_given_back_of_nothing(setup);
    let ask = vec((any::<Index>(), 1..6_u64), 1..4).prop_map(Act::Ask);
    let settle = vec((any::<Index>(), prop_oneof![4 => 0..8_u64, 1 => (u64::MAX - 1)..=u64::MAX]), 1..4)
        .prop_map(Act::Settle);
    let gap = prop_oneof![3 => 0..2_u64, 3 => 1..20_u64, 1 => 20..90_u64];
    let cases = vec((gap, prop_oneof![3 => ask, 2 => settle]), 1..30);
    let test = |steps: Vec<(u64, Act)>| {
        let store = setup.store();
        let mut keys: Vec<Kept> =
            limits().map(|limit| Kept { limit, state: None, charges: Vec::new() }).into();
        let mut now = NOW;
        for (gap, act) in steps {
            now = now.after(Duration::from_secs(gap));
            match act {
                Act::Ask(asks) => {
                    for (which, cost) in asks {
                        let n = which.index(keys.len());
                        let check = check_of([(number(n), keys[n].limit, cost)]);
                        let executed = execute(setup, &store, &check, now);
                        let (expected, change) =
                            keys[n].limit.decide(keys[n].state.as_ref(), executed.at, cost);
                        let Kept { limit, state, charges } = &mut keys[n];
                        prop_assert_eq!(executed.decisions[0], expected, "{}", limit);
                        limit.apply(state, change);
                        if expected.is_admitted() {
                            let end = executed.at.after(expected.reset_after);
                            charges.push(Charge { at: executed.at, end, cost });
                        }
                    }
                }
                Act::Settle(which) => {
                    let mut settlements: Vec<(usize, Settlement)> = Vec::new();
                    for (index, actual) in which {
                        let n = index.index(keys.len());
                        let Kept { limit, charges, .. } = &mut keys[n];
                        if charges.is_empty() || settlements.iter().any(|(other, _)| *other == n) {
                            continue;
                        }
                        let nth = index.index(charges.len());
                        // Sometimes again and again, as if it had been forgotten in between.
                        let charge = if actual == 5 { charges[nth] } else { charges.swap_remove(nth) };
                        let limit = *limit;
                        settlements.push((n, Settlement { key: key(number(n)), limit, charge, actual }));
                    }
                    let all: Vec<Settlement> = settlements.iter().map(|(_, s)| s.clone()).collect();
                    let uncovered = setup.wait(store.settle(&all, now)).expect("the store answers");
                    prop_assert_eq!(uncovered.len(), all.len(), "one answer for each");
                    for ((n, settlement), uncovered) in settlements.iter().zip(uncovered) {
                        let Kept { limit, state, .. } = &mut keys[*n];
                        let Settlement { charge, actual, .. } = settlement;
                        let (change, expected) = limit.settle(state.as_ref(), now, *charge, *actual);
                        limit.apply(state, change);
                        prop_assert_eq!(uncovered, expected, "{}: {:?}", limit, settlement);
                    }
                }
            }
            for (n, Kept { limit, state, .. }) in keys.iter().enumerate() {
                let peek = execute(setup, &store, &check_of([(number(n), *limit, 0)]), now);
                let (expected, _) = limit.decide(state.as_ref(), peek.at, 0);
                prop_assert_eq!(peek.decisions[0], expected, "{}: a peek afterwards", limit);
            }
        }
        Ok(())
    };
    TestRunner::new(strategy::config(96)).run(&cases, test).unwrap_or_else(|e| panic!("{e}"));
}

fn nothing_is_given_back_of_nothing<S: Setup>(setup: &S) {
    for limit in limits() {
        let store = setup.store();
        let settle = |cost, actual| {
            let charge = Charge { at: NOW, end: NOW.after(limit.window()), cost };
            let settlement = Settlement { key: key(0), limit, charge, actual };
            setup.wait(store.settle(&[settlement], NOW)).expect("the store answers")[0]
        };
        assert_eq!(settle(3, 0), 0, "{limit}");
        assert_eq!(settle(3, 3), 0, "{limit}");
        assert_eq!(setup.keys(&store).unwrap_or(0), 0, "{limit}: settling nothing created a key");
        // A charge that is gone meanwhile still has to be paid for as far as it was not.
        assert_eq!(settle(3, 5), 0, "{limit}");
        let peek = execute(setup, &store, &check_of([(0, limit, 0)]), NOW).decisions[0];
        assert_eq!(peek.remaining, 3, "{limit}");
        assert_eq!(settle(1, u64::MAX), u64::MAX - 1 - 3, "{limit}: what finds no room is told");
        let peek = execute(setup, &store, &check_of([(0, limit, 0)]), NOW).decisions[0];
        assert_eq!(peek.remaining, 0, "{limit}: there is no debt");
        let answered = setup.wait(store.settle(&[], NOW)).expect("the store answers");
        assert!(answered.is_empty());
    }
}

fn number(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
