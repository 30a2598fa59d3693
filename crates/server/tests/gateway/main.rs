//! The gateway as its clients and its upstream see it: real sockets, real bytes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod access_log;
mod common;
mod drain;
mod failures;
mod headers;
mod http2;
mod limits;
mod smuggling;
mod streaming;
mod targets;
mod upgrade;
