//! One token: from its text to claims that hold.

use std::collections::VecDeque;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

use super::JwtSettings;
use super::cache::Verified;
use super::json::{self, Json, Object};
use super::key::{JwtAlgorithm, JwtKeys};
use crate::identity::Claims;

/// Objects inside each other that claims are found in.
const MAX_DEPTH: usize = 8;

/// Why a token does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The header that carries it comes several times.
    #[error("the header that carries the token comes several times")]
    Repeated,
    /// It is longer than is looked at.
    #[error("the token is too long")]
    TooLong,
    /// It is no three parts in base64url without padding, or its head or body is no JSON object with each name once.
    #[error("this is not a signed token in compact form")]
    Form,
    /// Its algorithm is none of those that are allowed.
    #[error("the token's algorithm is not allowed")]
    Algorithm,
    /// It asks for an extension (`crit`).
    #[error("the token asks for an extension that is not understood")]
    Extension,
    /// No key made its signature.
    #[error("the token's signature is of no key that is known")]
    Signature,
    /// It has no `exp`, or a time that is none.
    #[error("the token's times are missing or malformed")]
    Times,
    /// It holds no more.
    #[error("the token has expired")]
    Expired,
    /// It does not hold yet.
    #[error("the token is not valid yet")]
    NotYet,
    /// It is another issuer's.
    #[error("the token is of another issuer")]
    Issuer,
    /// It is meant for somebody else.
    #[error("the token is for another audience")]
    Audience,
}

/// Verifies all of a token but its times.
pub(super) fn verify(token: &[u8], keys: &JwtKeys, settings: &JwtSettings) -> Result<Verified, TokenError> {
    let mut parts = token.split(|byte| *byte == b'.');
    let (Some(head), Some(body), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(TokenError::Form);
    };
    let decode = |part: &[u8]| URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Form);
    let header = json::object(&decode(head)?).ok_or(TokenError::Form)?;
    let signature = decode(signature)?;
    let (algorithm, id) = read_header(&header, keys)?;
    let signed_bytes = head.len().saturating_add(1).saturating_add(body.len());
    let signed = token.get(..signed_bytes).ok_or(TokenError::Form)?;
    if !keys.verify(algorithm, id, signed, &signature) {
        return Err(TokenError::Signature);
    }
    // Nothing of the body is looked at before its signature holds.
    let body = json::object(&decode(body)?).ok_or(TokenError::Form)?;
    let expires = instant(body.get("exp").ok_or(TokenError::Times)?, Rounding::Down)?;
    let begins = body.get("nbf").map_or(Ok(0), |begin| instant(begin, Rounding::Up))?;
    if settings.issuer.is_some() && body.get("iss").and_then(Json::text) != settings.issuer.as_deref() {
        return Err(TokenError::Issuer);
    }
    if !settings.audiences.is_empty() && !is_for(body.get("aud"), &settings.audiences) {
        return Err(TokenError::Audience);
    }
    let claims = Claims::new(scalars(body));
    let user = claims.get(&settings.user_claim).filter(|user| !user.is_empty()).map(str::to_owned);
    let claims = match user {
        Some(user) => claims.with_user(user),
        None => claims,
    };
    Ok(Verified { claims: Arc::new(claims), expires, begins })
}

/// The algorithm, for which there has to be a key, and the name of the key.
fn read_header<'a>(
    header: &'a Object,
    keys: &JwtKeys,
) -> Result<(JwtAlgorithm, Option<&'a str>), TokenError> {
    let algorithm = header.get("alg").and_then(Json::text).and_then(JwtAlgorithm::from_name);
    let algorithm = algorithm.filter(|algorithm| keys.are_for(*algorithm)).ok_or(TokenError::Algorithm)?;
    if header.contains_key("crit") {
        return Err(TokenError::Extension);
    }
    match header.get("kid") {
        None => Ok((algorithm, None)),
        Some(Json::Text(id)) => Ok((algorithm, Some(id))),
        Some(_) => Err(TokenError::Form),
    }
}

#[derive(Clone, Copy)]
enum Rounding {
    Down,
    Up,
}

/// Seconds since the Unix epoch. RFC 7519 lets them have a fraction, which is rounded so that the token holds for less time.
fn instant(value: &Json, rounding: Rounding) -> Result<u64, TokenError> {
    match value {
        Json::Whole(seconds) if *seconds < 0 => Ok(0),
        Json::Whole(seconds) => u64::try_from(*seconds).map_err(|_| TokenError::Times),
        Json::Fraction(seconds) if *seconds < 0.0 => Ok(0),
        Json::Fraction(seconds) => {
            let whole = match rounding {
                Rounding::Down => seconds.floor(),
                Rounding::Up => seconds.ceil(),
            };
            format!("{whole:.0}").parse().map_err(|_| TokenError::Times)
        }
        _ => Err(TokenError::Times),
    }
}

/// Whether `aud`, one text or several, has one of `wanted`.
fn is_for(audience: Option<&Json>, wanted: &[String]) -> bool {
    let is_wanted = |one: &Json| one.text().is_some_and(|one| wanted.iter().any(|own| own == one));
    match audience {
        Some(Json::List(several)) => several.iter().any(is_wanted),
        Some(one) => is_wanted(one),
        None => false,
    }
}

/// Texts as they are, whole numbers and truth values as JSON writes them; those inside of objects under the names on the way,
/// divided by points. What stands further out comes first.
fn scalars(body: Object) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut objects = VecDeque::from([(String::new(), body, 1_usize)]);
    while let Some((prefix, object, depth)) = objects.pop_front() {
        for (name, value) in object {
            let name = format!("{prefix}{name}");
            match value {
                Json::Text(text) => found.push((name, text)),
                Json::Bool(truth) => found.push((name, truth.to_string())),
                Json::Whole(number) => found.push((name, number.to_string())),
                Json::Map(inner) if depth < MAX_DEPTH => {
                    objects.push_back((name + ".", inner, depth.saturating_add(1)));
                }
                Json::Map(_) | Json::List(_) | Json::Fraction(_) | Json::Null => {}
            }
        }
    }
    found
}
