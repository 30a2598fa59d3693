//! Keys, and the one algorithm that each is for.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use thiserror::Error;

use super::json::{self, Json, Object};

/// The most bytes of a key set: 256 KiB.
const MAX_SET_BYTES: usize = 256 << 10;

/// The most keys that are tried on a token that names none.
const MAX_TRIED: usize = 8;

/// The least bytes of a secret: as many as its hashes have (RFC 7518, section 3.2).
const MIN_SECRET: usize = 32;

/// The least bytes of an RSA modulus: 2048 bits (RFC 7518, section 3.3).
const MIN_MODULUS: usize = 256;

/// The most bytes of an RSA modulus: 8192 bits.
const MAX_MODULUS: usize = 1024;

/// How tokens may be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JwtAlgorithm {
    /// HMAC with SHA-256 under a secret that issuer and verifier share.
    Hs256,
    /// RSA (PKCS #1 version 1.5) with SHA-256.
    Rs256,
    /// ECDSA on the curve P-256 with SHA-256.
    Es256,
    /// EdDSA on the curve Ed25519.
    EdDsa,
}

impl JwtAlgorithm {
    /// Every algorithm.
    pub const ALL: &[Self] = &[Self::Hs256, Self::Rs256, Self::Es256, Self::EdDsa];

    /// The name in tokens.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The algorithm of this name, letter by letter: `none` and all others are none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.name() == name)
    }
}

/// Why there are no keys.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JwtError {
    /// The key set is longer than is read.
    #[error("the key set is longer than {limit} bytes")]
    TooLong {
        /// The most bytes.
        limit: usize,
    },
    /// The text is no key set.
    #[error(
        "this is not a JSON Web Key Set; it is an object with a list called `keys` (RFC 7517), and no name comes twice"
    )]
    NoSet,
    /// A member of a key is missing or no value of its kind.
    #[error("keys[{index}]: `{member}` is missing or malformed")]
    Member {
        /// The key.
        index: usize,
        /// The member.
        member: &'static str,
    },
    /// The RSA key is too small or too large.
    #[error("keys[{index}]: an RSA key has 2048 to 8192 bits; this one has {bits}")]
    Modulus {
        /// The key.
        index: usize,
        /// Its bits.
        bits: usize,
    },
    /// The secret is short enough to be guessed.
    #[error("a secret of {length} bytes can be guessed; give it at least {MIN_SECRET}, from a random source")]
    ShortSecret {
        /// Its length in bytes.
        length: usize,
    },
    /// The private half of a key is in the set.
    #[error(
        "keys[{index}]: this is a private key; who verifies needs the public half only, so keep the private one elsewhere"
    )]
    Private {
        /// The key.
        index: usize,
    },
    /// No key is for an algorithm that is allowed.
    #[error("no key of the set is for signatures by {algorithms}")]
    NoKey {
        /// The algorithms that are allowed.
        algorithms: Box<str>,
    },
}

/// Keys that tokens are verified by.
#[derive(Debug, Clone)]
pub struct JwtKeys(Arc<[Key]>);

impl PartialEq for JwtKeys {
    /// Whether both are the same keys, put in force at once; not whether they are alike.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Clone)]
struct Key {
    id: Option<Box<str>>,
    material: Material,
}

/// A key is for the algorithm of its type and for no other, so a public key can never be taken for a secret.
#[derive(Clone)]
enum Material {
    Secret(hmac::Key),
    Rsa(RsaPublicKeyComponents<Box<[u8]>>),
    P256([u8; 65]),
    Ed25519([u8; 32]),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).field("algorithm", &self.material.algorithm()).finish()
    }
}

impl JwtKeys {
    /// The secret that issuer and verifier share, for HS256.
    ///
    /// # Errors
    /// [`JwtError::ShortSecret`] for one of fewer than 32 bytes.
    pub fn from_secret(secret: &[u8]) -> Result<Self, JwtError> {
        if secret.len() < MIN_SECRET {
            return Err(JwtError::ShortSecret { length: secret.len() });
        }
        let material = Material::Secret(hmac::Key::new(hmac::HMAC_SHA256, secret));
        Ok(Self(Arc::new([Key { id: None, material }])))
    }

    /// The keys of a JSON Web Key Set (RFC 7517) that are for signatures by one of `algorithms`. Keys of other kinds, for
    /// other algorithms (`alg`) or for another use (`use`, `key_ops`) are left out.
    ///
    /// # Errors
    /// [`JwtError`] where it is no key set, where no key of it can be used, and where one is malformed, weak or private.
    pub fn from_jwks(set: &[u8], algorithms: &[JwtAlgorithm]) -> Result<Self, JwtError> {
        if set.len() > MAX_SET_BYTES {
            return Err(JwtError::TooLong { limit: MAX_SET_BYTES });
        }
        let mut set = json::object(set).ok_or(JwtError::NoSet)?;
        let Some(Json::List(listed)) = set.remove("keys") else { return Err(JwtError::NoSet) };
        let mut keys = Vec::new();
        for (index, key) in listed.iter().enumerate() {
            let Json::Map(key) = key else { return Err(JwtError::NoSet) };
            keys.extend(Key::read(index, key, algorithms)?);
        }
        if keys.is_empty() {
            let names: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.name()).collect();
            return Err(JwtError::NoKey { algorithms: names.join(", ").into() });
        }
        Ok(Self(keys.into()))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none, in which case no token holds.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is for `algorithm`.
    pub(super) fn are_for(&self, algorithm: JwtAlgorithm) -> bool {
        self.0.iter().any(|key| key.material.algorithm() == algorithm)
    }

    /// Whether one of them, the one called `id` where the token names one, made the signature.
    pub(super) fn verify(
        &self,
        algorithm: JwtAlgorithm,
        id: Option<&str>,
        signed: &[u8],
        signature: &[u8],
    ) -> bool {
        self.0
            .iter()
            .filter(|key| key.material.algorithm() == algorithm)
            .filter(|key| id.is_none() || key.id.as_deref() == id)
            .take(MAX_TRIED)
            .any(|key| key.material.verify(signed, signature))
    }
}

impl Key {
    /// The key, if it is for signatures by one of `algorithms`.
    fn read(index: usize, key: &Object, algorithms: &[JwtAlgorithm]) -> Result<Option<Self>, JwtError> {
        let text = |name: &str| key.get(name).and_then(Json::text);
        let algorithm = match (text("kty"), text("crv")) {
            (None, _) => return Err(JwtError::Member { index, member: "kty" }),
            (Some("oct"), _) => JwtAlgorithm::Hs256,
            (Some("RSA"), _) => JwtAlgorithm::Rs256,
            (Some("EC"), Some("P-256")) => JwtAlgorithm::Es256,
            (Some("OKP"), Some("Ed25519")) => JwtAlgorithm::EdDsa,
            _ => return Ok(None),
        };
        if algorithm != JwtAlgorithm::Hs256 && key.contains_key("d") {
            return Err(JwtError::Private { index });
        }
        let of_use = key.get("use").is_none_or(|used| used.text() == Some("sig"));
        let of_algorithm = key.get("alg").is_none_or(|own| own.text() == Some(algorithm.name()));
        let of_operations = key.get("key_ops").is_none_or(|operations| {
            matches!(operations, Json::List(list) if list.iter().any(|one| one.text() == Some("verify")))
        });
        if !(of_use && of_algorithm && of_operations && algorithms.contains(&algorithm)) {
            return Ok(None);
        }
        let id = match key.get("kid") {
            None => None,
            Some(Json::Text(id)) => Some(id.as_str().into()),
            Some(_) => return Err(JwtError::Member { index, member: "kid" }),
        };
        Ok(Some(Self { id, material: Material::read(index, key, algorithm)? }))
    }
}

impl Material {
    fn read(index: usize, key: &Object, algorithm: JwtAlgorithm) -> Result<Self, JwtError> {
        let bytes = |member: &'static str| {
            let text = key.get(member).and_then(Json::text);
            let bytes = text.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok()).filter(|b| !b.is_empty());
            bytes.ok_or(JwtError::Member { index, member })
        };
        let coordinate = |member: &'static str| {
            <[u8; 32]>::try_from(bytes(member)?).map_err(|_| JwtError::Member { index, member })
        };
        Ok(match algorithm {
            JwtAlgorithm::Hs256 => {
                let secret = bytes("k")?;
                if secret.len() < MIN_SECRET {
                    return Err(JwtError::ShortSecret { length: secret.len() });
                }
                Self::Secret(hmac::Key::new(hmac::HMAC_SHA256, &secret))
            }
            JwtAlgorithm::Rs256 => {
                let (n, e) = (without_zeros(&bytes("n")?), without_zeros(&bytes("e")?));
                if !(MIN_MODULUS..=MAX_MODULUS).contains(&n.len()) {
                    return Err(JwtError::Modulus { index, bits: n.len().saturating_mul(8) });
                }
                // 1 would make every signature hold, and an even one is none of RSA's. `ring` looks at it again.
                if e.len() > 4 || e.last().is_none_or(|last| last % 2 == 0) || *e == [1] {
                    return Err(JwtError::Member { index, member: "e" });
                }
                Self::Rsa(RsaPublicKeyComponents { n, e })
            }
            JwtAlgorithm::Es256 => {
                let mut point = [4; 65];
                let (x, y) = (coordinate("x")?, coordinate("y")?);
                for (place, byte) in point.iter_mut().skip(1).zip(x.iter().chain(&y)) {
                    *place = *byte;
                }
                Self::P256(point)
            }
            JwtAlgorithm::EdDsa => Self::Ed25519(coordinate("x")?),
        })
    }

    const fn algorithm(&self) -> JwtAlgorithm {
        match self {
            Self::Secret(_) => JwtAlgorithm::Hs256,
            Self::Rsa(_) => JwtAlgorithm::Rs256,
            Self::P256(_) => JwtAlgorithm::Es256,
            Self::Ed25519(_) => JwtAlgorithm::EdDsa,
        }
    }

    fn verify(&self, signed: &[u8], signature: &[u8]) -> bool {
        match self {
            // Compares in constant time.
            Self::Secret(key) => hmac::verify(key, signed, signature).is_ok(),
            Self::Rsa(key) => key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok(),
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature).is_ok()
            }
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(signed, signature).is_ok(),
        }
    }
}

/// A number in its shortest form, as `ring` wants it; some issuers write a zero in front.
fn without_zeros(number: &[u8]) -> Box<[u8]> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default().into()
}
