//! Values that may be shown: users, hosts, methods, descriptors.

use super::super::builder::KeyBuilder;
use super::super::hash::Hasher;
use super::secret;
use crate::host::canonical_host;

/// Longer values are hashed, so that no caller decides how long a key gets.
const LONGEST: usize = 128;

/// Marks a hashed value; a tag of a kind never has this bit.
pub(in super::super) const HASHED: u8 = 0x80;

pub(super) fn write(
    tag: u8,
    name: &str,
    value: Option<&[u8]>,
    hasher: &Hasher,
    key: &mut KeyBuilder,
) -> bool {
    match value {
        None | Some([]) => false,
        Some(value) if value.len() > LONGEST => secret::write(tag | HASHED, name, Some(value), hasher, key),
        Some(value) => {
            key.push(tag, name, value);
            true
        }
    }
}

/// Writes a host in its one spelling.
pub(super) fn write_host(tag: u8, host: Option<&str>, hasher: &Hasher, key: &mut KeyBuilder) -> bool {
    let canonical = host.and_then(canonical_host);
    write(tag, "", canonical.as_deref().map(str::as_bytes), hasher, key)
}
