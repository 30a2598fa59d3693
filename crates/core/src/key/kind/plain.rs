//! Values that may be shown: users, hosts, methods, descriptors.

use super::super::builder::KeyBuilder;
use super::secret;

/// Longer values are hashed, so that no caller decides how long a key gets.
const LONGEST: usize = 128;

/// Marks a hashed value; a tag of a kind never has this bit.
pub(in super::super) const HASHED: u8 = 0x80;

pub(super) fn write(tag: u8, name: &str, value: Option<&[u8]>, key: &mut KeyBuilder) -> bool {
    match value {
        None | Some([]) => false,
        Some(value) if value.len() > LONGEST => secret::write(tag | HASHED, name, Some(value), key),
        Some(value) => {
            key.push(tag, name, value);
            true
        }
    }
}

/// Writes a value that is the same in upper and lower case; a final dot (of a host) says nothing either.
pub(super) fn write_lower(tag: u8, value: Option<&str>, key: &mut KeyBuilder) -> bool {
    let lower = value.map(|v| v.trim_end_matches('.').to_ascii_lowercase());
    write(tag, "", lower.as_deref().map(str::as_bytes), key)
}
