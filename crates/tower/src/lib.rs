//! A tower layer that enforces a Cupo policy: in axum, hyper, tonic, or wherever else a [`tower_service::Service`] answers
//! HTTP requests.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use axum::Router;
//! use axum::routing::get;
//! use cupo_core::{Engine, KeySpec, Limit, Policy, PolicySource, RuleSource};
//! use cupo_store_memory::MemoryStore;
//! use cupo_tower::CupoLayer;
//!
//! let policy = Policy::compile(PolicySource {
//!     rules: vec![RuleSource::new(
//!         "per-client",
//!         KeySpec::parse(&["ip"])?,
//!         Limit::sliding_window_counter(100, Duration::from_secs(60))?,
//!     )],
//!     ..PolicySource::default()
//! })?;
//! let engine = Arc::new(Engine::new(policy, MemoryStore::new()));
//!
//! let app: Router = Router::new().route("/", get(|| async { "¡Hay cupo!" })).layer(CupoLayer::new(engine));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An admitted request goes on to the service; the rate-limit fields are added to whatever the service answers. A refused one
//! is answered here: 429 where it may come again, 503 where the store is broken, and so on, as
//! [`Presentation::refusal`](cupo_http::Presentation::refusal) says; [`CupoLayer::presentation`] sets how. A request that a rule
//! delays is held until its slot; if the caller goes away before, its slot is given back. Every response carries the
//! [`RequestOutcome`] in its extensions, for access logs.
//!
//! Where a rule waits for the response (its cost is open, or it charges some statuses only), the head of the service's response
//! settles what was reserved. The response does not wait for that, so its rate-limit fields show the balance with the reservation.
//! Where no response comes (the caller hangs up, the service fails) what was reserved stays charged: else hanging up in time
//! would be a way around a limit. A service that answers in the place of another says so by [`NoAnswer`].
//!
//! # One state for all
//!
//! Servers clone their service for every connection. Clones of a [`CupoLayer`], and of every [`CupoService`] made by one,
//! share the engine, so the limits hold over all connections together.
//!
//! # Another policy
//!
//! A [`ReloadHandle`] swaps the policy and everything else that the layer goes by while requests go on, in one step.
//!
//! # Who is asking
//!
//! The layer has to be told the address at the other end of the connection: it looks for [`PeerAddr`] in the request's
//! extensions, and with the cargo feature `axum` for `ConnectInfo<SocketAddr>` as well, which
//! `Router::into_make_service_with_connect_info::<SocketAddr>()` puts there. [`CupoLayer::peer_by`] looks elsewhere. **Without
//! an address every request is like a request from one and the same unknown client**, which is safe, and hardly what you
//! want. Behind a proxy, name the proxy in the policy's [`Trust`](cupo_core::Trust).

#![forbid(unsafe_code)]

mod answers;
mod body;
mod decide;
mod explain;
mod future;
mod layer;
mod outcome;
mod peer;
mod service;
mod settle;
mod status;

pub use answers::{Answers, ReloadHandle};
pub use body::ResponseBody;
pub use future::ResponseFuture;
pub use layer::CupoLayer;
pub use outcome::RequestOutcome;
pub use peer::PeerAddr;
pub use service::CupoService;
pub use settle::NoAnswer;
pub use status::StatusAnswer;
