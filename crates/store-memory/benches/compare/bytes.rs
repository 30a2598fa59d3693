//! Bytes per key, as the allocator counts them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use cupo_core::SystemClock;
use cupo_store_memory::MemoryStore;

use crate::sides::{Governor, Ours, SLOW, Side, bucket};

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counting what is asked of it.
pub(crate) struct Counting;

#[allow(unsafe_code, reason = "an allocator is unsafe by its signature; this one passes everything on")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Bytes that are live now.
pub(crate) fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

pub(crate) fn run() {
    println!("\nbytes allocated per key of 40 bytes");
    println!("  {:>9}  {:>8}  {:>6}  {:>6}", "keys", "governor", "cupo", "ratio");
    for keys in
        [1_000, 10_000, 100_000, 500_000, 700_000, 900_000, 1_000_000, 1_200_000, 1_500_000, 2_000_000]
    {
        let theirs = cost(keys, || Governor::monotonic(1_000, SLOW));
        let ours = cost(keys, || Ours {
            store: MemoryStore::builder().max_bytes(128 << 20).build().unwrap(),
            limit: bucket(1_000, SLOW),
            clock: SystemClock::new(),
        });
        println!("  {keys:>9}  {theirs:>8.1}  {ours:>6.1}  {:>6.3}", ours / theirs);
    }
}

fn cost<S: Side>(keys: u64, make: impl Fn() -> S) -> f64 {
    let before = live();
    let side = make();
    side.fill(keys);
    let bytes = live() - before;
    drop(side);
    bytes as f64 / keys as f64
}
