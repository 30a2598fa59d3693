//! Answers denials from memory while they certainly hold.
//!
//! Once the store has denied a key with "not before t", nothing but a refund, a cancelled slot, a reset or another limit makes
//! room earlier: whatever else is admitted only makes it later. So the same request is denied here until t, and for a second at the
//! most, which bounds how late those exceptions are seen and needs no channel between replicas.
//!
//! - *Never longer than the store.* The store decided after the call was sent; the denial ends here `retry_after` after that instant,
//!   minus the tick that the store may have been in already, and a thousandth for clocks that run differently.
//! - *Nothing made up.* A check is answered only if this memory knows all its items from the last second: the denied ones as they were
//!   denied, with the same limit and cost and the wait that is left; the others as the peek that came with that denial. A key that was
//!   not seen sends the check to the store.
//! - *Bounded.* Only denials get in, at most 65,536 keys; what does not fit is not cached.

use core::hash::BuildHasher;
use core::time::Duration;
use std::collections::HashMap;
use std::hash::RandomState;

use cupo_core::{Check, Decision, Decisions, Executed, Key, Limit, Timestamp, Verdict};
use foldhash::SharedSeed;
use foldhash::fast::SeedableRandomState;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::lane::Answer;

/// The longest that anything is answered from memory.
const LONGEST: Duration = Duration::from_secs(1);
const SHARDS: usize = 16;
const KEYS_PER_SHARD: usize = 4_096;
/// How often a full shard is searched for what has ended, so that a flood of keys costs no search each.
const SWEEP: Duration = Duration::from_millis(100);

/// What the store said about keys whose checks it denied.
#[derive(Debug)]
pub(crate) struct DenialCache {
    /// Spreads keys over the shards; random, so that nobody can aim at one.
    seed: u64,
    shards: [Mutex<Shard>; SHARDS],
}

struct Shard {
    /// Quicker than the standard hasher. Who guessed its seed could make one shard slow, which is bounded, and nothing else.
    entries: HashMap<Key, Entry, SeedableRandomState>,
    swept: Option<Instant>,
}

impl core::fmt::Debug for Shard {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Shard").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    limit: Limit,
    cost: u64,
    decision: Decision,
    /// The store's instant when it decided.
    at: Timestamp,
    received: Instant,
    until: Instant,
}

impl DenialCache {
    pub(crate) fn new() -> Self {
        // What the operating system gives, not what can be read off addresses.
        let random = RandomState::new();
        let shard = |n| {
            let hasher = SeedableRandomState::with_seed(random.hash_one(n), SharedSeed::global_random());
            Mutex::new(Shard { entries: HashMap::with_hasher(hasher), swept: None })
        };
        Self { seed: random.hash_one(SHARDS) | 1, shards: core::array::from_fn(shard) }
    }

    /// The answer to `check`, if it is certainly the denial that the store would give.
    pub(crate) fn answer(&self, check: &Check) -> Option<Executed> {
        let now = Instant::now();
        let mut decisions = Decisions::new();
        let mut at = Timestamp::EPOCH;
        let mut denied = false;
        for item in check.items() {
            let shard = self.shard(&item.key)?.lock();
            let entry = shard.entries.get(&item.key)?;
            // A peek that came with a denial says nothing about another cost, nor does a denial.
            if entry.cost != item.cost || now >= entry.until || entry.limit != item.limit {
                return None;
            }
            let passed = now.saturating_duration_since(entry.received);
            at = at.max(entry.at.after(passed));
            denied |= !entry.decision.is_admitted();
            decisions.push(entry.aged(passed));
        }
        denied.then_some(Executed { at, decisions })
    }

    /// Remembers a denial.
    pub(crate) fn learn(&self, check: &Check, answer: &Answer) {
        let Answer { executed, sent, received } = answer;
        if executed.is_admitted() {
            return;
        }
        // Where one item is denied for less than a round trip there is nothing to gain.
        for (item, decision) in check.items().iter().zip(&executed.decisions) {
            let margin = |wait: Duration| wait / 1_000 + item.limit.resolution().span(1);
            let holds = decision.retry_after().map_or(LONGEST, |wait| wait.saturating_sub(margin(wait)));
            let until = *sent + holds.min(LONGEST);
            if until <= *received {
                continue;
            }
            let entry = Entry {
                limit: item.limit,
                cost: item.cost,
                decision: *decision,
                at: executed.at,
                received: *received,
                until,
            };
            self.insert(&item.key, entry);
        }
    }

    fn insert(&self, key: &Key, entry: Entry) {
        let Some(shard) = self.shard(key) else { return };
        let mut shard = shard.lock();
        if let Some(known) = shard.entries.get_mut(key) {
            *known = entry;
            return;
        }
        let now = entry.received;
        if shard.entries.len() >= KEYS_PER_SHARD && shard.swept.is_none_or(|swept| now >= swept + SWEEP) {
            shard.swept = Some(now);
            shard.entries.retain(|_, known| known.until > now);
        }
        if shard.entries.len() < KEYS_PER_SHARD {
            shard.entries.insert(key.clone(), entry);
        }
    }

    /// Forgets a key.
    pub(crate) fn forget(&self, key: &Key) {
        if let Some(shard) = self.shard(key) {
            shard.lock().entries.remove(key);
        }
    }

    fn shard(&self, key: &Key) -> Option<&Mutex<Shard>> {
        // Keys of a rule differ at their ends; the map inside the shard hashes all of them.
        let end = key.as_bytes().rchunks(8).next().unwrap_or_default();
        let end = end.iter().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        self.shards.get(usize::try_from(end.wrapping_mul(self.seed) >> 60).unwrap_or(0))
    }
}

impl Entry {
    /// The decision when some time has passed since it came. The wait that is left counts from when it came, not from when it was
    /// asked for, so that nobody who waits so long comes too early.
    fn aged(&self, passed: Duration) -> Decision {
        let verdict = match self.decision.verdict {
            // An entry ends before its wait is over.
            Verdict::Deny { retry_after } => {
                Verdict::Deny { retry_after: retry_after.saturating_sub(passed) }
            }
            verdict => verdict,
        };
        let reset_after = self.decision.reset_after.saturating_sub(passed);
        Decision { verdict, reset_after, ..self.decision }
    }
}

#[cfg(test)]
#[path = "denial_cache_tests.rs"]
mod tests;
