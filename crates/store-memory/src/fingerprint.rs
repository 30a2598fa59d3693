//! Keys as the store knows them: 88 bits of a keyed hash, made in one pass over the key's bytes.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use cupo_core::Limit;

use crate::siphash::siphash;

/// A key's place and identity. Equal keys have equal fingerprints; different keys differ unless 88 bits collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// Where the key lies: its shard by the low bits, its place in the table by all of them. Never 0.
    pub(crate) order: u64,
    /// The other 24 bits of its identity.
    pub(crate) ident: u32,
    /// Further bits of the hash, for whoever needs more than a place.
    pub(crate) spare: u32,
}

impl Fingerprint {
    fn new(place: u64, rest: u64) -> Self {
        let [a, b, c, d, e, f, g, _] = rest.to_le_bytes();
        Self {
            order: place.max(1),
            ident: u32::from_le_bytes([a, b, c, 0]),
            spare: u32::from_le_bytes([d, e, f, g]),
        }
    }

    /// Whether both are of the same key.
    #[inline]
    pub(crate) fn same_key(&self, other: &Self) -> bool {
        self.order == other.order && self.ident == other.ident
    }
}

/// The secret of a store. Whoever chooses keys must not be able to choose their places.
#[derive(Clone, Copy)]
pub(crate) struct Seed {
    k0: u64,
    k1: u64,
}

impl Seed {
    /// A seed from the operating system's randomness.
    pub(crate) fn random() -> Self {
        Self::from_words(RandomState::new().hash_one(0_u64), RandomState::new().hash_one(1_u64))
    }

    /// The seed made of these two words.
    pub(crate) const fn from_words(k0: u64, k1: u64) -> Self {
        Self { k0, k1 }
    }

    /// The fingerprint of a key.
    #[inline]
    pub(crate) fn of_key(&self, key: &[u8]) -> Fingerprint {
        let (place, rest) = siphash(self.k0, self.k1, key);
        Fingerprint::new(place, rest)
    }

    /// The fingerprint of group number `group` of those that share `limit`.
    pub(crate) fn of_group(&self, limit: &Limit, group: u32) -> Fingerprint {
        let mut bytes = Bytes(Vec::new());
        limit.hash(&mut bytes);
        group.hash(&mut bytes);
        self.of_key(&bytes.0)
    }
}

/// What a value tells a hasher.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn seeds_and_keys_make_different_fingerprints() {
        let (a, b) = (Seed::random(), Seed::random());
        assert_ne!(a.of_key(b"key"), b.of_key(b"key"));
        assert_eq!(a.of_key(b"key"), a.of_key(b"key"));
        assert!(!a.of_key(b"key").same_key(&a.of_key(b"kez")));
        assert!(!a.of_key(b"").same_key(&a.of_key(b"\0")));
    }
}
