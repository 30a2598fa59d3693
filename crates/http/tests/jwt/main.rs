//! Tokens: those that hold, and the many that do not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod attacks;
mod headers;
mod keys;
mod support;
mod tokens;
