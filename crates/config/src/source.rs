//! What a policy file says, as plain values. `None` stands for what it does not say.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use cupo_core::Policy;

use crate::admin_source::AdminSource;
use crate::callers::CallersFile;
use crate::jwt_source::JwtSource;
use crate::problem::Problem;
use crate::responses_source::ResponsesSource;
use crate::store_source::StoreSource;

/// Everything a policy file says.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The gateway's settings.
    pub gateway: GatewaySource,
    /// Where counters are kept.
    pub store: StoreSource,
    /// The admin API, where there is one.
    pub admin: Option<AdminSource>,
    /// How callers are known by tokens, if they are.
    pub jwt: Option<JwtSource>,
    /// How callers are answered.
    pub responses: ResponsesSource,
    /// The compiled policy.
    pub policy: Arc<Policy>,
    /// The file of callers, where the policy names one.
    pub callers: Option<CallersFile>,
    /// The file, for messages.
    pub source: Source,
}

/// A file's name and text.
#[derive(Clone)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
}

impl fmt::Debug for Source {
    /// Without the text, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        // A byte order mark says nothing, and would push the first line's columns by one.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = if text.contains('\r') {
            text.replace("\r\n", "\n").replace('\r', "\n")
        } else {
            text.to_owned()
        };
        Self { name: name.into(), text: text.into() }
    }

    /// The name that errors give.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text, without byte order mark, its lines ended by `\n`.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// What the file says about the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct GatewaySource {
    /// Where to listen.
    pub listen: Option<ListenSource>,
    /// The permission bits of the file of a Unix socket.
    pub socket_mode: Option<u32>,
    /// How connections begin.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// Where requests are forwarded to.
    pub upstream: Option<UpstreamSource>,
    /// Which HTTP the upstream speaks.
    pub upstream_protocol: Option<UpstreamProtocol>,
    /// Where the health endpoint answers.
    pub health_path: Option<OwnPath>,
    /// Where the status endpoint answers.
    pub status_path: Option<OwnPath>,
    /// Whether requests are logged.
    pub access_log: Option<bool>,
    /// Worker threads, 1 to 1024.
    pub workers: Option<NonZeroUsize>,
    /// How long things may take.
    pub timeouts: TimeoutsSource,
    /// How much may be sent.
    pub limits: LimitsSource,
}

/// Where the gateway listens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListenSource {
    /// On this address and port.
    Tcp(SocketAddr),
    /// On a Unix socket with this path.
    Unix(PathBuf),
}

impl FromStr for ListenSource {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let Some(path) = text.strip_prefix("unix:") else {
            return text.parse().map(Self::Tcp).map_err(|_| Problem::Listen(text.into()));
        };
        // The kernel's address of a socket holds no more.
        if path.len() <= 107 && path.starts_with('/') && !path.contains('\0') {
            Ok(Self::Unix(PathBuf::from(path)))
        } else {
            Err(Problem::SocketPath(text.into()))
        }
    }
}

impl fmt::Display for ListenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Whether connections begin with a header of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProxyProtocol {
    /// Without.
    Off,
    /// With one of version 1.
    V1,
    /// With one of version 2.
    V2,
    /// With one of either.
    Any,
}

impl ProxyProtocol {
    pub(crate) const ALL: [Self; 4] = [Self::Off, Self::V1, Self::V2, Self::Any];

    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::Any => "any",
        }
    }
}

/// Where requests are forwarded to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamSource {
    /// The built-in demonstration upstream.
    Demo,
    /// An HTTP server, without TLS. Shown as `http://host:port`.
    Http {
        /// The host name, or the address without brackets.
        host: String,
        /// The port, above 0.
        port: u16,
    },
}

impl fmt::Display for UpstreamSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Demo => f.write_str("demo"),
            Self::Http { host, port } if host.contains(':') => write!(f, "http://[{host}]:{port}"),
            Self::Http { host, port } => write!(f, "http://{host}:{port}"),
        }
    }
}

/// Which HTTP the upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamProtocol {
    /// HTTP/2 for requests that need it, HTTP/1.1 for all else.
    Auto,
    /// HTTP/1.1 always.
    Http1,
    /// HTTP/2 without TLS always.
    Http2,
}

impl UpstreamProtocol {
    pub(crate) const ALL: [Self; 3] = [Self::Auto, Self::Http1, Self::Http2];

    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Http1 => "http1",
            Self::Http2 => "http2",
        }
    }
}

/// Where an endpoint of the gateway's own answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnPath {
    /// Nowhere.
    Nowhere,
    /// At this path, which begins with `/`.
    At(String),
}

/// How long things may take; all above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TimeoutsSource {
    /// To connect to the upstream.
    pub connect: Option<Duration>,
    /// For a client to send a request's header.
    pub request_header: Option<Duration>,
    /// For the upstream to answer with a response's header.
    pub response_header: Option<Duration>,
    /// Without a byte of a body under way.
    pub idle: Option<Duration>,
    /// Between requests on one client connection.
    pub keep_alive: Option<Duration>,
    /// For requests in flight once the gateway stops.
    pub drain: Option<Duration>,
}

/// How much may be sent and held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LimitsSource {
    /// Bytes of a request's header.
    pub header_bytes: Option<u64>,
    /// Lines of a request's header.
    pub headers: Option<u64>,
    /// Bytes of a request's target.
    pub target_bytes: Option<u64>,
    /// Bytes of a request's body.
    pub body_bytes: Option<u64>,
    /// Bytes of a response's header.
    pub response_header_bytes: Option<u64>,
    /// Client connections that each worker holds at once.
    pub connections: Option<u64>,
    /// Requests in flight on one HTTP/2 connection.
    pub concurrent_streams: Option<u64>,
}
