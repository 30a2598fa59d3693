//! Hashes of secrets: what goes on in place of an API key, a token or a cookie.

use core::fmt;
use core::str::FromStr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// The fewest bytes of a secret that hashes are keyed with.
pub const LEAST_SECRET_BYTES: usize = 16;

/// The block of SHA-256, which is the length of an HMAC key.
const BLOCK: usize = 64;

/// What hashes of API keys are keyed with (HMAC-SHA256), so that who reads them cannot try keys on them. Its `Debug` form
/// shows nothing of it, not even its length.
#[derive(Clone, PartialEq, Eq)]
pub struct KeySecret([u8; BLOCK]);

/// The secret is too short to keep anybody from trying them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a secret has at least {LEAST_SECRET_BYTES} bytes; take some from a random source")]
pub struct SecretTooShort;

impl KeySecret {
    /// A secret of these bytes, all of which count.
    ///
    /// # Errors
    /// [`SecretTooShort`] below [`LEAST_SECRET_BYTES`].
    pub fn new(secret: &[u8]) -> Result<Self, SecretTooShort> {
        if secret.len() < LEAST_SECRET_BYTES {
            return Err(SecretTooShort);
        }
        // As HMAC has it: a key longer than a block is hashed, a shorter one filled up with zeros (RFC 2104).
        let digest;
        let secret = if secret.len() > BLOCK {
            digest = Sha256::digest(secret);
            digest.as_slice()
        } else {
            secret
        };
        let mut block = [0; BLOCK];
        for (to, from) in block.iter_mut().zip(secret) {
            *to = *from;
        }
        Ok(Self(block))
    }
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySecret(..)")
    }
}

/// The hash of an API key, shown and parsed as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApiKeyHash(pub [u8; 32]);

/// The text is no hash of an API key. It is not repeated: it may be the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the hash of an API key has 64 hexadecimal digits")]
pub struct NotAHash;

impl FromStr for ApiKeyHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut hash = [0; 32];
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(NotAHash);
        }
        for (i, byte) in hash.iter_mut().enumerate() {
            let at = i.saturating_mul(2);
            let pair = text.get(at..at.saturating_add(2)).ok_or(NotAHash)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NotAHash)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for ApiKeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// How a policy hashes secrets.
#[derive(Clone)]
pub(crate) struct Hasher(Option<Hmac<Sha256>>);

impl Hasher {
    pub(crate) fn new(secret: Option<&KeySecret>) -> Self {
        Self(secret.map(|KeySecret(block)| Hmac::new(&(*block).into())))
    }

    /// Whether the other one comes to the same.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.hash(b"x") == other.hash(b"x")
    }

    /// The hash of the value without its surrounding blanks; an empty value is a missing one.
    pub(crate) fn hash(&self, value: &[u8]) -> Option<ApiKeyHash> {
        let value = value.trim_ascii();
        if value.is_empty() {
            return None;
        }
        Some(ApiKeyHash(match &self.0 {
            None => Sha256::digest(value).into(),
            Some(keyed) => keyed.clone().chain_update(value).finalize().into_bytes().into(),
        }))
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "HMAC-SHA256" } else { "SHA-256" })
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiKeyHash, Hasher, KeySecret, NotAHash, SecretTooShort};

    fn hash(secret: Option<&[u8]>, value: &[u8]) -> String {
        let secret = secret.map(|secret| KeySecret::new(secret).unwrap());
        Hasher::new(secret.as_ref()).hash(value).unwrap().to_string()
    }

    /// FIPS 180-4 and RFC 4231, cases 1 and 6: other programs come to the same.
    #[test]
    fn hashes_are_those_of_the_standards() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash(None, b"abc"), abc);
        let one = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hash(Some(&[0x0b; 20]), b"Hi There"), one);
        let six = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(hash(Some(&[0xaa; 131]), text), six);
    }

    #[test]
    fn blanks_around_a_key_say_nothing_and_an_empty_key_is_none() {
        assert_eq!(hash(None, b" abc\t"), hash(None, b"abc"));
        assert_eq!(Hasher::new(None).hash(b" "), None);
        assert_eq!(Hasher::new(None).hash(b""), None);
    }

    #[test]
    fn a_secret_has_to_be_long_and_shows_nothing() {
        assert_eq!(KeySecret::new(&[b'x'; 15]), Err(SecretTooShort));
        let secret = KeySecret::new(b"0123456789abcdef").unwrap();
        assert_eq!(format!("{secret:?} {:?}", Hasher::new(Some(&secret))), "KeySecret(..) HMAC-SHA256");
    }

    #[test]
    fn hashes_are_written_in_hexadecimal() {
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let parsed: ApiKeyHash = text.parse().unwrap();
        assert_eq!(text.to_uppercase().parse(), Ok(parsed));
        assert_eq!(parsed.to_string(), text);
        for bad in ["", "ba78", &text.replace('b', "g"), &format!("{text}00"), &"é".repeat(32)] {
            assert_eq!(bad.parse::<ApiKeyHash>(), Err(NotAHash), "{bad}");
        }
    }
}
