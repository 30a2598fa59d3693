//! Values that may be secrets: only their hash goes on.

use super::super::builder::KeyBuilder;
use super::super::hash::Hasher;

/// Adds the hash of the value; an empty value is a missing one.
pub(super) fn write(
    tag: u8,
    name: &str,
    value: Option<&[u8]>,
    hasher: &Hasher,
    key: &mut KeyBuilder,
) -> bool {
    match value.and_then(|value| hasher.hash(value)) {
        None => false,
        Some(hash) => {
            key.push(tag, name, &hash.0);
            true
        }
    }
}
