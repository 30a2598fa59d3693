//! The Redis and Valkey store of the Cupo rate limiter: one script, one round trip, all or nothing.
//!
//! [`RedisStore`] executes a check by one script call, whatever the number of its rules. The script is the concatenation of the files
//! in `lua/`, which hold the same formulas as `cupo-core`, and it decides by the server's clock.
//!
//! What it promises:
//!
//! - *Exact.* All replicas that share a server enforce one limit. A call that may have run is never sent again.
//! - *In time.* A check takes no longer than [`deadline`](RedisSettings::deadline), whatever the server does, and fails at once when
//!   the server is known to be down or [too many](RedisSettings::max_waiters) wait already.
//! - *By itself.* It connects, reconnects, follows Sentinels and clusters, and loads its script in the background.
//! - *Few trips.* Checks that come while a call is under way go together in the next one; denials that certainly hold are answered
//!   from memory.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use core::time::Duration;
//! use cupo_core::{Check, Key, Limit, Store, Timestamp};
//! use cupo_store_redis::{RedisSettings, RedisStore};
//!
//! let store = RedisStore::new(RedisSettings::from_url("redis://127.0.0.1/")?)?;
//! let limit = Limit::sliding_window_counter(100, Duration::from_secs(60))?;
//! let check = Check::one(Key::builder("per-user").part(1, "", b"ada").build(), limit, 1);
//! let executed = store.check(&check, Timestamp::EPOCH).await?;
//! assert!(executed.is_admitted());
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod backoff;
mod breaker;
mod calendars;
mod carry;
mod codec;
mod connect;
mod denial_cache;
mod error;
mod fault;
mod find;
mod lane;
mod name;
mod node;
mod preview;
mod script;
mod secret;
mod settings;
mod settle;
mod spread;
mod stats;
mod store;
mod topology;
mod upkeep;
mod url;

pub use error::{Cause, ConnectionError, RedisError};
pub use secret::Secret;
pub use settings::{Address, BreakerSettings, Deployment, RedisSettings, StoreClock, Tls};
pub use stats::RedisStats;
pub use store::{RedisHealth, RedisStore};
