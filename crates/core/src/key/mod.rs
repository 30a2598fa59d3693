//! Keys: what a rule counts, as canonical bytes.

mod builder;

pub use builder::{Key, KeyBuilder};
