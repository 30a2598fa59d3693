//! One entry of a chain: an address as proxies write it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The longest entry that can be an address: a bracketed IPv6 address with a long zone and a port.
pub(super) const LONGEST: usize = 80;

/// An address as proxies write it: alone, with a port, in brackets, with an IPv6 zone.
pub(super) fn parse(entry: &[u8]) -> Option<IpAddr> {
    let text = core::str::from_utf8(entry).ok().filter(|text| text.len() <= LONGEST)?;
    if let Some(inner) = text.strip_prefix('[') {
        let (address, rest) = inner.split_once(']')?;
        return is_port_or_nothing(rest).then(|| parse_v6(address)).flatten();
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address);
    }
    if text.contains('%') {
        return parse_v6(text);
    }
    // Only IPv4 is left; a bare IPv6 address cannot carry a port.
    text.parse::<SocketAddr>().ok().map(|socket| socket.ip())
}

/// An IPv6 address, perhaps with a zone, which says something on the proxy's machine only.
fn parse_v6(text: &str) -> Option<IpAddr> {
    let (address, zone) = text.split_once('%').unwrap_or((text, "0"));
    let address = address.parse::<Ipv6Addr>().ok()?;
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    (!zone.is_empty() && zone.bytes().all(legal)).then_some(IpAddr::V6(address))
}

fn is_port_or_nothing(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn entries_come_in_many_clothes() {
        for (entry, address) in [
            ("192.0.2.1", "192.0.2.1"),
            ("192.0.2.1:80", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:65535", "2001:db8::1"),
            ("fe80::1%eth0", "fe80::1"),
            ("[fe80::1%25eth0]:443", "fe80::1"),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ] {
            assert_eq!(parse(entry.as_bytes()), Some(address.parse().unwrap()), "{entry}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for entry in [
            "unknown",
            "_hidden",
            "localhost",
            "192.0.2",
            "192.0.2.256",
            "192.0.2.01",
            "0x7f.1",
            "192.0.2.1:",
            "192.0.2.1:65536",
            "192.0.2.1:80:80",
            "[192.0.2.1]",
            "[2001:db8::1",
            "2001:db8::1]",
            "[::1]80",
            "[::1]:+80",
            "fe80::1%",
            "fe80::1%a b",
            "192.0.2.1%eth0",
            "\"192.0.2.1\"",
            "for=192.0.2.1",
        ] {
            assert_eq!(parse(entry.as_bytes()), None, "{entry}");
        }
        assert_eq!(parse(b"192.0.2.\xff"), None);
        assert_eq!(parse(format!("fe80::1%{}", "z".repeat(100)).as_bytes()), None);
    }
}
