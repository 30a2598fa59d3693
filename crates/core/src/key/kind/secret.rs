//! Values that may be secrets: only their hash goes on.

use sha2::{Digest, Sha256};

use super::super::builder::KeyBuilder;

/// Adds the SHA-256 of the value without its surrounding blanks; an empty value is a missing one.
pub(super) fn write(tag: u8, name: &str, value: Option<&[u8]>, key: &mut KeyBuilder) -> bool {
    match value.map(<[u8]>::trim_ascii) {
        None | Some([]) => false,
        Some(value) => {
            key.push(tag, name, &Sha256::digest(value));
            true
        }
    }
}
