//! What the operator may set about the upstream side.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use cupo_http::Peer;
use http::uri::Scheme;
use http::{HeaderMap, Uri};

use crate::error::Error;

/// Says whether a peer may speak for its clients. May remove from its request what it may not say, besides `Forwarded`,
/// `X-Forwarded-*` and `X-Real-IP`, which are dealt with.
pub type Trust = Arc<dyn Fn(Peer, &mut HeaderMap) -> bool + Send + Sync>;

/// Settings of a [`Forwarder`](crate::Forwarder).
#[derive(Clone)]
#[non_exhaustive]
pub struct ForwardSettings {
    /// Where requests go.
    pub upstream: Upstream,
    /// Which HTTP the upstream speaks.
    pub upstream_protocol: UpstreamProtocol,
    /// How long the upstream, and a request body, may take.
    pub timeouts: UpstreamTimeouts,
    /// Bytes of a request body; no bound by default, 413 when exceeded.
    pub max_body_bytes: Option<u64>,
    /// Bytes of a response head; 64 KiB by default, 502 when exceeded.
    pub max_response_head_bytes: usize,
    /// Idle HTTP/1 connections to the upstream that each worker keeps; 256 by default.
    pub max_idle_connections: usize,
    /// Which peers' `Forwarded` and `X-Forwarded-*` fields are kept and appended to; nobody's by default.
    pub trusted: Trust,
    /// What `Via` calls this proxy on requests; `cupo` by default, `None` for no `Via`.
    pub via: Option<Box<str>>,
}

impl ForwardSettings {
    /// The defaults for an upstream.
    #[must_use]
    pub fn new(upstream: Upstream) -> Self {
        Self {
            upstream,
            upstream_protocol: UpstreamProtocol::default(),
            timeouts: UpstreamTimeouts::default(),
            max_body_bytes: None,
            max_response_head_bytes: 64 * 1024,
            max_idle_connections: 256,
            trusted: Arc::new(|_, _| false),
            via: Some("cupo".into()),
        }
    }
}

impl fmt::Debug for ForwardSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForwardSettings")
            .field("upstream", &self.upstream)
            .field("upstream_protocol", &self.upstream_protocol)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// Which HTTP version is spoken to the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum UpstreamProtocol {
    /// HTTP/2 for gRPC, which needs it: requests whose content type is `application/grpc…`, and HTTP/2 requests that
    /// accept trailers (`te: trailers`). HTTP/1.1 for all else.
    #[default]
    Auto,
    /// HTTP/1.1 always.
    Http1,
    /// HTTP/2 without TLS ("prior knowledge") always, but for upgrades, which only HTTP/1.1 has.
    Http2,
}

/// How long the upstream side may take. Each is met to within 50 ms and never early.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamTimeouts {
    /// To resolve a name and connect; 5 s by default, 504 when exceeded.
    pub connect: Duration,
    /// From the end of a request to the response head; 60 s by default, 504 when exceeded.
    pub response_head: Duration,
    /// Without a byte of a body under way; 60 s by default. 408 when the client stalls before there is a response, 504
    /// when the upstream does, and a cut response afterwards.
    pub idle: Duration,
    /// How long an idle connection is kept for another request; 60 s by default. Best below the upstream's own.
    pub keep_alive: Duration,
    /// How long a client's `Expect: 100-continue` waits for the upstream's word before its body is asked for anyway;
    /// 1 s by default.
    pub expect_continue: Duration,
}

impl Default for UpstreamTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            response_head: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            keep_alive: Duration::from_secs(60),
            expect_continue: Duration::from_secs(1),
        }
    }
}

/// The host and port that requests are forwarded to, as `http://host:port` or `host:port`; the port is 80 unless said
/// otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    host: Box<str>,
    port: u16,
}

impl Upstream {
    /// The host name, or the address without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl From<std::net::SocketAddr> for Upstream {
    fn from(address: std::net::SocketAddr) -> Self {
        Self { host: address.ip().to_string().into(), port: address.port() }
    }
}

impl FromStr for Upstream {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // What stands before an `@` may be a password.
        let host = text.rsplit_once('@').map(|(_, host)| format!("…@{host}"));
        let refused = || Error::Upstream { text: host.as_deref().unwrap_or(text).into() };
        let uri: Uri = text.parse().map_err(|_| refused())?;
        let scheme = uri.scheme().is_none_or(|scheme| *scheme == Scheme::HTTP);
        let path = matches!(uri.path(), "" | "/") && uri.query().is_none();
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        let (true, true, Some(authority)) = (scheme, path, authority) else { return Err(refused()) };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        // What follows the host must be a port that was understood.
        let bare = authority.as_str().len() == authority.host().len();
        match authority.port_u16() {
            Some(port) if port > 0 && !host.is_empty() => Ok(Self { host: host.into(), port }),
            None if bare && !host.is_empty() => Ok(Self { host: host.into(), port: 80 }),
            _ => Err(refused()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upstreams_are_host_and_port() {
        for (text, host, port) in [
            ("http://127.0.0.1:8080", "127.0.0.1", 8080),
            ("http://app.internal/", "app.internal", 80),
            ("localhost:3000", "localhost", 3000),
            ("http://[::1]:9", "::1", 9),
        ] {
            let upstream: Upstream = text.parse().unwrap();
            assert_eq!((upstream.host(), upstream.port()), (host, port), "{text}");
        }
    }

    #[test]
    fn what_is_no_upstream_is_refused() {
        for text in [
            "",
            "/",
            "https://x",
            "http://x/y",
            "http://x?y",
            "http://u@x",
            "http://x:0",
            "http://x:99999",
            "unix:/x",
        ] {
            assert!(text.parse::<Upstream>().is_err(), "{text}");
        }
    }
}
