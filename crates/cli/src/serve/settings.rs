//! From what the policy file says to what the server is set to.

use std::borrow::Cow;
use std::time::Duration;

use cupo_config::{GatewaySource, OwnPath, ProxyProtocol as Relays, UpstreamProtocol as Said};
use cupo_server::{ForwardSettings, ProxyProtocol, ServerSettings, Upstream, UpstreamProtocol};

/// The listening side.
pub(super) fn server(source: &GatewaySource) -> ServerSettings {
    let mut settings = ServerSettings::default();
    set(&mut settings.workers, source.workers);
    match &source.health_path {
        None => {}
        Some(OwnPath::At(path)) => settings.health_path = Some(Cow::Owned(path.clone())),
        Some(_) => settings.health_path = None,
    }
    settings.proxy_protocol = match source.proxy_protocol {
        Some(Relays::V1) => ProxyProtocol::V1,
        Some(Relays::V2) => ProxyProtocol::V2,
        Some(Relays::Any) => ProxyProtocol::Any,
        _ => ProxyProtocol::Off,
    };
    let timeouts = &source.timeouts;
    set(&mut settings.timeouts.request_head, timeouts.request_header);
    set(&mut settings.timeouts.keep_alive, timeouts.keep_alive);
    set(&mut settings.timeouts.stall, timeouts.idle);
    set(&mut settings.drain_timeout, timeouts.drain);
    let limits = &source.limits;
    set(&mut settings.limits.head_bytes, limits.header_bytes.map(saturated));
    set(&mut settings.limits.headers, limits.headers.map(saturated));
    set(&mut settings.limits.target_bytes, limits.target_bytes.map(saturated));
    set(&mut settings.max_connections, limits.connections.map(saturated));
    set(&mut settings.max_concurrent_streams, limits.concurrent_streams.map(saturated));
    settings
}

/// The upstream side.
pub(super) fn forward(source: &GatewaySource, upstream: Upstream) -> ForwardSettings {
    let mut settings = ForwardSettings::new(upstream);
    settings.upstream_protocol = match source.upstream_protocol {
        Some(Said::Http1) => UpstreamProtocol::Http1,
        Some(Said::Http2) => UpstreamProtocol::Http2,
        _ => UpstreamProtocol::Auto,
    };
    set(&mut settings.timeouts.connect, source.timeouts.connect);
    set(&mut settings.timeouts.response_head, source.timeouts.response_header);
    set(&mut settings.timeouts.idle, source.timeouts.idle);
    settings.max_body_bytes = source.limits.body_bytes.or(settings.max_body_bytes);
    set(&mut settings.max_response_head_bytes, source.limits.response_header_bytes.map(saturated));
    settings
}

/// Where the health endpoint answers.
pub(crate) fn health_path(source: &GatewaySource) -> Option<Cow<'static, str>> {
    server(source).health_path
}

/// Where callers are told which limits apply to them.
pub(crate) fn status_path(source: &GatewaySource) -> Option<&str> {
    match &source.status_path {
        None => Some("/rate-limit-status"),
        Some(OwnPath::At(path)) => Some(path),
        Some(_) => None,
    }
}

/// How often files that may change are looked at.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(2);

/// How soon again where somebody is writing them.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Counters at rest are swept from memory at every so many looks.
pub(super) const SWEEP_EVERY: u32 = 5;

/// The permissions of a Unix socket's file: who is in its group may connect.
pub(super) const SOCKET_MODE: u32 = 0o660;

fn set<T>(field: &mut T, said: Option<T>) {
    if let Some(said) = said {
        *field = said;
    }
}

fn saturated<T: TryFrom<u64> + Bound>(number: u64) -> T {
    T::try_from(number).unwrap_or(T::MOST)
}

/// A number type's largest value.
trait Bound {
    const MOST: Self;
}

impl Bound for usize {
    const MOST: Self = Self::MAX;
}

impl Bound for u32 {
    const MOST: Self = Self::MAX;
}
