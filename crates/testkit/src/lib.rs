//! Dev-only: what Cupo is tested with.
//!
//! - [`model`]: a naive reference model of each algorithm, written from its definition;
//! - [`laws`]: the laws that hold for every algorithm, over any [`Subject`](subject::Subject);
//! - [`strategy`] and [`walk`]: generators of limits and of histories with edges, idle gaps and backward steps;
//! - [`calendars`]: calendars with windows of odd lengths;
//! - [`conformance`](mod@conformance): what every store has to pass, in one line;
//! - [`redis`]: private Redis and Valkey servers, alone, under sentinels and in a cluster, and a proxy that breaks connections;
//! - [`vectors`]: the frozen decision traces in `vectors/*.json`;
//!
//! Everything here panics or returns [`Broken`](laws::Broken) where something is wrong: it is for tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "this crate is for tests")]

pub mod bound;
pub mod calendars;
pub mod conformance;
pub mod laws;
pub mod model;
pub mod redis;
pub mod strategy;
pub mod subject;
pub mod vectors;
pub mod walk;
