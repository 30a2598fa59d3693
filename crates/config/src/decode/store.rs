//! Where counters are kept.

use super::scalar::MAX;
use super::value::Value;
use crate::problem::{Expected, Problem};
use crate::source::{MemoryBound, StoreSource};
use crate::tree::Content;

/// Far more keys than any machine holds.
const MAX_KEYS: u64 = 1_000_000_000;

pub(super) fn store(value: &Value<'_>) -> Option<StoreSource> {
    match value.content() {
        Content::Text { .. } => {
            value.word("a store", &["memory"], |name| name).map(|_| StoreSource::default())
        }
        Content::Map(_) => {
            let map = value.map(&["memory"])?;
            memory(&map.need("memory", "memory: { max_bytes: 64MiB }")?)
        }
        _ => value.wrong_type(Expected::Store),
    }
}

fn memory(value: &Value<'_>) -> Option<StoreSource> {
    let map = value.map(&["max_bytes", "max_keys"])?;
    let bound = match (map.get("max_bytes"), map.get("max_keys")) {
        (Some(_), Some(keys)) => {
            return keys.fault(Problem::Conflict { one: "max_bytes", other: "max_keys" });
        }
        (Some(bytes), None) => Some(MemoryBound::Bytes(bytes.size(64 << 10, MAX)?)),
        (None, Some(keys)) => Some(MemoryBound::Keys(keys.integer(1, MAX_KEYS)?)),
        (None, None) => None,
    };
    Some(StoreSource::Memory { bound })
}
