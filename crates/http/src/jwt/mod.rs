//! JSON Web Tokens (RFC 7519), signed (RFC 7515), verified by keys of the operator's.
//!
//! What is verified, and by what, is the operator's choice alone: a key is used with the one algorithm that its type has, and
//! only if the policy allows that. Nothing in a token chooses a key but `kid`, and that only among the operator's; `jwk`, `jku`,
//! `x5u` and `x5c` are not looked at. The time is an argument.

mod cache;
mod json;
mod key;
mod token;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use cupo_core::Timestamp;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use ring::digest;

use crate::credential::carries_credentials;
use crate::identity::{Claims, Identify, Identity};
use cache::{Cache, Verified};
pub use key::{JwtAlgorithm, JwtError, JwtKeys};
pub use token::TokenError;

/// The longest token that is looked at, in bytes: 8 KiB.
pub const MAX_TOKEN_BYTES: usize = 8 << 10;

/// What tokens have to be like, and what becomes of those that are not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JwtSettings {
    /// The header that carries the token; `authorization` unless said otherwise. There it follows the scheme `Bearer`, in other
    /// headers it may.
    pub header: HeaderName,
    /// What `iss` has to be; anything where `None`.
    pub issuer: Option<String>,
    /// One of these has to be in `aud`; anything where empty.
    pub audiences: Vec<String>,
    /// How far the clocks of issuer and verifier may be apart; 30 seconds unless said otherwise.
    pub leeway: Duration,
    /// The claim that names the user; `sub` unless said otherwise.
    pub user_claim: String,
    /// Whether a request with a token that does not hold is refused; otherwise it is anonymous.
    pub refuse_invalid: bool,
}

impl Default for JwtSettings {
    fn default() -> Self {
        Self {
            header: AUTHORIZATION,
            issuer: None,
            audiences: Vec::new(),
            leeway: Duration::from_secs(30),
            user_claim: "sub".to_owned(),
            refuse_invalid: false,
        }
    }
}

/// Verifies tokens. Those that hold are remembered, up to a few thousand, since a signature takes many times as long to verify
/// as all the rest of a decision.
///
/// ```
/// use cupo_core::Timestamp;
/// use cupo_http::{JwtAlgorithm, JwtKeys, JwtSettings, JwtVerifier, TokenError};
///
/// let keys = JwtKeys::from_secret(b"a secret of thirty-two bytes....")?;
/// let verifier = JwtVerifier::new(JwtSettings::default(), keys);
/// let unsigned = b"eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.";
/// assert_eq!(verifier.verify(unsigned, Timestamp::EPOCH), Err(TokenError::Algorithm));
/// # Ok::<(), cupo_http::JwtError>(())
/// ```
#[derive(Debug)]
pub struct JwtVerifier {
    settings: JwtSettings,
    state: ArcSwap<State>,
}

/// Keys, and the tokens that they have verified.
#[derive(Debug)]
struct State {
    keys: JwtKeys,
    cache: Cache,
}

impl JwtVerifier {
    /// A verifier with these keys.
    #[must_use]
    pub fn new(settings: JwtSettings, keys: JwtKeys) -> Self {
        Self { settings, state: ArcSwap::from_pointee(State { keys, cache: Cache::default() }) }
    }

    /// Puts other keys in the place of those there are. What the old ones have verified is forgotten.
    pub fn replace_keys(&self, keys: JwtKeys) {
        self.state.store(Arc::new(State { keys, cache: Cache::default() }));
    }

    /// The keys in force.
    #[must_use]
    pub fn keys(&self) -> JwtKeys {
        self.state.load().keys.clone()
    }

    /// What tokens have to be like.
    #[must_use]
    pub const fn settings(&self) -> &JwtSettings {
        &self.settings
    }

    /// The claims of a token that holds at `now`.
    ///
    /// # Errors
    /// [`TokenError`]: why it does not hold.
    pub fn verify(&self, token: &[u8], now: Timestamp) -> Result<Arc<Claims>, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::TooLong);
        }
        let state = self.state.load();
        let hash = digest::digest(&digest::SHA256, token);
        if let Some(known) = state.cache.get(hash.as_ref()) {
            known.holds_at(now, self.settings.leeway)?;
            return Ok(known.claims);
        }
        let verified = token::verify(token, &state.keys, &self.settings)?;
        verified.holds_at(now, self.settings.leeway)?;
        state.cache.insert(hash.as_ref(), verified.clone());
        Ok(verified.claims)
    }

    /// The token of a request; `None` where it has none, and an error where it has something else in its place.
    fn find<'a>(&self, headers: &'a HeaderMap) -> Result<Option<&'a [u8]>, TokenError> {
        let mut lines = headers.get_all(&self.settings.header).iter();
        let Some(line) = lines.next() else { return Ok(None) };
        if lines.next().is_some() {
            return Err(TokenError::Repeated);
        }
        let (first, rest) = split(line.as_bytes());
        let is_bearer = first.eq_ignore_ascii_case(b"bearer");
        match rest {
            Some(token) if is_bearer => Ok(Some(token)),
            None if is_bearer => Err(TokenError::Form),
            // Another scheme, which somebody else may understand.
            _ if carries_credentials(self.settings.header.as_str()) => Ok(None),
            None if first.is_empty() => Ok(None),
            None => Ok(Some(first)),
            Some(_) => Err(TokenError::Form),
        }
    }
}

/// The scheme, or what stands there alone, and what follows it without blanks around.
fn split(value: &[u8]) -> (&[u8], Option<&[u8]>) {
    let value = value.trim_ascii();
    match value.iter().position(u8::is_ascii_whitespace) {
        Some(end) => {
            let (scheme, rest) = value.split_at(end);
            (scheme, Some(rest.trim_ascii()))
        }
        None => (value, None),
    }
}

impl Identify for JwtVerifier {
    fn identify(&self, headers: &HeaderMap, now: Timestamp) -> Identity {
        match self.find(headers).and_then(|token| token.map(|token| self.verify(token, now)).transpose()) {
            Ok(Some(claims)) => Identity::Known(claims),
            Err(_) if self.settings.refuse_invalid => Identity::Refused,
            Ok(None) | Err(_) => Identity::Anonymous,
        }
    }
}

impl Verified {
    fn holds_at(&self, now: Timestamp, leeway: Duration) -> Result<(), TokenError> {
        let leeway = leeway.as_secs();
        let now = now.as_micros() / 1_000_000;
        if now >= self.expires.saturating_add(leeway) {
            return Err(TokenError::Expired);
        }
        if now.saturating_add(leeway) < self.begins {
            return Err(TokenError::NotYet);
        }
        Ok(())
    }
}
