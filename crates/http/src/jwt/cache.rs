//! Tokens that were verified, by their hash, so that the signature of each is verified once in a while and not at every request.
//!
//! Only what holds is remembered: what does not can be made up without end, and would push out what does.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::identity::Claims;

/// Independent parts, each under a lock of its own.
const SHARDS: usize = 16;

/// Tokens in one generation of a shard; two generations are kept.
const GENERATION: usize = 128;

/// SHA-256 of a token.
type Hash = [u8; 32];

/// A token whose signature and fixed claims hold.
#[derive(Debug, Clone)]
pub(super) struct Verified {
    pub(super) claims: Arc<Claims>,
    /// The first second of the Unix epoch at which it does not hold any more.
    pub(super) expires: u64,
    /// The first at which it holds.
    pub(super) begins: u64,
}

#[derive(Debug, Default)]
pub(super) struct Cache {
    shards: [Mutex<Shard>; SHARDS],
}

/// What was used lately, and what was used before: a full generation takes the place of the one before, which is forgotten.
#[derive(Debug, Default)]
struct Shard {
    young: HashMap<Hash, Verified>,
    old: HashMap<Hash, Verified>,
}

impl Cache {
    pub(super) fn get(&self, hash: &[u8]) -> Option<Verified> {
        let (hash, shard) = self.place(hash)?;
        let mut shard = shard.lock();
        if let Some(found) = shard.young.get(&hash) {
            return Some(found.clone());
        }
        let found = shard.old.remove(&hash)?;
        shard.insert(hash, found.clone());
        Some(found)
    }

    pub(super) fn insert(&self, hash: &[u8], verified: Verified) {
        if let Some((hash, shard)) = self.place(hash) {
            shard.lock().insert(hash, verified);
        }
    }

    fn place(&self, hash: &[u8]) -> Option<(Hash, &Mutex<Shard>)> {
        let hash = Hash::try_from(hash).ok()?;
        let [first, ..] = hash;
        Some((hash, self.shards.get(usize::from(first) % SHARDS)?))
    }
}

impl Shard {
    fn insert(&mut self, hash: Hash, verified: Verified) {
        if self.young.len() >= GENERATION {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(hash, verified);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Cache, GENERATION, SHARDS, Verified};
    use crate::identity::Claims;

    fn hash(number: usize) -> [u8; 32] {
        let mut hash = [0; 32];
        hash[0] = number.to_le_bytes()[0];
        hash[8..16].copy_from_slice(&number.to_le_bytes());
        hash
    }

    #[test]
    fn it_is_bounded_and_keeps_what_is_used() {
        let cache = Cache::default();
        let verified =
            |number: u64| Verified { claims: Arc::new(Claims::default()), expires: number, begins: 0 };
        cache.insert(&hash(0), verified(0));
        for number in 1..20_000 {
            cache.insert(&hash(number), verified(number as u64));
            assert_eq!(cache.get(&hash(number)).unwrap().expires, number as u64);
            assert!(cache.get(&hash(0)).is_some(), "what is asked for all the time stays");
        }
        let held = |shard: &parking_lot::Mutex<super::Shard>| {
            let shard = shard.lock();
            shard.young.len() + shard.old.len()
        };
        let held: usize = cache.shards.iter().map(held).sum();
        assert!(held <= 2 * SHARDS * GENERATION, "{held}");
        assert!(cache.get(&hash(1)).is_none());
        assert!(cache.get(b"short").is_none());
    }
}
