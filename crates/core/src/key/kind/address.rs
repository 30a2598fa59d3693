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

/// The address that `address` stands for: IPv4-mapped (`::ffff:0:0/96`) and NAT64 addresses are unwrapped before anything is
/// masked, or all of IPv4 would share one key. NAT64 has the prefix `64:ff9b::/96` (RFC 6052), or one of 96 bits that a network
/// chose inside `64:ff9b:1::/48` (RFC 8215). Shorter prefixes in there, which put the IPv4 address elsewhere, are told by the zeros
/// at their end, and left as they are.
#[must_use]
pub fn canonical_address(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d, e, f, high, low] = v6.segments();
    let ([first, second], [third, fourth]) = (high.to_be_bytes(), low.to_be_bytes());
    let inside = match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => true,
        // Bits 64 to 71 are zero in every embedding.
        [0x64, 0xff9b, 1, _, e, _] => e.to_be_bytes().first() == Some(&0) && (second, low) != (0, 0),
        _ => false,
    };
    if inside { IpAddr::V4(Ipv4Addr::new(first, second, third, fourth)) } else { address }
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
        for clothes in
            ["::ffff:192.0.2.1", "64:ff9b::192.0.2.1", "64:ff9b:1::192.0.2.1", "64:ff9b:1:fffe::192.0.2.1"]
        {
            assert_eq!(key(clothes, 64), key("192.0.2.1", 64));
            assert_ne!(key(clothes, 64), key("192.0.2.2", 64));
        }
        assert_ne!(key("::192.0.2.1", 128), key("192.0.2.1", 128));
        // 192.0.2.33 with prefixes of 48, 56 and 64 bits: not unwrapped, and no two clients in one key.
        for shorter in ["64:ff9b:1:c000:2:2100::", "64:ff9b:1:c0:0:221::", "64:ff9b:1:0:c0:2:2100:0"] {
            assert_eq!(super::canonical_address(shorter.parse().unwrap()).to_string(), shorter);
        }
        assert!(super::canonical_address("64:ff9b:2::192.0.2.1".parse().unwrap()).is_ipv6());
    }

    #[test]
    fn ipv6_is_grouped_by_prefix() {
        assert_eq!(key("2001:db8:0:1::1", 64), key("2001:db8:0:1:ffff::2", 64));
        assert_ne!(key("2001:db8:0:1::1", 64), key("2001:db8:0:2::1", 64));
        assert_ne!(key("2001:db8::1", 128), key("2001:db8::2", 128));
        assert_eq!(key("2001:db8::1", 0), key("fe80::2", 0));
    }
}
