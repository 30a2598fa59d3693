//! What a key is called in the server.
//!
//! The prefix and the canonical bytes, as they are while they are short: an operator reads the name of the rule in them. Longer
//! ones are replaced by 20 bytes of their SHA-256, which make 22, so that a name never costs more than 32 bytes beside the prefix. Both kinds
//! never meet: canonical bytes begin with a length in the shortest form, and `80 00` is not one.
//!
//! On a cluster a hash tag goes first: three letters made of the parts of the key, not of its rule. So the keys of all rules that
//! count by the same parts of a request live in one slot, and nobody who chooses a key chooses its slot with braces.

use sha2::{Digest, Sha256};
use smallvec::SmallVec;

use cupo_core::Key;

/// The longest canonical bytes that are kept as they are.
const SHORT: usize = 32;
const HASHED: [u8; 2] = [0x80, 0x00];
const HASH: usize = 20;
const BLOCKS: &[u8] = b"blocks";
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A key's name, and its slot (0 where there is only one).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) bytes: SmallVec<[u8; 48]>,
    pub(crate) slot: u16,
}

/// Names keys.
#[derive(Debug)]
pub(crate) struct Naming {
    prefix: Box<[u8]>,
    tagged: bool,
}

impl Naming {
    pub(crate) fn new(prefix: &str, tagged: bool) -> Self {
        Self { prefix: prefix.as_bytes().into(), tagged }
    }

    /// What the hash of blocked keys is called. No key is: the canonical bytes of a short one begin with the length of its rule's
    /// name, which is below 32.
    pub(crate) fn name_of_blocks(&self) -> Name {
        let mut bytes: SmallVec<[u8; 48]> = SmallVec::from_slice(&self.prefix);
        let mut slot = 0;
        if self.tagged {
            let tag = tag(BLOCKS);
            bytes.push(b'{');
            bytes.extend_from_slice(&tag);
            bytes.push(b'}');
            slot = slot_of(&tag);
        }
        bytes.extend_from_slice(BLOCKS);
        Name { bytes, slot }
    }

    pub(crate) fn name(&self, key: &Key) -> Name {
        let key = key.as_bytes();
        let mut bytes: SmallVec<[u8; 48]> = SmallVec::from_slice(&self.prefix);
        let mut slot = 0;
        if self.tagged {
            let tag = tag(parts(key));
            bytes.push(b'{');
            bytes.extend_from_slice(&tag);
            bytes.push(b'}');
            slot = slot_of(&tag);
        }
        if key.len() <= SHORT {
            bytes.extend_from_slice(key);
        } else {
            bytes.extend_from_slice(&HASHED);
            bytes.extend(Sha256::digest(key).into_iter().take(HASH));
        }
        Name { bytes, slot }
    }
}

/// The canonical bytes behind the scope; all of them where they have no scope.
fn parts(key: &[u8]) -> &[u8] {
    let mut length = 0_usize;
    for (i, byte) in key.iter().enumerate().take(4) {
        length |= usize::from(byte & 0x7f) << i.saturating_mul(7);
        if byte & 0x80 == 0 {
            return key.get(i.saturating_add(1).saturating_add(length)..).unwrap_or(key);
        }
    }
    key
}

fn tag(parts: &[u8]) -> [u8; 3] {
    // The low bits of four words of the hash would do as well; the first three bytes are as random as any.
    let hash = Sha256::digest(parts);
    let mut letters = hash.iter().map(|byte| LETTERS[usize::from(byte & 63)]);
    core::array::from_fn(|_| letters.next().unwrap_or(b'A'))
}

/// The slot of a cluster that a hash tag lies in: CRC-16/XMODEM modulo 16,384.
fn slot_of(tag: &[u8]) -> u16 {
    let mut crc = 0_u16;
    for &byte in tag {
        crc ^= u16::from(byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
        }
    }
    crc % SLOTS
}

/// Slots of a cluster.
pub(crate) const SLOTS: u16 = 16_384;

#[cfg(test)]
mod tests {
    use super::{Naming, slot_of};
    use cupo_core::Key;
    use std::collections::HashSet;

    fn key(scope: &str, value: &[u8]) -> Key {
        Key::builder(scope).part(1, "", value).build()
    }

    #[test]
    fn short_keys_stay_readable_and_long_ones_stay_small() {
        let naming = Naming::new("cupo:", false);
        let name = naming.name(&key("per-client", &[10, 0, 0, 7]));
        assert_eq!(&naming.name_of_blocks().bytes[..], b"cupo:blocks");
        assert_eq!(&name.bytes[..], b"cupo:\x0aper-client\x01\x00\x04\x0a\x00\x00\x07");
        for length in [30, 32, 33, 200, 20_000] {
            let name = naming.name(&key("per-client", &vec![b'x'; length]));
            assert_eq!(name.bytes.len(), 5 + 22, "{length}");
        }
    }

    #[test]
    fn names_differ_as_keys_do() {
        let (plain, tagged) = (Naming::new("", false), Naming::new("", true));
        let keys: Vec<Key> = (0_u16..4_000)
            .map(|i| key(if i % 2 == 0 { "a" } else { "bc" }, &vec![b'x'; usize::from(i / 2) % 50]))
            .chain((0_u16..1_000).map(|i| key("d", &i.to_be_bytes())))
            .collect();
        let distinct: HashSet<&[u8]> = keys.iter().map(Key::as_bytes).collect();
        for naming in [plain, tagged] {
            let names: HashSet<_> = keys.iter().map(|key| naming.name(key).bytes).collect();
            assert_eq!(names.len(), distinct.len());
        }
    }

    #[test]
    fn rules_that_count_by_the_same_parts_share_a_slot_and_braces_choose_nothing() {
        let naming = Naming::new("cupo:", true);
        let (a, b) =
            (naming.name(&key("burst", b"ada")), naming.name(&key("a-much-longer-name-daily", b"ada")));
        assert_eq!((a.slot, &a.bytes[..10]), (b.slot, &b.bytes[..10]));
        let slots: HashSet<u16> =
            (0_u32..2_000).map(|i| naming.name(&key("r", format!("{{x}}{i}").as_bytes())).slot).collect();
        assert!(slots.len() > 1_500, "{}", slots.len());
    }

    #[test]
    fn slots_are_those_of_the_cluster() {
        // From the specification of Redis Cluster and from CLUSTER KEYSLOT.
        assert_eq!(slot_of(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"user1000"), 3_443);
    }
}
