//! What the operator may set about the listening side.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use cupo_http::Peer;

use crate::access_log::AccessLog;
use crate::health::{PolicyReporter, StoreReporter};
use crate::proxy_header::ProxyProtocol;

/// Says whether a peer may begin its connections with a PROXY header, and so say who its clients are.
pub type MayRelay = Arc<dyn Fn(Peer) -> bool + Send + Sync>;

/// Settings of a server: everything about the client side. The upstream side is in
/// [`ForwardSettings`](crate::ForwardSettings).
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerSettings {
    /// Worker threads, each with its own sockets and its own upstream connections; the number of cores by default.
    pub workers: NonZeroUsize,
    /// Client connections that each worker holds at once; it accepts no more until one ends. 16,384 by default.
    pub max_connections: usize,
    /// How long a client may take.
    pub timeouts: ClientTimeouts,
    /// How much a client may send.
    pub limits: ClientLimits,
    /// HTTP/2 requests that one connection may have in flight; 256 by default.
    pub max_concurrent_streams: u32,
    /// Where the health endpoint answers, before everything else; `/.cupo/health` by default, `None` for nowhere.
    pub health_path: Option<Cow<'static, str>>,
    /// Whom the health endpoint asks how the store does; nobody by default.
    pub store_reporter: Option<StoreReporter>,
    /// Whom the health endpoint asks which policy is in force; nobody by default.
    pub policy_reporter: Option<PolicyReporter>,
    /// How long the health endpoint says 503 before listening stops, so that load balancers look elsewhere; zero by
    /// default.
    pub drain_notice: Duration,
    /// How long requests in flight may take once listening has stopped; 30 s by default.
    pub drain_timeout: Duration,
    /// The access log; none by default.
    pub access_log: Option<AccessLog>,
    /// Whether connections begin with a PROXY header; off by default.
    pub proxy_protocol: ProxyProtocol,
    /// From whom one is taken where they do: nobody by default. Connections of all others are closed.
    pub may_relay: MayRelay,
}

impl fmt::Debug for ServerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSettings")
            .field("workers", &self.workers)
            .field("timeouts", &self.timeouts)
            .field("limits", &self.limits)
            .field("proxy_protocol", &self.proxy_protocol)
            .finish_non_exhaustive()
    }
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            workers: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            max_connections: 16_384,
            timeouts: ClientTimeouts::default(),
            limits: ClientLimits::default(),
            max_concurrent_streams: 256,
            health_path: Some(Cow::Borrowed("/.cupo/health")),
            store_reporter: None,
            policy_reporter: None,
            drain_notice: Duration::ZERO,
            drain_timeout: Duration::from_secs(30),
            access_log: None,
            proxy_protocol: ProxyProtocol::Off,
            may_relay: Arc::new(|_| false),
        }
    }
}

/// How long a client may take before its connection is closed. Each is met to within 50 ms and never early.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientTimeouts {
    /// From the first byte of a request head (or from connecting) to its last; 10 s by default. Stops slow-loris.
    pub request_head: Duration,
    /// Between requests on one connection; 75 s by default.
    pub keep_alive: Duration,
    /// Without taking any byte of a response that is ready; 60 s by default. On HTTP/2 this looks at the connection:
    /// one stalled stream is let be while others make progress.
    pub stall: Duration,
}

impl Default for ClientTimeouts {
    fn default() -> Self {
        Self {
            request_head: Duration::from_secs(10),
            keep_alive: Duration::from_secs(75),
            stall: Duration::from_secs(60),
        }
    }
}

/// How much a client may send before its request is refused.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientLimits {
    /// Bytes of a request head; 32 KiB by default, 431 when exceeded. At least 8 KiB are always read.
    pub head_bytes: u32,
    /// Header lines; 100 by default, 431 when exceeded.
    pub headers: usize,
    /// Bytes of a request target; 8 KiB by default, 414 when exceeded.
    pub target_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { head_bytes: 32 * 1024, headers: 100, target_bytes: 8 * 1024 }
    }
}
