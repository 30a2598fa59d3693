//! Addresses, networks and upstreams.

use std::net::{IpAddr, Ipv6Addr};

use cupo_core::canonical_address;
use ipnet::{IpNet, Ipv4Net};

use super::value::Value;
use crate::problem::Problem;
use crate::source::{ListenSource, UpstreamSource};

pub(super) fn listen(value: &Value<'_>) -> Option<ListenSource> {
    value.text()?.parse().map_or_else(|problem| value.fault(problem), Some)
}

/// The permission bits of a socket's file, three octal digits.
pub(super) fn socket_mode(value: &Value<'_>) -> Option<u32> {
    let text = value.text()?;
    let digits = text.strip_prefix('0').filter(|rest| rest.len() == 3).unwrap_or(text);
    let octal = digits.len() == 3 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let mode = if octal { u32::from_str_radix(digits, 8).ok() } else { None };
    mode.or_else(|| value.fault(Problem::SocketMode(text.into())))
}

/// A network, or an address as a network of its own. IPv4 in the clothes of IPv6 is what requests are compared as: IPv4.
pub(super) fn network(value: &Value<'_>) -> Option<IpNet> {
    let text = value.text()?;
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(canonical_address(address).into());
    }
    let Ok(network) = text.parse::<IpNet>() else { return value.fault(Problem::Network(text.into())) };
    if network.trunc() == network {
        Some(unmapped(network))
    } else {
        value.fault(Problem::HostBits { text: text.into(), network })
    }
}

fn unmapped(network: IpNet) -> IpNet {
    let IpNet::V6(v6) = network else { return network };
    let inside = v6.addr().to_ipv4_mapped().zip(v6.prefix_len().checked_sub(96));
    inside.and_then(|(address, bits)| Ipv4Net::new(address, bits).ok()).map_or(network, IpNet::V4)
}

pub(super) fn upstream(value: &Value<'_>) -> Option<UpstreamSource> {
    let text = value.text()?;
    if text == "demo" {
        return Some(UpstreamSource::Demo);
    }
    if text.contains('@') {
        return value.fault(Problem::UpstreamLogin);
    }
    if text.starts_with("https:") {
        return value.fault(Problem::HttpsUpstream(text.into()));
    }
    let parts = text.strip_prefix("http://").and_then(host_and_port);
    let Some((host, port)) = parts else { return value.fault(Problem::Upstream(text.into())) };
    Some(UpstreamSource::Http { host: host.to_owned(), port })
}

/// `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`, perhaps with a final slash; the port of HTTP is 80.
fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let (host, port) = if let Some((address, rest)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        address.parse::<Ipv6Addr>().ok()?;
        (address, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
    } else {
        let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        if host.is_empty() || !host.bytes().all(legal) {
            return None;
        }
        (host, port)
    };
    let port = match port {
        None => 80,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().ok().filter(|p| *p > 0)?
        }
        Some(_) => return None,
    };
    Some((host, port))
}

#[cfg(test)]
mod tests {
    use super::host_and_port;

    #[test]
    fn upstreams_are_host_and_port() {
        for (text, expected) in [
            ("127.0.0.1:9000", Some(("127.0.0.1", 9000))),
            ("app.internal/", Some(("app.internal", 80))),
            ("[::1]:9", Some(("::1", 9))),
            ("[::1]", Some(("::1", 80))),
            ("", None),
            ("/", None),
            (":80", None),
            ("x:", None),
            ("x:0", None),
            ("x:+80", None),
            ("x:65536", None),
            ("x:80/y", None),
            ("x/y", None),
            ("x?y", None),
            ("u@x", None),
            ("[::1", None),
            ("[x]:80", None),
            ("[::1]80", None),
        ] {
            assert_eq!(host_and_port(text), expected, "{text}");
        }
    }
}
