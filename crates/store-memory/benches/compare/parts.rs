//! What a decision is made of, and what other hashes would cost.

use cupo_core::{Clock, SystemClock};
use siphasher::sip::SipHasher13;
use siphasher::sip128::SipHasher13 as SipHasher13Long;

use crate::sides::{key, next, roomy, write_key};
use crate::time::{contender, medians};

/// Does one part of a decision for the key in these bytes.
type Part<'a> = Box<dyn Fn(&[u8; 40]) + 'a>;

fn see<T>(value: T) {
    std::hint::black_box(value);
}

const DECISIONS: u64 = 200_000;

pub(crate) fn run() {
    println!("\nparts of a decision, 1 thread");
    let (short, long) = (SipHasher13::new_with_keys(1, 2), SipHasher13Long::new_with_keys(1, 2));
    let clock = SystemClock::new();
    let limit = roomy();
    let lock = parking_lot::Mutex::new(0_u64);
    let time = &|work: &dyn Fn(&[u8; 40])| {
        let mut random = 88_172_645_463_325_252;
        let mut buffer = [b'k'; 40];
        let start = std::time::Instant::now();
        for _ in 0..DECISIONS {
            write_key(&mut buffer, next(&mut random));
            work(&buffer);
        }
        start.elapsed().as_nanos() as f64 / DECISIONS as f64
    };
    let parts: [(&str, Part<'_>); 7] = [
        ("nothing but the bytes", Box::new(|bytes| see(*bytes))),
        ("building the key", Box::new(|bytes| see(key(bytes)))),
        ("... SipHash-1-3, 128 bits", Box::new(move |b| see(long.hash(key(b).as_bytes())))),
        ("... SipHash-1-3, 64 bits", Box::new(move |b| see(short.hash(key(b).as_bytes())))),
        ("reading the clock", Box::new(move |_| see(clock.now()))),
        ("an uncontended lock", Box::new(move |_| *lock.lock() += 1)),
        (
            "deciding (token bucket)",
            Box::new(move |_| {
                let (_, change) = limit.decide(None, cupo_core::Timestamp::from_micros(1), 1);
                let mut state = None;
                limit.apply(&mut state, change);
                see(limit.decide(state.as_ref(), cupo_core::Timestamp::from_micros(9), 1));
            }),
        ),
    ];
    let mut contenders: Vec<_> =
        parts.iter().map(|(_, work)| contender(move || time(work.as_ref()))).collect();
    let ns = medians(101, &mut contenders);
    for ((name, _), ns) in parts.iter().zip(ns) {
        println!("  {name:<28} {ns:>6.1} ns");
    }
}
