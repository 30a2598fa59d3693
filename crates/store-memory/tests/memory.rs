//! Memory: what is at rest goes first, the budget holds, and what a flood took comes back.

#![allow(missing_docs, clippy::unwrap_used)]

use core::time::Duration;

use cupo_core::{Limit, Rate, Timestamp};
use cupo_store_memory::MemoryStore;

const START: u64 = 1_700_000_000_000_000;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(START + seconds * 1_000_000)
}

fn per_second(count: u64) -> Limit {
    Limit::token_bucket(count, Rate::new(count, Duration::from_secs(1))).unwrap()
}

fn flood(store: &MemoryStore, name: &str, keys: u64, limit: &Limit, now: Timestamp) {
    for i in 0..keys {
        let _ = store.decide(format!("{name} {i}").as_bytes(), limit, 1, now);
    }
}

#[test]
fn what_is_at_rest_is_reclaimed_before_anybody_is_evicted() {
    let store = MemoryStore::builder().max_keys(20_000).seed(1, 2).build().unwrap();
    for wave in 0..20 {
        flood(&store, &format!("wave {wave}"), 10_000, &per_second(10), at(wave * 10));
        assert!(store.stats().keys <= 20_000);
    }
    let stats = store.stats();
    assert_eq!(stats.evicted_alive, 0, "{stats:?}");
    assert!(stats.reclaimed > 170_000, "{stats:?}");
}

#[test]
fn a_key_at_rest_for_less_than_a_second_is_kept() {
    // Callers read the clock one after the other and arrive in any order: a step back by that much changes nothing.
    let store = MemoryStore::new();
    let limit = Limit::fixed_window(1, Duration::from_secs(10)).unwrap();
    assert!(store.decide(b"key", &limit, 1, at(0)).is_admitted());
    store.sweep(at(10));
    assert_eq!(store.stats().keys, 1);
    assert!(!store.decide(b"key", &limit, 1, at(9)).is_admitted());
    store.sweep(at(11));
    assert_eq!((store.stats().keys, store.stats().reclaimed), (0, 1));
}

#[test]
fn a_sweep_gives_the_memory_of_a_flood_back() {
    let store = MemoryStore::new();
    let empty = store.stats().bytes;
    flood(&store, "flood", 300_000, &per_second(10), at(0));
    let log = Limit::sliding_window_log(10, Duration::from_secs(1)).unwrap();
    flood(&store, "log", 10_000, &log, at(0));
    assert!(store.stats().bytes > 300_000 * 32);
    let _ = store.decide(b"stays", &Limit::fixed_window(9, Duration::from_secs(86_400)).unwrap(), 1, at(0));
    store.sweep(at(5));
    let stats = store.stats();
    assert_eq!((stats.keys, stats.evicted_alive), (1, 0));
    assert!(stats.bytes < empty + 100_000, "{stats:?}, {empty} bytes when empty");
}

#[test]
fn insertions_alone_give_the_memory_of_a_flood_back() {
    let store = MemoryStore::new();
    flood(&store, "flood", 100_000, &per_second(10), at(0));
    let full = store.stats().bytes;
    for second in 5..40 {
        flood(&store, &format!("quiet {second}"), 6_000, &per_second(10), at(second));
    }
    let stats = store.stats();
    assert!(stats.bytes < full / 2, "{} of {full} bytes: {stats:?}", stats.bytes);
}

#[test]
fn bytes_stay_within_the_budget() {
    for bytes in [64 << 10, 1 << 20, 8 << 20] {
        let store = MemoryStore::builder().max_bytes(bytes).seed(3, 4).build().unwrap();
        let limits = [
            per_second(10),
            Limit::sliding_window_log(1_000, Duration::from_secs(86_400)).unwrap(),
            Limit::fixed_window(1, Duration::from_secs(86_400)).unwrap(),
            Limit::sliding_window_log(1, Duration::from_secs(86_400)).unwrap(),
        ];
        for i in 0_u64..200_000 {
            for limit in &limits {
                let key = format!("{} of {limit}", i % 60_000);
                let _ = store.decide(key.as_bytes(), limit, 1, at(i / 10_000));
            }
            if i % 10_000 == 0 {
                let stats = store.stats();
                assert!(stats.bytes <= bytes + bytes / 50, "{bytes}: {stats:?}");
            }
        }
    }
}

#[test]
fn a_log_without_memory_gets_coarser_and_never_looser() {
    let store = MemoryStore::builder().max_bytes(16 << 10).shards(1).build().unwrap();
    let window = Duration::from_secs(60);
    let limit = Limit::sliding_window_log(5_000, window).unwrap();
    let mut admitted: Vec<u64> = Vec::new();
    for tick in 0..60_000_u64 {
        let now = START + tick * 5_000;
        if store.decide(b"log", &limit, 1, Timestamp::from_micros(now)).is_admitted() {
            admitted.push(now);
        }
    }
    for pair in admitted.windows(5_001) {
        assert!(pair[5_000] - pair[0] >= 60_000_000, "more than 5000 in a minute");
    }
    let stats = store.stats();
    assert!(stats.coarsened > 0 && stats.bytes <= 17 << 10, "{stats:?}");
    // 300 seconds of twelve thousand a minute, of which five thousand may pass: a little less does.
    assert!(admitted.len() > 20_000, "{} admitted", admitted.len());
}

#[test]
fn a_reset_key_starts_anew() {
    let store = MemoryStore::new();
    let log = Limit::sliding_window_log(1, Duration::from_secs(60)).unwrap();
    let key = cupo_core::Key::builder("k").build();
    assert!(store.decide(key.as_bytes(), &log, 1, at(0)).is_admitted());
    assert!(!store.decide(key.as_bytes(), &log, 1, at(0)).is_admitted());
    assert!(store.reset(&key));
    assert!(!store.reset(&key));
    assert!(store.decide(key.as_bytes(), &log, 1, at(0)).is_admitted());
}

#[test]
fn a_step_back_behind_what_was_reclaimed_holds_the_clock() {
    let limit = Limit::fixed_window(1, Duration::from_secs(100)).unwrap();
    let check = cupo_core::Check::one(cupo_core::Key::builder("k").build(), limit, 1);
    let store = MemoryStore::builder().shards(1).build().unwrap();
    assert!(store.execute(&check, at(0)).is_admitted());
    store.sweep(at(500));
    assert_eq!(store.stats().keys, 0);
    // The window that the key has used is forgotten. Its time does not come again.
    let executed = store.execute(&check, at(1));
    assert_eq!(executed.at, at(100), "held where the forgotten window ended");
    assert!(executed.is_admitted(), "the next window's only unit");
    assert!(!store.execute(&check, at(2)).is_admitted());
    // A clock that is further behind was wrong before.
    let behind = Timestamp::from_micros(START - 4_000_000_000);
    assert_eq!(store.execute(&cupo_core::Check::new(), behind).at, behind);
    let other = cupo_core::Check::one(cupo_core::Key::builder("other").build(), limit, 1);
    assert_eq!(store.execute(&other, behind).at, behind);
}
