//! The engine as its users see it: requests go in, outcomes come out.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod carrying;
mod exemptions;
mod explain;
mod failing_store;
mod keys;
mod matching;
mod outcomes;
mod plans;
mod repeated;
mod settling;
mod standing;
mod support;
