//! The store that the policy asks for.

use cupo_config::{MemoryBound, StoreSource};
use cupo_store_memory::{MemoryStore, MemoryStoreError};

/// A store in memory; `default_bytes` bounds it where the policy does not.
pub(crate) fn memory(
    source: &StoreSource,
    default_bytes: Option<usize>,
) -> Result<MemoryStore, MemoryStoreError> {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let builder = MemoryStore::builder();
    let builder = match source {
        StoreSource::Memory { bound: Some(MemoryBound::Keys(keys)) } => builder.max_keys(size(*keys)),
        StoreSource::Memory { bound: Some(MemoryBound::Bytes(bytes)) } => builder.max_bytes(size(*bytes)),
        _ => default_bytes.map_or(builder, |bytes| builder.max_bytes(bytes)),
    };
    builder.build()
}
