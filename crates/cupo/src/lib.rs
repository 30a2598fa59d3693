//! Cupo: an exact rate limiter. Five algorithms, all-or-nothing checks, honest headers.
//!
//! This crate gathers what a library user needs; the thinking is in [`cupo_core`]. Choose a store by feature: `memory`
//! (default). `http` adds the HTTP semantics, `tower` the layer, `config` the policy file.
//!
//! # One limit
//!
//! ```
//! use std::time::Duration;
//! use cupo::{Check, Clock, Key, Limit, Rate, SystemClock, memory::MemoryStore};
//!
//! let store = MemoryStore::default();
//! let clock = SystemClock::new();
//! let limit = Limit::token_bucket(2, Rate::new(1, Duration::from_secs(60)))?;
//!
//! // `1` is a part kind of yours: it tells this part of the key from other kinds.
//! let ask = || Check::one(Key::builder("logins").part(1, "", b"alice").build(), limit, 1);
//! assert!(store.execute(&ask(), clock.now()).is_admitted());
//! assert!(store.execute(&ask(), clock.now()).is_admitted());
//!
//! let denied = store.execute(&ask(), clock.now());
//! assert!(!denied.is_admitted());
//! assert!(denied.decisions[0].retry_after().is_some_and(|wait| wait > Duration::from_secs(59)));
//! # Ok::<(), cupo::LimitError>(())
//! ```
//!
//! # A policy
//!
//! An [`Engine`] decides whole requests by a [`Policy`]: all rules that apply, together, all or nothing.
//!
//! ```
//! use std::borrow::Cow;
//! use std::time::Duration;
//! use cupo::{Attributes, Engine, KeySpec, Limit, Policy, PolicySource, RuleSource, memory::MemoryStore};
//!
//! struct Job<'a> {
//!     tenant: &'a str,
//! }
//!
//! impl Attributes for Job<'_> {
//!     fn descriptor(&self, name: &str) -> Option<Cow<'_, [u8]>> {
//!         (name == "tenant").then(|| Cow::Borrowed(self.tenant.as_bytes()))
//!     }
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let minute = Duration::from_secs(60);
//! let policy = Policy::compile(PolicySource {
//!     rules: vec![
//!         RuleSource::new("all", KeySpec::parse(&["global"])?, Limit::sliding_window_counter(100, minute)?),
//!         RuleSource::new("tenant", KeySpec::parse(&["descriptor(tenant)"])?, Limit::sliding_window_log(1, minute)?),
//!     ],
//!     ..PolicySource::default()
//! })?;
//! let engine = Engine::new(policy, MemoryStore::default());
//!
//! assert!(engine.decide(&Job { tenant: "a" }).await?.is_admitted());
//! let second = engine.decide(&Job { tenant: "a" }).await?;
//! assert!(!second.is_admitted());
//! assert_eq!(second.binding().map(|ruling| ruling.rule.name()), Some("tenant"));
//! // What one rule denied, the other was not charged for.
//! assert_eq!(second.decisions().next().map(|ruling| ruling.decision.remaining), Some(99));
//! # Ok(())
//! # }
//! # let mut run = std::pin::pin!(run());
//! # let waker = std::task::Waker::noop();
//! # let ready = std::future::Future::poll(run.as_mut(), &mut std::task::Context::from_waker(waker));
//! # assert!(matches!(ready, std::task::Poll::Ready(Ok(()))));
//! ```

//! # What it really cost
//!
//! Where a request's cost is known only afterwards, reserve and settle. A [`Reservation`] that is dropped gives everything back;
//! rules with a fixed cost, which count requests, keep theirs on [`commit`](Reservation::commit).
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use cupo::{Attributes, CostSource, Engine, KeySpec, Limit, Policy, PolicySource, RuleSource, memory::MemoryStore};
//!
//! struct Prompt;
//! impl Attributes for Prompt {}
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut tokens = RuleSource::new(
//!     "tokens",
//!     KeySpec::parse(&["global"])?,
//!     Limit::sliding_window_counter(1_000, Duration::from_secs(60))?,
//! );
//! tokens.cost = CostSource::Response { header: "x-cost".to_owned(), reserve: 100 };
//! let policy = Policy::compile(PolicySource { rules: vec![tokens], ..PolicySource::default() })?;
//! let engine = Arc::new(Engine::new(policy, MemoryStore::default()));
//!
//! let reservation = engine.reserve(&Prompt).await?;
//! assert!(reservation.outcome().is_admitted());
//! // The work took 17 of the 100 units that were reserved; it could have taken more as well.
//! assert_eq!(reservation.commit(17).await?, 0, "all of them found room");
//! drop(engine.reserve(&Prompt).await?);
//!
//! let next = engine.decide(&Prompt).await?;
//! assert_eq!(next.binding().map(|ruling| ruling.decision.remaining), Some(1_000 - 17 - 100));
//! # Ok(())
//! # }
//! # let mut run = std::pin::pin!(run());
//! # let waker = std::task::Waker::noop();
//! # let ready = std::future::Future::poll(run.as_mut(), &mut std::task::Context::from_waker(waker));
//! # assert!(matches!(ready, std::task::Poll::Ready(Ok(()))));
//! ```

#![forbid(unsafe_code)]

pub use cupo_core::*;

#[cfg(feature = "config")]
pub use cupo_config as config;
#[cfg(feature = "http")]
pub use cupo_http as http;
#[cfg(feature = "memory")]
pub use cupo_store_memory as memory;
#[cfg(feature = "tower")]
pub use cupo_tower as tower;
