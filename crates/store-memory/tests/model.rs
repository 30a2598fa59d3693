//! The store beside a map of states: the same decisions, whatever is asked.

#![allow(missing_docs, clippy::unwrap_used)]

use core::time::Duration;
use std::collections::HashMap;

use cupo_core::{Check, CheckItem, Key, Limit, Rate, State, Timestamp};
use cupo_store_memory::MemoryStore;
use cupo_testkit::calendars;
use proptest::prelude::{Just, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy;

const START: u64 = 1_700_000_000_000_000;

/// What a store is, without a thought for memory or threads.
#[derive(Default)]
struct Model(HashMap<Key, Option<State>>);

impl Model {
    fn execute(&mut self, check: &Check, now: Timestamp) -> Vec<cupo_core::Decision> {
        let decide = |model: &Self, item: &CheckItem, cost| {
            let state = model.0.get(&item.key).and_then(Option::as_ref);
            item.limit.decide(state, now, cost)
        };
        let made: Vec<_> = check.items().iter().map(|item| decide(self, item, item.cost)).collect();
        if made.iter().all(|(decision, _)| decision.is_admitted()) {
            for (item, (_, change)) in check.items().iter().zip(&made) {
                item.limit.apply(self.0.entry(item.key.clone()).or_default(), *change);
            }
            return made.into_iter().map(|(decision, _)| decision).collect();
        }
        let shown = check.items().iter().zip(made).map(|(item, (decision, _))| {
            if decision.is_admitted() { decide(self, item, 0).0 } else { decision }
        });
        shown.collect()
    }
}

fn limit() -> impl Strategy<Value = Limit> {
    let span =
        prop_oneof![Just(1_u64), Just(1_000), Just(50_000), Just(3_000_000)].prop_map(Duration::from_micros);
    let count = prop_oneof![0_u64..6, Just(1_u64 << 39)];
    (0..7, count, span).prop_filter_map("out of the domain", |(kind, count, span)| {
        match kind {
            0 => Limit::fixed_window(count, span),
            1 => Limit::sliding_window_log(count, span),
            2 => Limit::sliding_window_counter(count, span),
            5 => Limit::fixed_window_from_first(count, span),
            6 => Limit::fixed_window_of(count, calendars::number(3)),
            3 => Limit::token_bucket(count, Rate::new(count.max(1), span)),
            _ => Limit::leaky_bucket(Rate::new(count, span), count),
        }
        .ok()
    })
}

fn key(n: usize) -> Key {
    Key::builder("model").part(1, "", &n.to_le_bytes()).build()
}

proptest! {
    #[test]
    fn decisions_are_those_of_a_map(
        limits in proptest::collection::vec(limit(), 12),
        steps in proptest::collection::vec(
            (proptest::sample::subsequence((0..12_usize).collect::<Vec<_>>(), 0..5), 0_u64..4, 0_u64..40_000, 0..30),
            1..120,
        ),
        shards in prop_oneof![Just(1_usize), Just(2), Just(8)],
    ) {
        let store = MemoryStore::builder().max_keys(64).shards(shards).seed(5, 6).build().unwrap();
        let (mut model, mut now) = (Model::default(), START);
        for (names, cost, passed, event) in steps {
            now += passed;
            let at = Timestamp::from_micros(now);
            let mut check = Check::new();
            for name in names {
                check.push(key(name), limits[name], cost << (event % 3 * 19)).unwrap();
            }
            let expected = model.execute(&check, at);
            let executed = store.execute(&check, at);
            prop_assert_eq!(executed.at, at);
            prop_assert_eq!(executed.decisions.to_vec(), expected);
            if event == 0 {
                store.sweep(at);
            }
        }
        prop_assert_eq!(store.stats().evicted_alive, 0);
        prop_assert_eq!(store.stats().grouped, 0);
    }

    #[test]
    fn cancelled_slots_are_given_to_others(
        steps in proptest::collection::vec((0_u64..3, 0_u64..900_000, 0..2), 1..60),
    ) {
        let limit = Limit::leaky_bucket(Rate::new(2, Duration::from_secs(1)), 4).unwrap();
        let store = MemoryStore::new();
        let (mut model, mut now, mut last) = (None, START, Timestamp::EPOCH);
        for (cost, passed, cancels) in steps {
            now += passed;
            let at = Timestamp::from_micros(now);
            let item = CheckItem { key: key(0), limit, cost };
            if cancels == 1 {
                let change = limit.cancel(model.as_ref(), at, cost, last);
                limit.apply(&mut model, change);
                store.cancel(&item, at, last);
            } else {
                let (decision, change) = limit.decide(model.as_ref(), at, cost);
                limit.apply(&mut model, change);
                prop_assert_eq!(store.decide(item.key.as_bytes(), &limit, cost, at), decision);
                last = at.after(decision.reset_after);
            }
            let shown = limit.decide(model.as_ref(), at, 0).0;
            prop_assert_eq!(store.decide(item.key.as_bytes(), &limit, 0, at), shown);
        }
    }
}

#[test]
fn a_state_of_another_algorithm_or_tick_counts_as_absent() {
    let store = MemoryStore::new();
    let at = Timestamp::from_micros(START);
    let second = Duration::from_secs(1);
    let one = |limit: &Limit| store.decide(b"key", limit, 1, at).is_admitted();
    let (log, window) =
        (Limit::sliding_window_log(1, second).unwrap(), Limit::fixed_window(1, second).unwrap());
    for limit in [log, window, log] {
        assert!(one(&limit) && !one(&limit), "{limit}");
    }
    // Microseconds, then so many units that only milliseconds hold them: as milliseconds the old instant is far ahead.
    let micros = Limit::token_bucket(5, Rate::new(1, second)).unwrap();
    let millis = Limit::token_bucket(1 << 35, Rate::new(1, second)).unwrap();
    assert_ne!(micros.resolution(), millis.resolution());
    assert!(one(&micros));
    let decision = store.decide(b"key", &millis, 1, at);
    assert!(decision.is_admitted() && decision.remaining == (1 << 35) - 1, "{decision:?}");
}
