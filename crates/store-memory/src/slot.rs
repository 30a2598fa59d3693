//! A key and its state in 32 bytes: two to a cache line, none across two.
//!
//! ```text
//! order   64 bits   place and identity of the key; 0 = empty
//! head    24 bits   the rest of the identity
//!          1 bit    whether the state counts in milliseconds
//!          3 bits   kind of state
//!          3 bits   how hard the limit is pressed
//!         33 bits   the second from which on the state is at rest
//! low     64 bits   ┐ a bucket: instant, parts        a fixed window: start or end, count
//! high    64 bits   ┘ a window counter: start (52 bits), previous, current (38 bits each)
//! ```
//!
//! What does not fit (the sliding log; a window counter with more than 2^38 units) lies in the shard's heap, and the slot
//! holds its number.

use cupo_core::algorithm::{ending_window, fixed_window, leaky_bucket, sliding_window_counter, token_bucket};
use cupo_core::{Decision, Resolution, State, Timestamp, Verdict};

use crate::fingerprint::Fingerprint;

/// See the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(32))]
pub(crate) struct Slot {
    order: u64,
    head: u64,
    low: u64,
    high: u64,
}

/// Bytes of a slot.
pub(crate) const SLOT_BYTES: usize = size_of::<Slot>();

/// How hard a limit is pressed: from 0, where at least half of it remains, over one step for each halving of what remains to
/// [`Pressure::ACTIVE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pressure(u8);

impl Pressure {
    /// Nothing remains, or the last request was denied: the key is under active limitation.
    pub(crate) const ACTIVE: Self = Self(7);

    /// What a decision says about its key.
    #[inline]
    pub(crate) fn of(decision: &Decision) -> Self {
        if decision.remaining == 0 || matches!(decision.verdict, Verdict::Deny { .. }) {
            return Self::ACTIVE;
        }
        let halvings = decision.remaining.leading_zeros().saturating_sub(decision.limit.leading_zeros());
        Self(u8::try_from(halvings).unwrap_or(6).min(6))
    }
}

/// What a slot holds of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// The state.
    Inline(State),
    /// The number of the state in the shard's heap.
    OnHeap(usize),
}

const FIXED_WINDOW: u64 = 0;
const SLIDING_WINDOW_COUNTER: u64 = 1;
const TOKEN_BUCKET: u64 = 2;
const LEAKY_BUCKET: u64 = 3;
const ON_HEAP: u64 = 4;
const ENDING_WINDOW: u64 = 5;

const IDENT: Field = Field { shift: 40, bits: 24 };
const MILLIS: Field = Field { shift: 39, bits: 1 };
const KIND: Field = Field { shift: 36, bits: 3 };
const PRESSURE: Field = Field { shift: 33, bits: 3 };
const REST: Field = Field { shift: 0, bits: 33 };

/// Bits of [`Slot::head`].
#[derive(Clone, Copy)]
struct Field {
    shift: u32,
    bits: u32,
}

impl Field {
    const fn max(self) -> u64 {
        (1 << self.bits) - 1
    }

    const fn get(self, head: u64) -> u64 {
        (head >> self.shift) & self.max()
    }

    const fn set(self, head: u64, value: u64) -> u64 {
        (head & !(self.max() << self.shift)) | ((value & self.max()) << self.shift)
    }
}

impl Slot {
    /// A slot without a key. Its order is below every key's.
    pub(crate) const EMPTY: Self = Self { order: 0, head: 0, low: 0, high: 0 };

    /// The slot of a key, with a state yet to be [held](Self::hold).
    pub(crate) fn of(key: &Fingerprint) -> Self {
        Self { order: key.order, head: IDENT.set(0, u64::from(key.ident)), ..Self::EMPTY }
    }

    /// The order of the key; 0 where the slot is empty.
    #[inline]
    pub(crate) const fn order(&self) -> u64 {
        self.order
    }

    /// Whether there is no key in the slot.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.order == 0
    }

    /// Whether the slot is the one of `key`.
    #[inline]
    pub(crate) fn is_of(&self, key: &Fingerprint) -> bool {
        self.order == key.order && IDENT.get(self.head) == u64::from(key.ident)
    }

    /// The key's fingerprint, without its spare bits.
    pub(crate) fn key(&self) -> Fingerprint {
        let ident = u32::try_from(IDENT.get(self.head)).unwrap_or(0);
        Fingerprint { order: self.order, ident, spare: 0 }
    }

    /// The state, or `None` where it counts in other ticks than `resolution`.
    #[inline]
    pub(crate) fn held(&self, resolution: Resolution) -> Option<Held> {
        if MILLIS.get(self.head) != millis(resolution) {
            return None;
        }
        let Self { low, high, .. } = *self;
        Some(Held::Inline(match KIND.get(self.head) {
            FIXED_WINDOW => State::FixedWindow(fixed_window::State { start: low, count: high }),
            ENDING_WINDOW => State::EndingWindow(ending_window::State { end: low, count: high }),
            TOKEN_BUCKET => State::TokenBucket(token_bucket::State { at: low, missing: high }),
            LEAKY_BUCKET => State::LeakyBucket(leaky_bucket::State { at: low, backlog: high }),
            SLIDING_WINDOW_COUNTER => {
                let (start, previous) = (low & MAX_START, (high >> 38 << 12) | (low >> 52));
                let current = high & MAX_COUNT;
                State::SlidingWindowCounter(sliding_window_counter::State { start, previous, current })
            }
            _ => return self.heap_number().map(Held::OnHeap),
        }))
    }

    /// The number of the state in the shard's heap, if it lies there.
    #[inline]
    pub(crate) fn heap_number(&self) -> Option<usize> {
        if KIND.get(self.head) == ON_HEAP { usize::try_from(self.low).ok() } else { None }
    }

    /// Takes the state in, if it fits.
    #[inline(always)]
    pub(crate) fn hold(&mut self, state: &State, resolution: Resolution) -> bool {
        let (kind, low, high) = match *state {
            State::FixedWindow(s) => (FIXED_WINDOW, s.start, s.count),
            State::EndingWindow(s) => (ENDING_WINDOW, s.end, s.count),
            State::TokenBucket(s) => (TOKEN_BUCKET, s.at, s.missing),
            State::LeakyBucket(s) => (LEAKY_BUCKET, s.at, s.backlog),
            State::SlidingWindowCounter(s)
                if s.start <= MAX_START && s.previous <= MAX_COUNT && s.current <= MAX_COUNT =>
            {
                let low = s.start | (s.previous & 0xfff) << 52;
                (SLIDING_WINDOW_COUNTER, low, (s.previous >> 12 << 38) | s.current)
            }
            State::SlidingWindowCounter(_) | State::SlidingWindowLog(_) => return false,
        };
        self.set(kind, low, high, resolution);
        true
    }

    /// Takes in the number of a state in the shard's heap.
    pub(crate) fn hold_on_heap(&mut self, number: usize, resolution: Resolution) {
        self.set(ON_HEAP, number as u64, 0, resolution);
    }

    #[inline]
    fn set(&mut self, kind: u64, low: u64, high: u64, resolution: Resolution) {
        self.head = MILLIS.set(KIND.set(self.head, kind), millis(resolution));
        (self.low, self.high) = (low, high);
    }

    /// How hard the limit is pressed.
    #[inline]
    pub(crate) fn pressure(&self) -> Pressure {
        Pressure(u8::try_from(PRESSURE.get(self.head)).unwrap_or(7))
    }

    /// The same state under another number of the heap.
    pub(crate) const fn renumber(&mut self, number: usize) {
        self.low = number as u64;
    }

    /// Notes how hard the limit is pressed.
    #[inline]
    pub(crate) fn press(&mut self, pressure: Pressure) {
        self.head = PRESSURE.set(self.head, u64::from(pressure.0));
    }

    /// Notes a denial: the key is under active limitation.
    #[inline]
    pub(crate) fn note(&mut self, decision: &Decision) {
        if matches!(decision.verdict, Verdict::Deny { .. }) && self.pressure() != Pressure::ACTIVE {
            self.press(Pressure::ACTIVE);
        }
    }

    /// Notes when the state is at rest.
    #[inline]
    pub(crate) fn rest_at(&mut self, expires_at: Timestamp) {
        // A second on top: callers that read the clock one after the other may arrive the other way round.
        self.head = REST.set(self.head, expires_at.as_secs_ceil().saturating_add(1));
    }

    /// The second from which on the state is at rest.
    #[inline]
    pub(crate) const fn rests_at(&self) -> u64 {
        REST.get(self.head)
    }

    /// Whether the state is at rest at second `now`: as good as absent.
    #[inline]
    pub(crate) const fn is_at_rest(&self, now: u64) -> bool {
        self.rests_at() <= now
    }
}

const MAX_START: u64 = (1 << 52) - 1;
const MAX_COUNT: u64 = (1 << 38) - 1;

const fn millis(resolution: Resolution) -> u64 {
    match resolution {
        Resolution::Micros => 0,
        Resolution::Millis => 1,
    }
}

#[cfg(test)]
#[path = "slot_tests.rs"]
mod tests;
