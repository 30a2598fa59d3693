//! Many threads: the total admitted is exactly what one thread would admit, and nobody waits for ever.

#![allow(missing_docs, clippy::unwrap_used)]

use core::time::Duration;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use cupo_core::{Check, Key, Limit, Rate, Timestamp};
use cupo_store_memory::MemoryStore;

const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);
const HOUR: Duration = Duration::from_secs(3_600);
const THREADS: usize = 8;

fn limits(count: u64) -> [Limit; 5] {
    [
        Limit::fixed_window(count, HOUR).unwrap(),
        Limit::sliding_window_log(count, HOUR).unwrap(),
        Limit::sliding_window_counter(count, HOUR).unwrap(),
        Limit::token_bucket(count, Rate::new(1, HOUR)).unwrap(),
        Limit::leaky_bucket(Rate::new(1, HOUR), count - 1).unwrap(),
    ]
}

fn key(name: usize) -> Key {
    Key::builder("stress").part(1, "", &name.to_le_bytes()).build()
}

/// Runs `work` in many threads that start together, and adds up what it returns.
fn total(work: impl Fn(usize) -> u64 + Sync) -> u64 {
    let (barrier, sum) = (Barrier::new(THREADS), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, sum, work) = (&barrier, &sum, &work);
            scope.spawn(move || {
                barrier.wait();
                sum.fetch_add(work(thread), Ordering::SeqCst);
            });
        }
    });
    sum.into_inner()
}

#[test]
fn one_key_admits_exactly_its_limit() {
    for limit in limits(5_000) {
        let store = MemoryStore::new();
        let admitted = total(|_| {
            let asked = 0..2_000;
            asked.filter(|_| store.decide(b"hot", &limit, 1, NOW).is_admitted()).count() as u64
        });
        assert_eq!(admitted, 5_000, "{limit}");
    }
}

#[test]
fn one_key_with_several_costs_charges_exactly_what_it_admitted() {
    for limit in limits(5_000) {
        let store = MemoryStore::new();
        let charged = total(|thread| {
            let cost = [1, 2, 3, 7][thread % 4];
            (0..1_000).filter(|_| store.decide(b"hot", &limit, cost, NOW).is_admitted()).count() as u64 * cost
        });
        let left = store.decide(b"hot", &limit, 0, NOW).remaining;
        assert_eq!(charged + left, 5_000, "{limit}");
        assert_eq!(left, 0, "{limit}: costs of one fill what is left");
    }
}

#[test]
fn one_set_in_every_order_admits_what_its_tightest_limit_admits() {
    let store = MemoryStore::new();
    let limits: Vec<Limit> = [900, 700, 1_100, 800, 1_000]
        .iter()
        .zip(limits(1))
        .map(|(count, kind)| {
            limits(*count).into_iter().find(|limit| limit.algorithm() == kind.algorithm()).unwrap()
        })
        .collect();
    let admitted = total(|thread| {
        let mut check = Check::new();
        for i in 0..limits.len() {
            // Rotated, and every other thread backwards: whatever two threads hold, the others want it.
            let i = (i + thread) % limits.len();
            let i = if thread % 2 == 0 { i } else { limits.len() - 1 - i };
            check.push(key(i), limits[i], 1).unwrap();
        }
        (0..500).filter(|_| store.execute(&check, NOW).is_admitted()).count() as u64
    });
    assert_eq!(admitted, 700);
    for (i, limit) in limits.iter().enumerate() {
        let left = store.decide(key(i).as_bytes(), limit, 0, NOW).remaining;
        assert_eq!(left, limit.quota() - 700, "{limit}: a denied check was charged in part");
    }
}

#[test]
fn overlapping_sets_charge_all_or_nothing() {
    const KEYS: usize = 12;
    let store = MemoryStore::new();
    let limit = |i: usize| limits(50 + i as u64)[i % 5];
    let admitted: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    total(|thread| {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread as u64 + 1);
        for _ in 0..4_000 {
            let mut check = Check::new();
            let mut chosen = Vec::new();
            while chosen.len() < 4 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let i = usize::try_from(random % KEYS as u64).unwrap();
                if check.push(key(i), limit(i), 1).is_ok() {
                    chosen.push(i);
                }
            }
            let executed = store.execute(&check, NOW);
            if executed.is_admitted() {
                for i in chosen {
                    admitted[i].fetch_add(1, Ordering::SeqCst);
                }
            }
        }
        0
    });
    let mut exhausted = 0;
    for (i, admitted) in admitted.iter().enumerate() {
        let (limit, admitted) = (limit(i), admitted.load(Ordering::SeqCst));
        let left = store.decide(key(i).as_bytes(), &limit, 0, NOW).remaining;
        assert_eq!(left, limit.quota() - admitted, "{limit}");
        exhausted += usize::from(left == 0);
    }
    // Nothing that still fitted was denied: any four keys with room would have been drawn dozens of times.
    assert!(exhausted > KEYS - 4, "{exhausted} of {KEYS}");
}

#[test]
fn a_full_store_stays_bounded_under_threads() {
    let store = MemoryStore::builder().max_keys(2_000).build().unwrap();
    let limit = Limit::fixed_window(1, HOUR).unwrap();
    let admitted = total(|thread| {
        (0..10_000_usize)
            .filter(|i| store.decide(format!("{thread} {i}").as_bytes(), &limit, 1, NOW).is_admitted())
            .count() as u64
    });
    let stats = store.stats();
    assert!(stats.keys <= 2_000, "{stats:?}");
    assert_eq!(admitted, (stats.keys + stats.groups) as u64, "{stats:?}");
}
