//! Networks, any of which may hold an address.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

use crate::key::canonical_address;

/// Networks that do not overlap, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Networks(Box<[IpNet]>);

impl FromIterator<IpNet> for Networks {
    fn from_iter<I: IntoIterator<Item = IpNet>>(networks: I) -> Self {
        let canonical: Vec<IpNet> = networks.into_iter().map(canonical).collect();
        let mut apart = IpNet::aggregate(&canonical);
        apart.sort_unstable_by_key(IpNet::network);
        Self(apart.into())
    }
}

impl Networks {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) const fn as_slice(&self) -> &[IpNet] {
        &self.0
    }

    /// Whether the [canonical](canonical_address) `address` is in one of them. O(log networks).
    pub(super) fn contain(&self, address: IpAddr) -> bool {
        let after = self.0.partition_point(|network| network.network() <= address);
        let last = after.checked_sub(1).and_then(|at| self.0.get(at));
        last.is_some_and(|network| network.contains(&address))
    }
}

/// The network as clients are written: IPv4 that is wrapped in IPv6 is IPv4.
pub(super) fn canonical(network: IpNet) -> IpNet {
    let bits = network.prefix_len().checked_sub(96);
    match (bits, network, canonical_address(network.addr())) {
        (Some(bits), IpNet::V6(_), IpAddr::V4(address)) => {
            Ipv4Net::new(address, bits).map_or(network, IpNet::V4)
        }
        _ => network,
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use ipnet::IpNet;
    use proptest::prelude::*;

    use super::Networks;

    fn networks(texts: &[&str]) -> Networks {
        texts.iter().map(|text| text.parse::<IpNet>().unwrap()).collect()
    }

    fn contain(networks: &Networks, address: &str) -> bool {
        networks.contain(address.parse().unwrap())
    }

    #[test]
    fn an_address_is_in_one_or_in_none() {
        let networks = networks(&[
            "192.0.2.0/24",
            "10.0.0.0/8",
            "10.1.0.0/16",
            "2001:db8::/32",
            "::ffff:203.0.113.0/120",
        ]);
        for inside in
            ["10.0.0.0", "10.255.255.255", "10.1.2.3", "192.0.2.255", "2001:db8:ffff::1", "203.0.113.9"]
        {
            assert!(contain(&networks, inside), "{inside}");
        }
        for outside in
            ["9.255.255.255", "11.0.0.0", "192.0.3.0", "2001:db9::", "::1", "0.0.0.0", "203.0.114.0"]
        {
            assert!(!contain(&networks, outside), "{outside}");
        }
        assert!(!contain(&networks_of_all_ipv6(), "192.0.2.1"));
        assert!(contain(&networks_of_all_ipv6(), "ffff::"));
        assert!(!contain(&Networks::default(), "192.0.2.1"));
    }

    fn networks_of_all_ipv6() -> Networks {
        networks(&["::/0"])
    }

    proptest! {
        #[test]
        fn the_search_finds_what_asking_each_finds(
            networks in prop::collection::vec((any::<[u8; 2]>(), 0_u8..=32), 0..12),
            address in any::<[u8; 2]>(),
        ) {
            let networks: Vec<IpNet> = networks
                .into_iter()
                .map(|([a, b], bits)| IpNet::new(IpAddr::from([a % 4, b % 4, 0, 0]), bits).unwrap().trunc())
                .collect();
            let address = IpAddr::from([address[0] % 5, address[1] % 5, 0, 0]);
            let each = networks.iter().any(|network| network.contains(&address));
            prop_assert_eq!(networks.into_iter().collect::<Networks>().contain(address), each);
        }
    }
}
