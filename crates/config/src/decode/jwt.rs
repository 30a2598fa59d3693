//! Tokens.

use std::path::PathBuf;
use std::time::Duration;

use super::matches::some;
use super::value::{Map, Value};
use crate::jwt_source::{InvalidToken, JwtKeySource, JwtSource};
use crate::problem::Problem;

const FIELDS: &[&str] = &[
    "keys_file",
    "secret_env",
    "algorithms",
    "issuer",
    "audience",
    "leeway",
    "header",
    "user_claim",
    "invalid",
];

const ALGORITHMS: &[&str] = &["HS256", "RS256", "ES256", "EdDSA"];

/// Clocks that are further apart than this are broken.
const MAX_LEEWAY: Duration = Duration::from_secs(300);

pub(super) fn jwt(value: &Value<'_>) -> Option<JwtSource> {
    let map = value.map(FIELDS)?;
    let keys = keys(&map);
    let algorithms = map.need("algorithms", "algorithms: [RS256]").and_then(|value| algorithms(&value));
    let text = |name| map.or(name, None, |value: &Value<'_>| value.text().map(|text| Some(text.to_owned())));
    let issuer = text("issuer");
    let audiences = map.or("audience", Vec::new(), |value| {
        some(value)?.iter().map(|item| item.text().map(str::to_owned)).collect()
    });
    let leeway = map.or("leeway", None, |value| leeway(value).map(Some));
    let header = map.or("header", None, |value| header(value).map(Some));
    let user_claim = text("user_claim");
    let invalid = map.or("invalid", InvalidToken::default(), |value| {
        value.word("an answer to an invalid token", &InvalidToken::ALL, InvalidToken::name)
    });
    let (keys, algorithms) = (keys?, algorithms?);
    if matches!(keys, JwtKeySource::Environment(_)) && algorithms != ["HS256"] {
        return map.get("algorithms").unwrap_or_else(|| value.clone()).fault(Problem::SecretAlgorithm);
    }
    Some(JwtSource {
        keys,
        algorithms,
        issuer: issuer?,
        audiences: audiences?,
        leeway: leeway?,
        header: header?,
        user_claim: user_claim?,
        invalid: invalid?,
    })
}

fn keys(map: &Map<'_>) -> Option<JwtKeySource> {
    match (map.get("keys_file"), map.get("secret_env")) {
        (Some(_), Some(secret)) => secret.fault(Problem::Conflict { one: "keys_file", other: "secret_env" }),
        (None, Some(variable)) => Some(JwtKeySource::Environment(variable.text()?.to_owned())),
        (_, None) => {
            let path = map.need("keys_file", "keys_file: jwks.json")?;
            Some(JwtKeySource::File(PathBuf::from(path.text()?)))
        }
    }
}

fn algorithms(value: &Value<'_>) -> Option<Vec<&'static str>> {
    let words: Vec<Option<&str>> =
        some(value)?.iter().map(|item| item.word("an algorithm", ALGORITHMS, |name| name)).collect();
    words.into_iter().collect()
}

/// A duration, of which here nothing at all is one.
fn leeway(value: &Value<'_>) -> Option<Duration> {
    let leeway = if value.text()?.trim() == "0s" { Duration::ZERO } else { value.duration()? };
    if leeway > MAX_LEEWAY { value.fault(Problem::Leeway) } else { Some(leeway) }
}

fn header(value: &Value<'_>) -> Option<String> {
    let name = value.text()?.to_ascii_lowercase();
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(legal) {
        return value.fault(Problem::Policy(cupo_core::Problem::HeaderName(name)));
    }
    Some(name)
}
