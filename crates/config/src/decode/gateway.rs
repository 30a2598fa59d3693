//! The gateway's settings.

use std::num::NonZeroUsize;

use super::address;
use super::scalar::MAX;
use super::value::{Map, Value};
use crate::problem::Problem;
use crate::source::{GatewaySource, LimitsSource, OwnPath, ProxyProtocol, TimeoutsSource, UpstreamProtocol};

/// More worker threads than this are a slip of the pen.
const MAX_WORKERS: u64 = 1024;

/// What is wrong is left out: nobody sees these settings then.
pub(super) fn gateway(map: &Map<'_>) -> GatewaySource {
    let workers = map.get("workers").and_then(|value| value.integer(1, MAX_WORKERS));
    GatewaySource {
        listen: map.get("listen").and_then(|value| address::listen(&value)),
        socket_mode: map.get("socket_mode").and_then(|value| address::socket_mode(&value)),
        proxy_protocol: map.get("proxy_protocol").and_then(|value| {
            value.word("a version of the PROXY protocol", &ProxyProtocol::ALL, ProxyProtocol::name)
        }),
        upstream: map.get("upstream").and_then(|value| address::upstream(&value)),
        upstream_protocol: map
            .get("upstream_protocol")
            .and_then(|value| value.word("a protocol", &UpstreamProtocol::ALL, UpstreamProtocol::name)),
        health_path: map.get("health_path").and_then(|value| own_path(&value)),
        status_path: None,
        access_log: map.get("access_log").and_then(|value| value.boolean()),
        workers: workers.and_then(|workers| NonZeroUsize::new(usize::try_from(workers).ok()?)),
        timeouts: map.get("timeouts").and_then(|value| timeouts(&value)).unwrap_or_default(),
        limits: map.get("limits").and_then(|value| limits(&value)).unwrap_or_default(),
    }
}

pub(super) fn own_path(value: &Value<'_>) -> Option<OwnPath> {
    let text = value.text()?;
    let legal = |b: u8| b.is_ascii_graphic() && !matches!(b, b'?' | b'#' | b'{' | b'}' | b'*');
    match text {
        "none" => Some(OwnPath::Nowhere),
        path if path.starts_with('/') && path.bytes().all(legal) => Some(OwnPath::At(path.to_owned())),
        _ => value.fault(Problem::OwnPath(text.into())),
    }
}

fn timeouts(value: &Value<'_>) -> Option<TimeoutsSource> {
    let map = value.map(&["connect", "request_header", "response_header", "idle", "keep_alive", "drain"])?;
    let duration = |name| map.get(name).and_then(|value| value.duration());
    Some(TimeoutsSource {
        connect: duration("connect"),
        request_header: duration("request_header"),
        response_header: duration("response_header"),
        idle: duration("idle"),
        keep_alive: duration("keep_alive"),
        drain: duration("drain"),
    })
}

fn limits(value: &Value<'_>) -> Option<LimitsSource> {
    let map = value.map(&[
        "header_bytes",
        "headers",
        "target_bytes",
        "body_bytes",
        "response_header_bytes",
        "connections",
        "concurrent_streams",
    ])?;
    let size = |name, min, max| map.get(name).and_then(|value| value.size(min, max));
    let number = |name, max| map.get(name).and_then(|value| value.integer(1, max));
    Some(LimitsSource {
        header_bytes: size("header_bytes", 8 << 10, 16 << 20),
        headers: number("headers", 10_000),
        target_bytes: size("target_bytes", 256, 1 << 20),
        body_bytes: size("body_bytes", 0, MAX),
        response_header_bytes: size("response_header_bytes", 8 << 10, 16 << 20),
        connections: number("connections", 10_000_000),
        concurrent_streams: number("concurrent_streams", 100_000),
    })
}
