//! The in-memory store of Cupo: sharded, bounded, exact.

#![forbid(unsafe_code)]

mod budget;
mod fingerprint;
mod heap;
mod shard;
mod siphash;
mod slot;
mod stats;
mod store;
mod table;

pub use budget::MemoryStoreError;
pub use stats::Stats;
pub use store::{MemoryStore, MemoryStoreBuilder};
