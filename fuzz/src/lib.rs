//! What is fuzzed; see `targets`.

mod targets;

pub use targets::*;
