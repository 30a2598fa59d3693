//! The Cupo gateway: a reverse proxy that enforces a policy.
//!
//! [`serve`] runs any tower service on worker threads that share nothing; [`Forwarder`] is the service that passes
//! requests to an upstream. A limiter is a layer between the two.

mod access_log;
mod activity;
mod admin;
mod connection;
mod demo;
mod diagnostics;
mod edge;
mod error;
mod forward;
mod gateway;
mod health;
mod listener;
mod peer;
mod problem;
mod proxy_header;
mod runtime;
mod settings;
mod socket;
mod stream;
mod timers;
mod unix_socket;
mod worker;

pub use self::access_log::{AccessLog, LimiterNote, UpstreamDuration};
pub use self::admin::{
    AUDIT_TARGET, AdminListener, AdminSettings, AdminTls, AdminToken, Control, Nearest, NotReloaded,
    PolicyText, Reloaded, Revision, RunningAdmin, start_admin,
};
pub use self::demo::Demo;
pub use self::edge::RequestBody;
pub use self::error::{BodyError, Error};
pub use self::forward::{
    ForwardBody, ForwardFuture, ForwardSettings, Forwarder, Forwarding, Trust, Upstream, UpstreamProtocol,
    UpstreamTimeouts,
};
pub use self::gateway::start_gateway;
pub use self::health::{PolicyReport, PolicyReporter, StoreReport, StoreReporter};
pub use self::listener::Listeners;
pub use self::peer::PeerInfo;
pub use self::proxy_header::{ProxyProtocol, ReadProxyHeader};
pub use self::runtime::{Running, Stopper, serve};
pub use self::settings::{ClientLimits, ClientTimeouts, MayRelay, ServerSettings};
pub use self::worker::Worker;
