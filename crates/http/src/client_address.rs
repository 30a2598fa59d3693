//! Who asked: the client's address, by the word of trusted proxies only.
//!
//! `X-Forwarded-For` is written from left to right: each proxy appends the address that it was asked from. So only the
//! rightmost entry is the word of the peer, and each further one is vouched for only while the one to its right is a trusted
//! proxy. Walking from the right and stopping at the first untrusted address leaves nothing that a caller writes a say.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use cupo_core::{Trust, canonical_address};
use http::HeaderMap;
use http::header::HeaderName;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The longest entry that can be an address: a bracketed IPv6 address with a long zone and a port.
const LONGEST_ENTRY: usize = 80;

/// The address that the request comes from, in [canonical](canonical_address) form: of the peer, or, where the peer is a
/// trusted proxy, of the nearest untrusted address in its `X-Forwarded-For`. Where all are trusted, the farthest counts. An
/// entry that is no address (`unknown`, an obfuscated name, garbage) ends the walk at the last address that was vouched for.
///
/// O(entries up to the answer), without allocation.
#[must_use]
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trust: &Trust) -> IpAddr {
    if is_trusted(peer, trust) { walk(peer, headers, trust) } else { canonical_address(peer) }
}

/// The client of a trusted peer.
pub(crate) fn walk(peer: IpAddr, headers: &HeaderMap, trust: &Trust) -> IpAddr {
    let mut vouched = canonical_address(peer);
    // Several lines are one list, in order.
    for line in headers.get_all(&X_FORWARDED_FOR).iter().rev() {
        for entry in line.as_bytes().rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            // An empty element of a list is none (RFC 9110, section 5.6.1).
            if entry.is_empty() {
                continue;
            }
            let Some(address) = parse_entry(entry) else { return vouched };
            vouched = canonical_address(address);
            if !is_trusted(vouched, trust) {
                return vouched;
            }
        }
    }
    vouched
}

/// Whether `address` is a proxy whose word counts. Networks are compared with its [canonical](canonical_address) form.
#[must_use]
pub fn is_trusted(address: IpAddr, trust: &Trust) -> bool {
    if trust.proxies.is_empty() {
        return false;
    }
    let address = canonical_address(address);
    trust.proxies.iter().any(|network| network.contains(&address))
}

/// An address as proxies write it: alone, with a port, in brackets, with an IPv6 zone.
fn parse_entry(entry: &[u8]) -> Option<IpAddr> {
    let text = core::str::from_utf8(entry).ok().filter(|text| text.len() <= LONGEST_ENTRY)?;
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
    use super::parse_entry;

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
            assert_eq!(parse_entry(entry.as_bytes()), Some(address.parse().unwrap()), "{entry}");
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
            assert_eq!(parse_entry(entry.as_bytes()), None, "{entry}");
        }
        assert_eq!(parse_entry(b"192.0.2.\xff"), None);
        assert_eq!(parse_entry(format!("fe80::1%{}", "z".repeat(100)).as_bytes()), None);
    }
}
