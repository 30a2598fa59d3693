//! The sliding window log, whose memory and time depend on its count.

use core::time::Duration;

use cupo_core::{Limit, Timestamp};
use cupo_store_memory::MemoryStore;

use crate::bytes::live;
use crate::sides::write_key;
use crate::time::{medians, per_decision};

const KEYS: u64 = 2_000;
const START: u64 = 1_700_000_000_000_000;
const WINDOW: u64 = 60_000_000;

pub(crate) fn run() {
    println!("\nsliding_window_log, {KEYS} keys, every log full, virtual time");
    println!("  {:>5}  {:>13}  {:>10}  {:>10}", "count", "bytes per key", "admit, ns", "deny, ns");
    for count in [10_u64, 100, 1_000] {
        let limit = Limit::sliding_window_log(count, Duration::from_micros(WINDOW)).unwrap();
        let before = live();
        let store = MemoryStore::builder().max_bytes(256 << 20).build().unwrap();
        let mut buffer = [b'k'; 40];
        let mut ask = |n: u64, now: u64| {
            write_key(&mut buffer, n);
            store.decide(&buffer, &limit, 1, Timestamp::from_micros(now))
        };
        // Evenly spaced requests that fill each log exactly.
        let step = WINDOW / count;
        for i in 0..count {
            for n in 0..KEYS {
                assert!(ask(n, START + i * step).is_admitted());
            }
        }
        let bytes = (live() - before) as f64 / KEYS as f64;
        let clock = std::sync::atomic::AtomicU64::new(START + WINDOW);
        let round = |advance: u64| {
            let (store, limit, clock) = (&store, &limit, &clock);
            per_decision(1, KEYS * 10, move |_, decisions| {
                let mut buffer = [b'k'; 40];
                for i in 0..decisions {
                    let n = i % KEYS;
                    if n == 0 {
                        clock.fetch_add(advance, std::sync::atomic::Ordering::Relaxed);
                    }
                    let now = clock.load(std::sync::atomic::Ordering::Relaxed);
                    write_key(&mut buffer, n);
                    let decision = store.decide(&buffer, limit, 1, Timestamp::from_micros(now));
                    std::hint::black_box(decision);
                }
            })
        };
        let ns = medians(41, &mut [Box::new(|| round(step)), Box::new(|| round(0))]);
        println!("  {count:>5}  {bytes:>13.1}  {:>10.1}  {:>10.1}", ns[0], ns[1]);
    }
}
