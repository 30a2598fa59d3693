//! Keys for people: `per-client ip=203.0.113.9`.

use core::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::builder::Key;
use super::kind::{HASHED, tag_name};

/// Bytes of a hash that are shown: enough to tell keys apart, too few to matter.
const HASH_SHOWN: usize = 8;

impl fmt::Display for Key {
    /// The scope, then each part as `kind=value` or `kind(name)=value`. Hashed values show the beginning of their hash. For
    /// people: not every two keys that differ are shown differently.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = Fields(self.as_bytes());
        let scope = fields.field().unwrap_or_default();
        // How states are to be read, which follows the name of a rule, is not for people.
        let name = scope.split(|byte| *byte < 16).next().unwrap_or_default();
        show_text(f, name)?;
        while let Some((tag, name, value)) = fields.part() {
            let Some(kind) = tag_name(tag & !HASHED) else { continue };
            f.write_str(" ")?;
            f.write_str(kind)?;
            match (kind, name) {
                (_, []) => {}
                ("route", method) => write!(f, "={}", method.escape_ascii())?,
                (_, name) => write!(f, "({})", name.escape_ascii())?,
            }
            show_value(f, kind, tag, value)?;
        }
        Ok(())
    }
}

fn show_value(f: &mut fmt::Formatter<'_>, kind: &str, tag: u8, value: &[u8]) -> fmt::Result {
    let hashed = tag & HASHED != 0 || matches!(kind, "api_key" | "header" | "query" | "cookie");
    match (kind, value) {
        ("global" | "missing", _) => Ok(()),
        ("ip", &[a, b, c, d]) => write!(f, "={}", Ipv4Addr::new(a, b, c, d)),
        ("ip", value) => match <[u8; 16]>::try_from(value) {
            Ok(octets) => write!(f, "={}", Ipv6Addr::from(octets)),
            Err(_) => write!(f, "={}", value.escape_ascii()),
        },
        ("route", value) => write!(f, ":{}", value.escape_ascii()),
        (_, value) if hashed => {
            f.write_str("=sha256:")?;
            value.iter().take(HASH_SHOWN).try_for_each(|byte| write!(f, "{byte:02x}"))
        }
        (_, value) => {
            f.write_str("=")?;
            show_text(f, value)
        }
    }
}

fn show_text(f: &mut fmt::Formatter<'_>, text: &[u8]) -> fmt::Result {
    match core::str::from_utf8(text) {
        // The usual case, in one piece.
        Ok(plain) if plain.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\' | b'\'')) => {
            f.write_str(plain)
        }
        _ => write!(f, "{}", text.escape_ascii()),
    }
}

/// Reads what the builder wrote. Bytes of another origin end the reading early.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) const fn of(key: &'a [u8]) -> Self {
        Self(key)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn field(&mut self) -> Option<&'a [u8]> {
        let (mut length, mut shift) = (0_usize, 0_u32);
        loop {
            let byte = self.byte()?;
            length |= usize::from(byte & 0x7f).checked_shl(shift)?;
            shift = shift.saturating_add(7);
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (field, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(field)
    }

    pub(super) fn part(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        Some((self.byte()?, self.field()?, self.field()?))
    }
}
