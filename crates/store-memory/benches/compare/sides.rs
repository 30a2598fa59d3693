//! The two sides, each with a key of 40 bytes that is written anew for every decision.

use core::time::Duration;
use std::num::NonZeroU32;

use cupo_core::{Algorithm, Clock, Key, Limit, Rate, SystemClock};
use cupo_store_memory::MemoryStore;
use governor::clock::{Clock as GovernorClock, MonotonicClock, QuantaClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

pub(crate) const KEYS: u64 = 1_000_000;
const KEY: &[u8; 40] = b"tenant-4711/user-account-xxxxxxxxxxxxxxx";

/// Writes key number `n` into its buffer.
#[inline]
pub(crate) fn write_key(buffer: &mut [u8], n: u64) {
    for (i, byte) in buffer[25..40].iter_mut().enumerate() {
        *byte = b'a' + ((n >> (4 * i)) & 15) as u8;
    }
}

/// A cheap and even sequence of key numbers.
#[inline]
pub(crate) fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    ((u128::from(*random) * u128::from(KEYS)) >> 64) as u64
}

pub(crate) trait Side: Sync {
    /// Makes `decisions` decisions on random keys, or all on one.
    fn decide(&self, thread: u64, decisions: u64, one_key: bool);
    /// One decision on each of `keys` keys.
    fn fill(&self, keys: u64);
}

pub(crate) struct Ours<C = SystemClock> {
    pub(crate) store: MemoryStore,
    pub(crate) limit: Limit,
    pub(crate) clock: C,
}

impl Ours {
    pub(crate) fn new(limit: Limit) -> Self {
        Self { store: MemoryStore::new(), limit, clock: SystemClock::new() }
    }

    /// A million logs do not fit into the default budget.
    pub(crate) fn with_room_for_logs(limit: Limit) -> Self {
        let store = match limit.algorithm() {
            Algorithm::SlidingWindowLog => MemoryStore::builder().max_bytes(512 << 20).build().unwrap(),
            _ => MemoryStore::new(),
        };
        Self { store, limit, clock: SystemClock::new() }
    }
}

pub(crate) fn key(bytes: &[u8]) -> Key {
    Key::builder("r").part(1, "", bytes).build()
}

impl<C: Clock> Side for Ours<C> {
    fn decide(&self, thread: u64, decisions: u64, one_key: bool) {
        let (mut buffer, mut random) = (*KEY, 0x9e37_79b9_7f4a_7c15 + thread);
        for _ in 0..decisions {
            write_key(&mut buffer, if one_key { 7 } else { next(&mut random) });
            let decision = self.store.decide(&buffer, &self.limit, 1, self.clock.now());
            std::hint::black_box(decision);
        }
    }

    fn fill(&self, keys: u64) {
        let mut buffer = *KEY;
        for n in 0..keys {
            write_key(&mut buffer, n);
            let _ = self.store.decide(&buffer, &self.limit, 1, self.clock.now());
        }
    }
}

/// Ours, with a key of parts.
pub(crate) struct AsKey(pub(crate) Ours);

impl Side for AsKey {
    fn decide(&self, thread: u64, decisions: u64, one_key: bool) {
        let (mut buffer, mut random) = (*KEY, 0x9e37_79b9_7f4a_7c15 + thread);
        for _ in 0..decisions {
            write_key(&mut buffer, if one_key { 7 } else { next(&mut random) });
            let key = key(&buffer);
            std::hint::black_box(self.0.store.decide(key.as_bytes(), &self.0.limit, 1, self.0.clock.now()));
        }
    }

    fn fill(&self, keys: u64) {
        let mut buffer = *KEY;
        for n in 0..keys {
            write_key(&mut buffer, n);
            let key = key(&buffer);
            let _ = self.0.store.decide(key.as_bytes(), &self.0.limit, 1, self.0.clock.now());
        }
    }
}

/// Ours, asked as the engine asks: with a check.
pub(crate) struct AsCheck(pub(crate) Ours);

impl Side for AsCheck {
    fn decide(&self, thread: u64, decisions: u64, one_key: bool) {
        let (mut buffer, mut random) = (*KEY, 0x9e37_79b9_7f4a_7c15 + thread);
        for _ in 0..decisions {
            write_key(&mut buffer, if one_key { 7 } else { next(&mut random) });
            let check = cupo_core::Check::one(key(&buffer), self.0.limit, 1);
            std::hint::black_box(self.0.store.execute(&check, self.0.clock.now()));
        }
    }

    fn fill(&self, keys: u64) {
        let mut buffer = *KEY;
        for n in 0..keys {
            write_key(&mut buffer, n);
            let key = key(&buffer);
            let _ = self.0.store.decide(key.as_bytes(), &self.0.limit, 1, self.0.clock.now());
        }
    }
}

pub(crate) struct Governor<C: GovernorClock>(
    RateLimiter<String, DashMapStateStore<String>, C, NoOpMiddleware<C::Instant>>,
);

impl Governor<MonotonicClock> {
    /// With the operating system's clock, as ours.
    pub(crate) fn monotonic(burst: u32, each: Duration) -> Self {
        Self(RateLimiter::dashmap_with_clock(quota(burst, each), MonotonicClock))
    }
}

impl Governor<QuantaClock> {
    /// With the processor's counter, its default.
    pub(crate) fn quanta(burst: u32, each: Duration) -> Self {
        Self(RateLimiter::dashmap_with_clock(quota(burst, each), QuantaClock::default()))
    }
}

fn quota(burst: u32, each: Duration) -> Quota {
    Quota::with_period(each).unwrap().allow_burst(NonZeroU32::new(burst).unwrap())
}

impl<C: GovernorClock + Sync> Side for Governor<C> {
    fn decide(&self, thread: u64, decisions: u64, one_key: bool) {
        let (mut buffer, mut random) = (*KEY, 0x9e37_79b9_7f4a_7c15 + thread);
        let mut text = String::from_utf8(KEY.to_vec()).unwrap();
        for _ in 0..decisions {
            write_key(&mut buffer, if one_key { 7 } else { next(&mut random) });
            text.clear();
            // What a caller has is text; checking that again is not governor's to pay for.
            #[allow(unsafe_code, reason = "the buffer is ASCII")]
            text.push_str(unsafe { std::str::from_utf8_unchecked(&buffer) });
            let _ = std::hint::black_box(self.0.check_key(&text));
        }
    }

    fn fill(&self, keys: u64) {
        let mut buffer = *KEY;
        for n in 0..keys {
            write_key(&mut buffer, n);
            let _ = self.0.check_key(&String::from_utf8(buffer.to_vec()).unwrap());
        }
    }
}

/// The burst of a bucket that always has room, so that every decision writes.
pub(crate) const MANY: u32 = 1_000_000_000;
pub(crate) const NANOSECOND: Duration = Duration::from_nanos(1);

/// A bucket that holds [`MANY`] and gets one each [`NANOSECOND`].
pub(crate) fn roomy() -> Limit {
    Limit::token_bucket(MANY.into(), Rate::new(1_000, Duration::from_micros(1))).unwrap()
}

/// A bucket that holds `burst` and gets one `each`.
pub(crate) fn bucket(burst: u32, each: Duration) -> Limit {
    Limit::token_bucket(burst.into(), Rate::new(1, each)).unwrap()
}

/// One limit of each algorithm.
pub(crate) fn algorithms(count: u64, window: Duration) -> [Limit; 5] {
    let rate = Rate::new(count, window);
    [
        Limit::fixed_window(count, window).unwrap(),
        Limit::sliding_window_log(count.min(100), window).unwrap(),
        Limit::sliding_window_counter(count, window).unwrap(),
        Limit::token_bucket(count, rate).unwrap(),
        Limit::leaky_bucket(rate, count).unwrap(),
    ]
}

/// So slow that no key comes to rest while it is measured.
pub(crate) const SLOW: Duration = Duration::from_secs(86);
