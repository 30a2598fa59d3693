//! Many threads: what is admitted is exactly what would be if they came one after the other.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Barrier;
use std::thread;

use cupo_core::{Algorithm, Check, Limit, Rate, Timestamp};

use super::{Setup, check_of, execute, key};
use crate::bound::units_within;
use crate::calendars;

pub(super) const THREADS: u64 = 8;
const ROUNDS: u64 = 12;

/// A limit of `algorithm` with this quota, and one hour to get it back.
fn limit(algorithm: Algorithm, quota: u64) -> Limit {
    let hour = Duration::from_secs(3_600);
    match algorithm {
        Algorithm::FixedWindow => Limit::fixed_window(quota, hour),
        Algorithm::SlidingWindowLog => Limit::sliding_window_log(quota, hour),
        Algorithm::SlidingWindowCounter => Limit::sliding_window_counter(quota, hour),
        Algorithm::TokenBucket => Limit::token_bucket(quota, Rate::new(quota, hour)),
        Algorithm::LeakyBucket => Limit::leaky_bucket(Rate::new(quota, hour), quota - 1),
    }
    .expect("an ordinary limit")
}

/// The same, and the variants of a fixed window.
pub(super) fn limits(algorithm: Algorithm, quota: u64) -> Vec<Limit> {
    let mut limits = vec![limit(algorithm, quota)];
    if algorithm == Algorithm::FixedWindow {
        let variants = [
            Limit::fixed_window_from_first(quota, Duration::from_secs(3_600)),
            Limit::fixed_window_of(quota, calendars::number(3)),
        ];
        limits.extend(variants.map(|limit| limit.expect("an ordinary limit")));
    }
    limits
}

const NOW: Timestamp = Timestamp::from_micros(1_760_000_000_000_000);

/// Runs `ask` on every thread at once; the sum of what it returns.
pub(super) fn all_at_once(ask: impl Fn(u64) -> u64 + Sync) -> Vec<u64> {
    let start = Barrier::new(usize::try_from(THREADS).unwrap());
    thread::scope(|scope| {
        let thread = |n| {
            let (ask, start) = (&ask, &start);
            scope.spawn(move || {
                start.wait();
                ask(n)
            })
        };
        let threads: Vec<_> = (0..THREADS).map(thread).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

fn remaining<S: Setup>(setup: &S, store: &S::Store, n: u64, limit: Limit) -> u64 {
    execute(setup, store, &Check::one(key(n), limit, 0), NOW).decisions[0].remaining
}

/// Every thread asks for more than its share of one key: exactly the quota is admitted, never a unit more or less.
pub fn concurrent_admissions_on_one_key<S: Setup>(setup: &S) {
    for algorithm in Algorithm::ALL {
        for round in 0..ROUNDS {
            let quota = 20 + round * 7;
            for limit in limits(algorithm, quota) {
                let store = setup.store();
                let check = Check::one(key(0), limit, 1);
                let admitted = all_at_once(|_| {
                    (0..quota / 4).map(|_| u64::from(execute(setup, &store, &check, NOW).is_admitted())).sum()
                });
                let sum: u64 = admitted.iter().sum();
                assert_eq!(sum, quota.min(THREADS * (quota / 4)), "{limit}: {admitted:?} were admitted");
                assert_eq!(remaining(setup, &store, 0, limit), quota - sum, "{limit}");
            }
        }
    }
}

/// Every thread asks for a key of its own, one that all share, and one that its neighbour has too, in an order of its own:
/// what each key was charged is exactly what was admitted.
pub fn concurrent_admissions_on_overlapping_keys<S: Setup>(setup: &S) {
    for (round, algorithm) in (0..ROUNDS).zip(Algorithm::ALL.into_iter().cycle()) {
        let shared = limit(algorithm, 60);
        let wide = limit(Algorithm::ALL[usize::try_from(round % 5).unwrap()], 1_000);
        let ring = limit(Algorithm::TokenBucket, 17);
        let store = setup.store();
        let (own_key, ring_key) = (|n: u64| 100 + n, |n: u64| 200 + n % THREADS);
        let admitted = all_at_once(|n| {
            let mut items = vec![(0, shared, 1), (own_key(n), wide, 2), (ring_key(n), ring, 1)];
            items.push((ring_key(n + 1), ring, 1));
            items.rotate_left(usize::try_from(n % 4).unwrap());
            if n % 2 == 1 {
                items.reverse();
            }
            let check = check_of(items);
            (0..20).map(|_| u64::from(execute(setup, &store, &check, NOW).is_admitted())).sum()
        });
        let sum: u64 = admitted.iter().sum();
        assert_eq!(remaining(setup, &store, 0, shared), 60 - sum, "{shared}: {admitted:?}");
        let mut full = sum == 60;
        for n in 0..THREADS {
            let (this, neighbour) = (admitted[usize::try_from(n).unwrap()], (n + THREADS - 1) % THREADS);
            let both = this + admitted[usize::try_from(neighbour).unwrap()];
            assert_eq!(remaining(setup, &store, own_key(n), wide), 1_000 - 2 * this, "{wide}: {admitted:?}");
            assert_eq!(remaining(setup, &store, ring_key(n), ring), 17 - both, "{ring}: {admitted:?}");
            full |= both == 17;
        }
        assert!(full, "nothing is full, yet something was denied: {admitted:?}");
    }
}

/// Every thread asks while the clock moves on: all together stay within the algorithm's bound.
pub fn concurrent_admissions_over_time<S: Setup>(setup: &S) {
    for algorithm in Algorithm::ALL {
        let limit = limit(algorithm, 50);
        let store = setup.store();
        let check = Check::one(key(0), limit, 1);
        let clock = AtomicU64::new(NOW.as_micros());
        let step = 10_000_000;
        let admitted = all_at_once(|_| {
            let ask = |_| {
                let now = Timestamp::from_micros(clock.fetch_add(step, Ordering::SeqCst));
                u64::from(execute(setup, &store, &check, now).is_admitted())
            };
            (0..40).map(ask).sum()
        });
        let sum: u64 = admitted.iter().sum();
        let span = clock.into_inner() - step - NOW.as_micros();
        let most = units_within(limit.params(), limit.resolution().tick(Timestamp::from_micros(span)));
        assert!(i128::from(sum) <= most, "{limit}: {sum} in {span} µs, at most {most}");
        assert!(sum >= 50, "{limit}: only {sum} in {span} µs");
    }
}
