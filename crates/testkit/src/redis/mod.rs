//! Private Redis and Valkey servers on free ports, for the tests of any crate, and a proxy that breaks connections.
//!
//! ```no_run
//! use cupo_testkit::redis::RedisServer;
//!
//! let server = RedisServer::standalone().password("secret").start();
//! assert_eq!(server.command(&["SET", "a", "1"]).text(), "OK");
//! let url = server.url(); // redis://:secret@127.0.0.1:PORT
//! ```
//!
//! Servers are child processes, never daemons; each keeps to a temporary directory, saves nothing unless told to, and is
//! gone when its value is dropped. They need `redis-server` (Debian: `redis-server`; `redis-tools` has the client that a
//! person may want beside it). Valkey is used where [`valkey_server`] finds it.

mod binary;
mod client;
mod cluster;
mod fault_proxy;
mod port;
mod process;
mod sentinel;
mod server;
#[cfg(feature = "tls")]
mod tls;
mod wait;

pub use binary::{redis_server, valkey_server};
pub use client::{Client, Reply};
pub use cluster::Cluster;
pub use fault_proxy::{Fault, FaultProxy};
pub use port::free_port;
pub use sentinel::SentinelTrio;
pub use server::{Builder, CommandStat, RedisServer};
#[cfg(feature = "tls")]
pub use tls::Certificates;
pub use wait::until;
