//! Finds what is said of a caller, in constant time however many there are.

use core::hash::Hash;
use std::collections::HashMap;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::net::IpAddr;

use ipnet::IpNet;
use smallvec::SmallVec;

use super::super::networks::canonical;
use super::source::Who;
use crate::attributes::Attributes;
use crate::key::{ApiKeyHash, Hasher, canonical_address};

/// Callers by who they are, each with the index of its entry.
#[derive(Debug, Default)]
pub(in super::super) struct Callers {
    by_key: HashMap<ApiKeyHash, usize>,
    by_user: HashMap<Box<[u8]>, usize>,
    v4: Networks<u32>,
    v6: Networks<u128>,
}

/// Networks by length, the longest first: each with the mask of its length.
type Networks<Bits> = Vec<(Bits, HashMap<Bits, usize>)>;

/// What was found of a request.
#[derive(Debug, Default)]
pub(in super::super) struct Found {
    /// The entries of its API keys, else of its users, in the order of the lines; else that of its address.
    pub(in super::super) entries: SmallVec<[usize; 1]>,
    /// Whether there were several lines where one has an entry: nobody knows which of them counts elsewhere.
    pub(in super::super) several: bool,
    /// The hash of its API key, where that was looked at.
    pub(in super::super) api_key: Option<ApiKeyHash>,
    /// Whether there were several API keys then.
    pub(in super::super) several_keys: bool,
}

/// Who a caller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) enum Known<'a> {
    ApiKey(&'a ApiKeyHash),
    User(&'a [u8]),
    V4(u32, u32),
    V6(u128, u128),
}

impl Callers {
    /// All callers, each with the index of its entry.
    pub(in super::super) fn all(&self) -> impl Iterator<Item = (Known<'_>, usize)> {
        let keys = self.by_key.iter().map(|(hash, index)| (Known::ApiKey(hash), *index));
        let users = self.by_user.iter().map(|(name, index)| (Known::User(name), *index));
        let v4 = self
            .v4
            .iter()
            .flat_map(|(mask, all)| all.iter().map(|(network, index)| (Known::V4(*mask, *network), *index)));
        let v6 = self
            .v6
            .iter()
            .flat_map(|(mask, all)| all.iter().map(|(network, index)| (Known::V6(*mask, *network), *index)));
        keys.chain(users).chain(v4).chain(v6)
    }

    /// Adds an entry; as an error the index of the one that is there already.
    pub(in super::super) fn add(&mut self, who: Who, index: usize) -> Result<(), usize> {
        match who {
            Who::ApiKey(hash) => insert(&mut self.by_key, hash, index),
            Who::User(name) => insert(&mut self.by_user, name.into_bytes().into(), index),
            Who::Network(network) => match canonical(network) {
                IpNet::V4(v4) => {
                    insert_network(&mut self.v4, v4.netmask().to_bits(), v4.network().to_bits(), index)
                }
                IpNet::V6(v6) => {
                    insert_network(&mut self.v6, v6.netmask().to_bits(), v6.network().to_bits(), index)
                }
            },
        }
    }

    /// The entries that are about the request, and the hash of its API key where that was looked at.
    pub(in super::super) fn find<A: Attributes + ?Sized>(&self, attributes: &A, hasher: &Hasher) -> Found {
        let mut found = Found::default();
        if !self.by_key.is_empty() {
            let (mut lines, mut last) = (0_usize, None);
            attributes.api_key_lines(&mut |key| {
                lines = lines.saturating_add(1);
                last = hasher.hash(key);
                found.entries.extend(last.and_then(|hash| self.by_key.get(&hash)).copied());
            });
            found.several_keys = lines > 1;
            // Of several keys the one that all such requests share.
            found.api_key = if found.several_keys {
                hasher.hash(&attributes.api_key().unwrap_or_default())
            } else {
                last
            };
            if !found.entries.is_empty() {
                found.several = found.several_keys;
                return found;
            }
        }
        if !self.by_user.is_empty() {
            let mut lines = 0_usize;
            attributes.user_lines(&mut |user| {
                lines = lines.saturating_add(1);
                found.entries.extend(self.by_user.get(user).copied());
            });
            if !found.entries.is_empty() {
                found.several = lines > 1;
                return found;
            }
        }
        if self.v4.is_empty() && self.v6.is_empty() {
            return found;
        }
        let entry = match attributes.client().map(canonical_address) {
            Some(IpAddr::V4(v4)) => longest(&self.v4, |mask| v4.to_bits() & mask),
            Some(IpAddr::V6(v6)) => longest(&self.v6, |mask| v6.to_bits() & mask),
            None => None,
        };
        found.entries.extend(entry);
        found
    }
}

fn insert<K: Eq + Hash>(map: &mut HashMap<K, usize>, key: K, index: usize) -> Result<(), usize> {
    match map.entry(key) {
        Occupied(first) => Err(*first.get()),
        Vacant(place) => {
            place.insert(index);
            Ok(())
        }
    }
}

fn insert_network<Bits: Copy + Ord + Hash>(
    networks: &mut Networks<Bits>,
    mask: Bits,
    network: Bits,
    index: usize,
) -> Result<(), usize> {
    // A longer prefix has the larger mask.
    let at = networks.partition_point(|(other, _)| *other > mask);
    if networks.get(at).is_none_or(|(other, _)| *other != mask) {
        networks.insert(at, (mask, HashMap::new()));
    }
    networks.get_mut(at).map_or(Ok(()), |(_, map)| insert(map, network, index))
}

fn longest<Bits: Copy + Eq + Hash>(
    networks: &Networks<Bits>,
    masked: impl Fn(Bits) -> Bits,
) -> Option<usize> {
    networks.iter().find_map(|(mask, map)| map.get(&masked(*mask))).copied()
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::{Callers, Who};
    use crate::attributes::Attributes;
    use crate::key::Hasher;

    struct From(IpAddr);

    impl Attributes for From {
        fn client(&self) -> Option<IpAddr> {
            Some(self.0)
        }
    }

    fn callers(networks: &[&str]) -> Callers {
        let mut callers = Callers::default();
        for (i, network) in networks.iter().enumerate() {
            callers.add(Who::Network(network.parse().unwrap()), i).unwrap();
        }
        callers
    }

    fn found(callers: &Callers, address: &str) -> Option<usize> {
        callers.find(&From(address.parse().unwrap()), &Hasher::new(None)).entries.first().copied()
    }

    #[test]
    fn the_smallest_network_counts_whatever_the_order() {
        let networks =
            ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "2001:db8::/32", "2001:db8:1::/48", "::/0"];
        let mut backwards = networks;
        backwards.reverse();
        for (address, expected) in [
            ("10.9.9.9", Some("10.0.0.0/8")),
            ("10.1.9.9", Some("10.1.0.0/16")),
            ("10.1.2.3", Some("10.1.2.3/32")),
            ("::ffff:10.1.2.3", Some("10.1.2.3/32")),
            ("11.0.0.1", None),
            ("2001:db8:1::5", Some("2001:db8:1::/48")),
            ("2001:db8:2::5", Some("2001:db8::/32")),
            ("fe80::1", Some("::/0")),
        ] {
            for order in [networks, backwards] {
                let at = found(&callers(&order), address);
                assert_eq!(at.map(|i| order[i]), expected, "{address}");
            }
        }
    }

    #[test]
    fn networks_of_any_spelling_and_length_are_found() {
        let mapped = callers(&["::ffff:192.0.2.0/120"]);
        assert_eq!(found(&mapped, "192.0.2.77"), Some(0));
        assert_eq!(found(&mapped, "192.0.3.77"), None);
        let all = callers(&["0.0.0.0/0"]);
        assert_eq!(found(&all, "203.0.113.9"), Some(0));
        assert_eq!(found(&all, "2001:db8::1"), None);
        let one = callers(&["2001:db8::1/128"]);
        assert_eq!((found(&one, "2001:db8::1"), found(&one, "2001:db8::2")), (Some(0), None));
    }

    #[test]
    fn nobody_is_in_twice() {
        let mut callers = callers(&["192.0.2.0/24", "198.51.100.7/32"]);
        let network = |text: &str| Who::Network(text.parse().unwrap());
        assert_eq!(callers.add(network("198.51.100.7/32"), 2), Err(1));
        assert_eq!(callers.add(network("::ffff:192.0.2.0/120"), 2), Err(0));
        assert_eq!(callers.add(Who::User("a".to_owned()), 2), Ok(()));
        assert_eq!(callers.add(Who::User("a".to_owned()), 3), Err(2));
    }
}
