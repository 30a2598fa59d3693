//! The fields that tell the upstream who asks: `X-Forwarded-*` and `Forwarded` (RFC 7239).
//!
//! A trusted peer's values are kept and appended to; anybody else's are replaced.

use std::io::Write;
use std::net::IpAddr;

use http::header::{FORWARDED, HeaderMap, HeaderName};

use super::headers::speaks_for_client;

/// How clients reach this server. (TLS is not terminated here yet.)
const SCHEME: &[u8] = b"http";

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Takes one field of the four: its name, and a function that writes its value.
pub(super) trait Sink {
    fn field(&mut self, name: &HeaderName, value: impl FnOnce(&mut Vec<u8>));
}

/// What there is to tell about a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    /// The address that the request came from; unknown outside this crate's server.
    pub(super) peer: Option<IpAddr>,
    pub(super) host: Option<&'a [u8]>,
    /// The request's own fields, if its peer may speak for its clients.
    pub(super) vouched: Option<&'a HeaderMap>,
}

impl Origin<'_> {
    /// Gives all four fields, as far as known.
    pub(super) fn write(&self, sink: &mut impl Sink) {
        if self.peer.is_some() || self.has(&X_FORWARDED_FOR) {
            sink.field(&X_FORWARDED_FOR, |out| {
                self.list(&X_FORWARDED_FOR, out, self.peer.is_some());
                if let Some(peer) = self.peer {
                    push_ip(out, peer);
                }
            });
        }
        sink.field(&X_FORWARDED_PROTO, |out| {
            if self.has(&X_FORWARDED_PROTO) {
                self.list(&X_FORWARDED_PROTO, out, false);
            } else {
                out.extend_from_slice(SCHEME);
            }
        });
        if self.has(&X_FORWARDED_HOST) {
            sink.field(&X_FORWARDED_HOST, |out| self.list(&X_FORWARDED_HOST, out, false));
        } else if let Some(host) = self.host {
            sink.field(&X_FORWARDED_HOST, |out| out.extend_from_slice(host));
        }
        sink.field(&FORWARDED, |out| {
            self.list(&FORWARDED, out, true);
            self.element(out);
        });
    }

    /// Whether a field of the request does not pass: a stranger's word about the client, or one that is written anew.
    pub(super) fn replaces(&self, name: &HeaderName) -> bool {
        speaks_for_client(name)
            && (self.vouched.is_none()
                || [X_FORWARDED_FOR, X_FORWARDED_PROTO, X_FORWARDED_HOST, FORWARDED].contains(name))
    }

    fn has(&self, name: &HeaderName) -> bool {
        self.vouched.is_some_and(|headers| headers.contains_key(name))
    }

    /// Writes what a trusted peer said, as one list; `open` if more follows.
    fn list(&self, name: &HeaderName, out: &mut Vec<u8>, open: bool) {
        let mut first = true;
        for value in self.vouched.into_iter().flat_map(|headers| headers.get_all(name)) {
            if value.is_empty() {
                continue;
            }
            if !first {
                out.extend_from_slice(b", ");
            }
            first = false;
            out.extend_from_slice(value.as_bytes());
        }
        if open && !first {
            out.extend_from_slice(b", ");
        }
    }

    /// Writes this hop's element of `Forwarded`.
    fn element(&self, out: &mut Vec<u8>) {
        match self.peer.map(|peer| peer.to_canonical()) {
            Some(IpAddr::V6(address)) => {
                // An address with colons must be bracketed, and so quoted.
                out.extend_from_slice(b"for=\"[");
                push_ip(out, IpAddr::V6(address));
                out.extend_from_slice(b"]\"");
            }
            Some(address) => {
                out.extend_from_slice(b"for=");
                push_ip(out, address);
            }
            None => out.extend_from_slice(b"for=unknown"),
        }
        if let Some(host) = self.host {
            out.extend_from_slice(b";host=");
            push_quoted(out, host);
        }
        out.extend_from_slice(b";proto=");
        out.extend_from_slice(SCHEME);
    }
}

/// An IPv4-mapped IPv6 address is the IPv4 address that a dual-stack socket saw.
fn push_ip(out: &mut Vec<u8>, address: IpAddr) {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            for (index, octet) in address.octets().into_iter().enumerate() {
                if index > 0 {
                    out.push(b'.');
                }
                push_octet(out, octet);
            }
        }
        // Writing to a vector does not fail.
        IpAddr::V6(address) => drop(write!(out, "{address}")),
    }
}

fn push_octet(out: &mut Vec<u8>, octet: u8) {
    if octet >= 100 {
        out.push(b'0' + octet / 100);
    }
    if octet >= 10 {
        out.push(b'0' + octet / 10 % 10);
    }
    out.push(b'0' + octet % 10);
}

/// Writes a token as it is and anything else as a quoted string.
fn push_quoted(out: &mut Vec<u8>, value: &[u8]) {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'~');
    if !value.is_empty() && value.iter().all(token) {
        out.extend_from_slice(value);
        return;
    }
    out.push(b'"');
    if value.iter().any(|byte| matches!(byte, b'"' | b'\\')) {
        for &byte in value {
            if matches!(byte, b'"' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
    } else {
        out.extend_from_slice(value);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[derive(Default)]
    struct Fields(Vec<(String, String)>);

    impl Sink for Fields {
        fn field(&mut self, name: &HeaderName, value: impl FnOnce(&mut Vec<u8>)) {
            let mut out = Vec::new();
            value(&mut out);
            self.0.push((name.to_string(), String::from_utf8(out).unwrap()));
        }
    }

    fn written(origin: Origin<'_>) -> Vec<String> {
        let mut fields = Fields::default();
        origin.write(&mut fields);
        fields.0.into_iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn an_ipv6_peer_is_bracketed_and_quoted() {
        let origin =
            Origin { peer: "2001:db8::7".parse().ok(), host: Some(b"a.example:8080"), vouched: None };
        assert_eq!(
            written(origin),
            [
                "x-forwarded-for: 2001:db8::7",
                "x-forwarded-proto: http",
                "x-forwarded-host: a.example:8080",
                "forwarded: for=\"[2001:db8::7]\";host=\"a.example:8080\";proto=http",
            ]
        );
    }

    #[test]
    fn a_trusted_peer_is_appended_to() {
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", HeaderValue::from_static("203.0.113.9"));
        headers.append("x-forwarded-for", HeaderValue::from_static("198.51.100.2"));
        headers.append("x-forwarded-proto", HeaderValue::from_static("https"));
        headers.append("x-forwarded-host", HeaderValue::from_static("shop.example"));
        headers.append("forwarded", HeaderValue::from_static("for=203.0.113.9"));
        let origin =
            Origin { peer: "10.0.100.205".parse().ok(), host: Some(b"inner"), vouched: Some(&headers) };
        assert_eq!(
            written(origin),
            [
                "x-forwarded-for: 203.0.113.9, 198.51.100.2, 10.0.100.205",
                "x-forwarded-proto: https",
                "x-forwarded-host: shop.example",
                "forwarded: for=203.0.113.9, for=10.0.100.205;host=inner;proto=http",
            ]
        );
    }

    #[test]
    fn a_mapped_address_is_ipv4_and_a_host_cannot_break_out() {
        let origin =
            Origin { peer: "::ffff:192.0.2.1".parse().ok(), host: Some(b"a\";for=x"), vouched: None };
        let fields = written(origin);
        assert_eq!(fields[0], "x-forwarded-for: 192.0.2.1");
        assert_eq!(fields[3], "forwarded: for=192.0.2.1;host=\"a\\\";for=x\";proto=http");
    }
}
