//! What is counted under one limit goes on under another.

use core::time::Duration;

use cupo_core::{Algorithm, CheckItem, Key, Limit, Rate, State, Store};
use proptest::collection::vec;
use proptest::prop_assert_eq;
use proptest::sample::select;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::checks::NOW;
use super::concurrency::{THREADS, all_at_once, limits};
use super::{Setup, execute};
use crate::{calendars, strategy};

/// The keys of a rule under three limits: they differ in their scope, and count by the same parts.
fn key_under(limit: usize) -> Key {
    Key::builder(["one", "two", "three"][limit % 3]).part(1, "", b"client").build()
}

fn item(key: usize, limit: Limit, cost: u64) -> CheckItem {
    CheckItem { key: key_under(key), limit, cost }
}

/// Limits of every algorithm that replace each other.
fn replacing() -> Vec<Vec<Limit>> {
    let seconds = Duration::from_secs;
    let of = |limits: Vec<Result<Limit, _>>| -> Vec<Limit> {
        limits.into_iter().map(|limit| limit.expect("an ordinary limit")).collect()
    };
    let rate = |count, period| Rate::new(count, seconds(period));
    // The last but one is counted in milliseconds.
    let windows = |make: fn(u64, Duration) -> Result<Limit, _>| {
        vec![
            make(5, seconds(60)),
            make(12, seconds(10)),
            make(3_000_000, seconds(86_400)),
            make(2, seconds(90)),
        ]
    };
    let fixed = [
        Limit::fixed_window_from_first(5, seconds(60)),
        Limit::fixed_window_of(4, calendars::number(3)),
        Limit::fixed_window_from_first(9, seconds(20)),
    ];
    vec![
        of(windows(Limit::fixed_window).into_iter().chain(fixed).collect()),
        of(windows(Limit::sliding_window_log)),
        of(windows(Limit::sliding_window_counter)),
        of(vec![
            Limit::token_bucket(5, rate(5, 60)),
            Limit::token_bucket(12, rate(7, 60)),
            Limit::token_bucket(20_000_000, rate(1, 86_400)),
            Limit::token_bucket(2, rate(1, 10)),
        ]),
        of(vec![
            Limit::leaky_bucket(rate(5, 60), 4),
            Limit::leaky_bucket(rate(7, 60), 11),
            Limit::leaky_bucket(rate(1, 86_400), 20_000_000),
            Limit::leaky_bucket(rate(1, 10), 1),
        ]),
    ]
}

/// One key of a store, and the limit that it counts by.
struct Counted {
    limit: Limit,
    state: Option<State>,
}

/// What a test does: how long it waits before, in seconds; which keys it means; units to ask for, or none where it carries.
type Act = (u64, (usize, usize), Option<u64>);

/// What still counts under one limit is charged under another as far as there is room, and is counted there alone. To carry it again
/// changes nothing, and neither does what counts by another algorithm.
pub fn what_is_counted_is_carried_to_another_limit<S: Setup>(setup: &S) {
    let act = (0..40_u64, (0..3_usize, 0..3_usize), proptest::option::of(1..4_u64));
    for limits in replacing() {
        let cases = (vec(select(limits), 3), vec(act.clone(), 1..30));
        TestRunner::new(strategy::config(40))
            .run(&cases, |(limits, acts)| history(setup, &limits, &acts))
            .unwrap_or_else(|e| panic!("{e}"));
    }
    other_algorithms(setup);
}

fn history<S: Setup>(setup: &S, limits: &[Limit], acts: &[Act]) -> Result<(), TestCaseError> {
    let store = setup.store();
    let mut keys: Vec<Counted> = limits.iter().map(|&limit| Counted { limit, state: None }).collect();
    let mut now = NOW;
    for &(wait, (from, to), cost) in acts {
        now = now.after(Duration::from_secs(wait));
        if let Some(cost) = cost {
            let Counted { limit, state } = &mut keys[from];
            let (expected, change) = limit.decide(state.as_ref(), now, cost);
            limit.apply(state, change);
            let executed = execute(setup, &store, &item(from, *limit, cost).into(), now);
            prop_assert_eq!(executed.decisions[0], expected, "{} at {:?}", limit, now);
            continue;
        }
        let used =
            keys[from].limit.quota() - keys[from].limit.decide(keys[from].state.as_ref(), now, 0).0.remaining;
        let (old, new) = (item(from, keys[from].limit, 7), item(to, keys[to].limit, 9));
        for _ in 0..2 {
            setup.wait(store.carry(&old, &new, now)).expect("the store answers");
        }
        if from != to && used > 0 {
            keys[from].state = None;
            let Counted { limit, state } = &mut keys[to];
            let room = limit.decide(state.as_ref(), now, 0).0.remaining;
            let (_, change) = limit.decide(state.as_ref(), now, used.min(room));
            limit.apply(state, change);
        }
        for (n, Counted { limit, state }) in keys.iter().enumerate() {
            let expected = limit.decide(state.as_ref(), now, 0).0;
            let executed = execute(setup, &store, &item(n, *limit, 0).into(), now);
            prop_assert_eq!(
                executed.decisions[0],
                expected,
                "{}: from {} to {} at {:?}",
                limit,
                from,
                to,
                now
            );
        }
    }
    Ok(())
}

fn other_algorithms<S: Setup>(setup: &S) {
    for limit in replacing().into_iter().map(|limits| limits[0]) {
        let store = setup.store();
        let (old, new) = (item(0, limit, 1), item(1, limit, 1));
        setup.wait(store.carry(&old, &new, NOW)).expect("the store answers");
        assert_eq!(setup.keys(&store).unwrap_or(0), 0, "{limit}: carrying nothing created a key");
        execute(setup, &store, &old.clone().into(), NOW);
        for other in replacing().into_iter().map(|limits| limits[1]) {
            if other.algorithm() == limit.algorithm() {
                continue;
            }
            setup.wait(store.carry(&old, &item(1, other, 0), NOW)).expect("the store answers");
            let peek = |n, limit: Limit| {
                execute(setup, &store, &item(n, limit, 0).into(), NOW).decisions[0].remaining
            };
            assert_eq!((peek(0, limit), peek(1, other)), (4, other.quota()), "{limit} to {other}");
        }
        setup.wait(store.carry(&old, &new, NOW)).expect("the store answers");
        assert_eq!(setup.keys(&store).unwrap_or(1), 1, "{limit}: what was carried is kept once");
    }
}

/// Every thread carries and then asks: whoever's carrying it was, what was counted before is counted when it is done.
pub fn concurrent_carries_count_each_unit_once<S: Setup>(setup: &S) {
    for algorithm in Algorithm::ALL {
        for round in 0..6 {
            let used = 20 + round;
            for limit in limits(algorithm, used) {
                let Ok(larger) = limit.times(2) else { continue };
                let store = setup.store();
                let old = item(0, limit, used);
                execute(setup, &store, &old.clone().into(), NOW);
                let new = item(1, larger, 1);
                let admitted: u64 = all_at_once(|_| {
                    (0..4 + round)
                        .map(|_| {
                            setup.wait(store.carry(&old, &new, NOW)).expect("the store answers");
                            u64::from(execute(setup, &store, &new.clone().into(), NOW).is_admitted())
                        })
                        .sum()
                })
                .iter()
                .sum();
                let room = larger.quota() - used;
                assert_eq!(admitted, room.min(THREADS * (4 + round)), "{limit}, then {larger}");
                let left = execute(setup, &store, &item(1, larger, 0).into(), NOW).decisions[0].remaining;
                assert_eq!(left, room - admitted, "{limit}, then {larger}");
            }
        }
    }
}
