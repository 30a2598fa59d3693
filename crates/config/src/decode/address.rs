//! Addresses, networks and upstreams.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;

use super::value::Value;
use crate::problem::Problem;
use crate::source::UpstreamSource;

pub(super) fn listen(value: &Value<'_>) -> Option<SocketAddr> {
    let text = value.text()?;
    text.parse().ok().or_else(|| value.fault(Problem::Listen(text.into())))
}

/// A network, or an address as a network of its own.
pub(super) fn network(value: &Value<'_>) -> Option<IpNet> {
    let text = value.text()?;
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.into());
    }
    let Ok(network) = text.parse::<IpNet>() else { return value.fault(Problem::Network(text.into())) };
    if network.trunc() == network {
        Some(network)
    } else {
        value.fault(Problem::HostBits { text: text.into(), network })
    }
}

pub(super) fn upstream(value: &Value<'_>) -> Option<UpstreamSource> {
    let text = value.text()?;
    if text == "demo" {
        return Some(UpstreamSource::Demo);
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
