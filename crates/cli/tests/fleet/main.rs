//! Gateways that share one Redis server, as their users see them: the real binary, real servers, real faults.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panicking, and some tell figures"
)]

mod admin;
mod bad_days;
mod bad_days_of_a_cluster;
mod carry;
mod check;
mod contracts;
mod costs;
mod edges;
mod exact;
mod explain;
mod load;
mod plans;
mod reload;
mod replay;
mod serve;

#[path = "../cupo/administrator.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod administrator;
#[path = "../cupo/client.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod client;
#[path = "../cupo/process.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod process;
#[path = "../cupo/upstream.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod upstream;
