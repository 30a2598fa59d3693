//! What a flood of fresh keys can and cannot do. Each test is a guarantee of the crate's documentation.

#![allow(missing_docs, clippy::unwrap_used)]

use core::time::Duration;

use cupo_core::{Check, Key, Limit, Rate, Timestamp, Verdict};
use cupo_store_memory::MemoryStore;

const START: u64 = 1_700_000_000_000_000;
const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(START + seconds * 1_000_000)
}

fn store(keys: usize) -> MemoryStore {
    MemoryStore::builder().max_keys(keys).seed(7, 11).build().unwrap()
}

/// Every algorithm with this count per day.
fn daily(count: u64) -> [Limit; 5] {
    [
        Limit::fixed_window(count, DAY).unwrap(),
        Limit::sliding_window_log(count, DAY).unwrap(),
        Limit::sliding_window_counter(count, DAY).unwrap(),
        Limit::token_bucket(count, Rate::new(count, DAY)).unwrap(),
        Limit::leaky_bucket(Rate::new(count, DAY), count - 1).unwrap(),
    ]
}

fn ask(store: &MemoryStore, key: &str, limit: &Limit, now: Timestamp) -> bool {
    store.decide(key.as_bytes(), limit, 1, now).is_admitted()
}

#[test]
fn an_exhausted_key_is_not_forgotten_in_a_flood() {
    for limit in daily(5) {
        let store = store(10_000);
        for _ in 0..5 {
            assert!(ask(&store, "victim", &limit, at(0)));
        }
        let cheap = Limit::token_bucket(100, Rate::new(100, SECOND * 60)).unwrap();
        for i in 0..200_000 {
            let _ = ask(&store, &format!("flood {i}"), &cheap, at(i / 10_000));
            if i % 1_000 == 0 {
                assert!(!ask(&store, "victim", &limit, at(i / 10_000)), "{limit}: forgotten after {i}");
            }
        }
        let stats = store.stats();
        assert!(stats.keys <= 10_000 && stats.evicted_alive > 150_000, "{stats:?}");
        assert_eq!(stats.grouped, 0, "there was always somebody to evict");
    }
}

#[test]
fn a_million_fresh_keys_do_not_free_an_exhausted_one_that_keeps_quiet() {
    // The same limit for all: every flooding key is used up by one request, as the victim was, and none is ever denied.
    let limit = Limit::fixed_window(1, DAY).unwrap();
    let store = store(10_000);
    assert!(ask(&store, "victim", &limit, at(0)));
    let admitted = (0..1_000_000).filter(|i| ask(&store, &format!("flood {i}"), &limit, at(1))).count();
    assert!(!ask(&store, "victim", &limit, at(2)), "the victim was forgotten");
    // Every admission is one that a key or a group has room for, and nothing that was used up was forgotten.
    let stats = store.stats();
    assert_eq!(admitted + 1, stats.keys + stats.groups, "{stats:?}");
    assert_eq!(stats.evicted_alive, 0);
    assert!(stats.keys <= 10_000 && stats.groups > 0, "{stats:?}");
    assert!(stats.grouped >= 1_000_000 - 10_000);
}

#[test]
fn nobody_evicts_his_own_exhausted_key() {
    let limit = Limit::token_bucket(3, Rate::new(3, DAY)).unwrap();
    let store = store(1_000);
    let mut admitted = 0;
    for round in 0..50_000 {
        admitted += u64::from(ask(&store, "mine", &limit, at(0)));
        let _ = ask(&store, &format!("helper {round}"), &limit, at(0));
    }
    assert_eq!(admitted, 3);
}

#[test]
fn who_is_nearer_to_the_limit_stays() {
    let (dear, cheap) = (Limit::fixed_window(5, DAY).unwrap(), Limit::fixed_window(100, DAY).unwrap());
    let store = store(2_000);
    for i in 0..50 {
        for _ in 0..4 {
            assert!(ask(&store, &format!("dear {i}"), &dear, at(0)));
        }
    }
    for i in 0..100_000 {
        let _ = ask(&store, &format!("flood {i}"), &cheap, at(0));
    }
    assert!(store.stats().evicted_alive > 90_000);
    for i in 0..50 {
        let left = store.decide(format!("dear {i}").as_bytes(), &dear, 0, at(0)).remaining;
        assert_eq!(left, 1, "one of five is left to key {i}, flooded or not");
    }
}

#[test]
fn a_store_full_of_exhausted_keys_neither_opens_nor_closes() {
    for (limit, other) in daily(4).into_iter().zip(daily(7)) {
        let store = store(4_096);
        for i in 0..20_000 {
            for _ in 0..5 {
                let _ = ask(&store, &format!("attacker {i}"), &limit, at(0));
            }
        }
        // Newcomers of another limit: their groups are fresh, and hold what the limit allows to each group.
        let newcomers = 2_000;
        let admitted =
            (0..newcomers * 7).filter(|i| ask(&store, &format!("new {}", i / 7), &other, at(0))).count();
        let stats = store.stats();
        assert!(admitted >= 7, "{other}: everyone blocked, {stats:?}");
        assert!(admitted < newcomers * 7 / 2, "{other}: {admitted} let through, {stats:?}");
        assert!(stats.keys <= 4_096);
        // The keys that are known keep their own limits all the while.
        assert!(!ask(&store, "attacker 1", &limit, at(0)));
        // And a day later everything is as if nothing had been.
        for i in 0..1_000 {
            assert!(ask(&store, &format!("next day {i}"), &other, at(2 * 86_400 + 2)), "{other}: {i}");
        }
    }
}

#[test]
fn a_group_holds_the_limit_that_its_keys_share() {
    // One shard, one place: everyone but the first is a newcomer.
    let store = MemoryStore::builder().max_keys(1).shards(1).seed(7, 11).build().unwrap();
    let limit = Limit::token_bucket(3, Rate::new(3, DAY)).unwrap();
    for _ in 0..3 {
        assert!(ask(&store, "first", &limit, at(0)));
    }
    let admitted = (0..1_000).filter(|i| ask(&store, &format!("new {i}"), &limit, at(0))).count();
    assert_eq!(admitted, 3 * store.stats().groups);
    assert_eq!(store.stats().keys, 1);
    // Their wait is the group's, and holds.
    let Verdict::Deny { retry_after } = store.decide(b"new 1", &limit, 1, at(0)).verdict else { panic!() };
    assert!(
        !store.decide(b"new 1", &limit, 1, at(0).after(retry_after - Duration::from_micros(1))).is_admitted()
    );
    assert!(store.decide(b"new 1", &limit, 1, at(0).after(retry_after)).is_admitted());
}

#[test]
fn a_check_of_newcomers_is_exact_in_a_full_store() {
    // All in one shard, so that newcomers of one check compete for one place and share groups.
    let store = MemoryStore::builder().max_keys(4).shards(1).seed(7, 11).build().unwrap();
    let (one, half) = (Limit::fixed_window(10, DAY).unwrap(), Limit::fixed_window(1, DAY).unwrap());
    for i in 0..4 {
        assert!(ask(&store, &format!("full {i}"), &half, at(0)));
    }
    let mut check = Check::new();
    for i in 0..12 {
        check.push(Key::builder("new").part(1, "", format!("{i}").as_bytes()).build(), one, 1).unwrap();
    }
    let admitted = (0..100).filter(|_| store.execute(&check, at(0)).is_admitted()).count();
    assert_eq!(admitted, 10, "each item has a state of its own, though twelve share the groups");
    let balance = store.execute(&check, at(0));
    assert!(balance.decisions.iter().all(|decision| decision.remaining == 0), "{balance:?}");
}

#[test]
fn a_check_never_evicts_its_own_keys() {
    let store = MemoryStore::builder().max_keys(4).shards(1).seed(7, 11).build().unwrap();
    let limit = Limit::fixed_window(1_000, DAY).unwrap();
    let key = |i: usize| Key::builder("k").part(1, "", format!("{i}").as_bytes()).build();
    for round in 0..200_usize {
        let mut check = Check::new();
        for i in 0..4 {
            check.push(key(round + i), limit, 1).unwrap();
        }
        assert!(store.execute(&check, at(0)).is_admitted());
        for item in check.items() {
            let left = store.decide(item.key.as_bytes(), &limit, 0, at(0)).remaining;
            assert!(left < 1_000, "round {round}: {:?} was charged and forgotten in one step", item.key);
        }
    }
}

#[test]
fn a_denied_check_evicts_nobody() {
    let store = MemoryStore::builder().max_keys(8).shards(1).seed(7, 11).build().unwrap();
    let (limit, closed) = (Limit::fixed_window(100, DAY).unwrap(), Limit::fixed_window(0, DAY).unwrap());
    for i in 0..8 {
        assert!(ask(&store, &format!("old {i}"), &limit, at(0)));
    }
    let before = store.stats();
    let mut check = Check::new();
    check.push(Key::builder("new").build(), limit, 1).unwrap();
    check.push(Key::builder("closed").build(), closed, 1).unwrap();
    let executed = store.execute(&check, at(0));
    assert!(!executed.is_admitted() && executed.decisions[0].remaining == 100, "{executed:?}");
    assert_eq!(store.stats(), before);
    let _ = store.decide(b"peek", &limit, 0, at(0));
    assert_eq!(store.stats(), before, "a peek creates no key and evicts none");
}
