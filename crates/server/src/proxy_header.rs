//! The header of the PROXY protocol, versions 1 and 2, with which a proxy that passes connections on begins each of them.
//!
//! The header is read by the crate `proxy-header`; what is here says where it ends, bounds it, and refuses what the crate is too kind to.

use std::net::SocketAddr;

use proxy_header::{ParseConfig, Protocol, ProxyHeader};

const V1: &[u8] = b"PROXY ";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The longest header of version 1, with its line end.
const V1_LONGEST: usize = 107;

/// The longest of version 2 that is read: the addresses of Unix sockets and 304 bytes of whatever else.
const V2_LONGEST: usize = 536;

/// Bytes of a version 2 header before its addresses.
const V2_FIXED: usize = 16;

/// Whether connections begin with a header of the PROXY protocol, and of which version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ProxyProtocol {
    /// Without; one that comes all the same is no HTTP, and refused.
    #[default]
    Off,
    /// With one of version 1.
    V1,
    /// With one of version 2.
    V2,
    /// With one of either.
    Any,
}

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadProxyHeader {
    /// A header, perhaps; more has to come.
    Partial,
    /// A header.
    Whole {
        /// The client, if the header names one.
        client: Option<SocketAddr>,
        /// The header's bytes.
        length: usize,
    },
    /// No header of an expected version.
    Missing,
    /// A header that is malformed or too long.
    Malformed,
}

impl ProxyProtocol {
    const fn has_v1(self) -> bool {
        matches!(self, Self::V1 | Self::Any)
    }

    const fn has_v2(self) -> bool {
        matches!(self, Self::V2 | Self::Any)
    }

    /// Reads the first bytes of a connection. Asks for more than 536 bytes of none.
    #[must_use]
    pub fn read(self, bytes: &[u8]) -> ReadProxyHeader {
        if self.has_v1() && agree(bytes, V1) {
            read_v1(bytes)
        } else if self.has_v2() && agree(bytes, V2) {
            read_v2(bytes)
        } else {
            ReadProxyHeader::Missing
        }
    }
}

/// Whether bytes begin with a header of either version.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(V1) || bytes.starts_with(V2)
}

/// Whether one begins with the other, as far as it goes.
fn agree(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.iter().zip(signature).all(|(a, b)| a == b)
}

fn read_v1(bytes: &[u8]) -> ReadProxyHeader {
    let ahead = bytes.get(..V1_LONGEST).unwrap_or(bytes);
    let Some(end) = ahead.windows(2).position(|pair| pair == b"\r\n") else {
        return if bytes.len() < V1_LONGEST { ReadProxyHeader::Partial } else { ReadProxyHeader::Malformed };
    };
    let length = end.saturating_add(2);
    match ahead.get(..length) {
        // Ports are digits, and only digits.
        Some(header) if !header.contains(&b'+') => parsed(header, length),
        _ => ReadProxyHeader::Malformed,
    }
}

fn read_v2(bytes: &[u8]) -> ReadProxyHeader {
    let &[command, _, high, low] = bytes.get(V2.len()..V2_FIXED).unwrap_or_default() else {
        return ReadProxyHeader::Partial;
    };
    let length = V2_FIXED.saturating_add(u16::from_be_bytes([high, low]).into());
    if length > V2_LONGEST {
        return ReadProxyHeader::Malformed;
    }
    let Some(header) = bytes.get(..length) else { return ReadProxyHeader::Partial };
    // A connection of the proxy's own: whatever else it says is to be ignored.
    if command == 0x20 {
        return ReadProxyHeader::Whole { client: None, length };
    }
    parsed(header, length)
}

fn parsed(header: &[u8], length: usize) -> ReadProxyHeader {
    let config = ParseConfig { include_tlvs: false, ..ParseConfig::default() };
    match ProxyHeader::parse(header, config) {
        Ok((parsed, read)) if read == length => {
            let address = parsed.proxied_address().filter(|address| address.protocol == Protocol::Stream);
            ReadProxyHeader::Whole { client: address.map(|address| address.source), length }
        }
        _ => ReadProxyHeader::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ReadProxyHeader::{Malformed, Missing, Partial, Whole};

    fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [V2, &[command, family], &length, rest].concat()
    }

    fn client(text: &str, length: usize) -> ReadProxyHeader {
        Whole { client: Some(text.parse().unwrap()), length }
    }

    #[test]
    fn whole_headers_and_every_cut_of_them() {
        let four = [203, 0, 113, 9, 10, 0, 0, 1, 0x1f, 0x90, 0, 80];
        let six = [&[0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9][..], &[0; 16], &[0, 7, 0, 80]]
            .concat();
        let unknown = format!("PROXY UNKNOWN {}\r\n", "f".repeat(91));
        for (header, expected) in [
            (&b"PROXY TCP4 203.0.113.9 10.0.0.1 8080 80\r\n"[..], client("203.0.113.9:8080", 41)),
            (b"PROXY TCP6 2001:db8::9 ::1 7 80\r\n", client("[2001:db8::9]:7", 33)),
            (b"PROXY UNKNOWN\r\n", Whole { client: None, length: 15 }),
            (unknown.as_bytes(), Whole { client: None, length: 107 }),
            (&v2(0x21, 0x11, &four), client("203.0.113.9:8080", 28)),
            (&v2(0x21, 0x21, &six), client("[2001:db8::9]:7", 52)),
            (&v2(0x21, 0x11, &[&four[..], &[4, 0, 1, 0]].concat()), client("203.0.113.9:8080", 32)),
            (&v2(0x20, 0, &[]), Whole { client: None, length: 16 }),
            (&v2(0x20, 0x11, &four), Whole { client: None, length: 28 }),
            (&v2(0x20, 0xff, &[1]), Whole { client: None, length: 17 }),
            (&v2(0x21, 0, &[1, 2, 3]), Whole { client: None, length: 19 }),
            (&v2(0x21, 0x31, &[b'/'; 216]), Whole { client: None, length: 232 }),
            (&v2(0x21, 0x12, &four), Whole { client: None, length: 28 }),
            (&v2(0x20, 0, &[0; 520]), Whole { client: None, length: 536 }),
        ] {
            let followed = [header, b"GET / HTTP/1.1\r\n"].concat();
            assert_eq!(ProxyProtocol::Any.read(&followed), expected, "{header:?}");
            for cut in 0..header.len() {
                assert_eq!(ProxyProtocol::Any.read(&header[..cut]), Partial, "{cut} of {header:?}");
            }
            let (own, other) = match header[0] {
                b'P' => (ProxyProtocol::V1, ProxyProtocol::V2),
                _ => (ProxyProtocol::V2, ProxyProtocol::V1),
            };
            assert_eq!((own.read(&followed), other.read(&followed)), (expected, Missing));
        }
    }

    #[test]
    fn what_is_no_header_is_told_as_soon_as_it_shows() {
        let long = [&b"PROXY UNKNOWN "[..], &[b'f'; 93]].concat();
        for (bytes, expected) in [
            (&b"GET / HTTP/1.1\r\n"[..], Missing),
            (b"PRI * HTTP/2.0\r\n", Missing),
            (b"PROXYTCP4 1.1.1.1", Missing),
            (b"proxy TCP4", Missing),
            (b"\r\n\r\nGET", Missing),
            (&long, Malformed),
            (b"PROXY TCP4 203.0.113.9 10.0.0.1 8080\r\n", Malformed),
            (b"PROXY TCP4 203.0.113.9 10.0.0.1 +80 80\r\n", Malformed),
            (b"PROXY TCP4 203.0.113.9 10.0.0.1 65536 80\r\n", Malformed),
            (b"PROXY TCP4 2001:db8::9 ::1 7 80\r\n", Malformed),
            (b"PROXY TCP4  203.0.113.9 10.0.0.1 1 80\r\n", Malformed),
            (b"PROXY UDP4 203.0.113.9 10.0.0.1 1 80\r\n", Malformed),
            (b"PROXY TCP4\r\n", Malformed),
            (b"PROXY \r\n", Malformed),
            (b"PROXY TCP4 203.0.113.9 10.0.0.1 1 80\rX\r\n", Malformed),
            (b"PROXY TCP4 \xff 10.0.0.1 1 80\r\n", Malformed),
            (&v2(0x21, 0x11, &[0; 11]), Malformed),
            (&v2(0x21, 0x21, &[0; 35]), Malformed),
            (&v2(0x21, 0x31, &[0; 215]), Malformed),
            (&v2(0x22, 0x11, &[0; 12]), Malformed),
            (&v2(0x11, 0x11, &[0; 12]), Malformed),
            (&v2(0x21, 0x41, &[0; 12]), Malformed),
            (&v2(0x20, 0, &[0; 521])[..16], Malformed),
        ] {
            assert_eq!(ProxyProtocol::Any.read(bytes), expected, "{bytes:?}");
        }
        assert_eq!(ProxyProtocol::Off.read(b"PROXY UNKNOWN\r\n"), Missing);
    }
}
