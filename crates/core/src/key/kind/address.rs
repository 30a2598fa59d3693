//! The client's address: one client is one IPv4 address or one IPv6 network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::builder::KeyBuilder;

pub(super) fn write(tag: u8, client: Option<IpAddr>, ipv6_prefix: u8, key: &mut KeyBuilder) -> bool {
    match client.map(canonical_address) {
        None => false,
        Some(IpAddr::V4(v4)) => {
            key.push(tag, "", &v4.octets());
            true
        }
        Some(IpAddr::V6(v6)) => {
            key.push(tag, "", &network(v6, ipv6_prefix).octets());
            true
        }
    }
}

/// The address that `address` stands for: IPv4-mapped (`::ffff:0:0/96`) and NAT64 (`64:ff9b::/96`, RFC 6052) addresses are
/// unwrapped before anything is masked, or all of IPv4 would share one key.
#[must_use]
pub fn canonical_address(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d, e, f, high, low] = v6.segments();
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        _ => address,
    }
}

fn network(address: Ipv6Addr, prefix: u8) -> Ipv6Addr {
    let host_bits = 128_u32.saturating_sub(prefix.into());
    let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

#[cfg(test)]
mod tests {
    use super::super::super::builder::Key;
    use super::write;

    fn key(address: &str, prefix: u8) -> Key {
        let mut key = Key::builder("r");
        assert!(write(2, Some(address.parse().unwrap()), prefix, &mut key));
        key.build()
    }

    #[test]
    fn ipv4_in_ipv6_clothes_is_ipv4() {
        for clothes in ["::ffff:192.0.2.1", "64:ff9b::192.0.2.1"] {
            assert_eq!(key(clothes, 64), key("192.0.2.1", 64));
            assert_ne!(key(clothes, 64), key("192.0.2.2", 64));
        }
        assert_ne!(key("::192.0.2.1", 128), key("192.0.2.1", 128));
    }

    #[test]
    fn ipv6_is_grouped_by_prefix() {
        assert_eq!(key("2001:db8:0:1::1", 64), key("2001:db8:0:1:ffff::2", 64));
        assert_ne!(key("2001:db8:0:1::1", 64), key("2001:db8:0:2::1", 64));
        assert_ne!(key("2001:db8::1", 128), key("2001:db8::2", 128));
        assert_eq!(key("2001:db8::1", 0), key("fe80::2", 0));
    }
}
