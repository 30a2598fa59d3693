//! Entries of the allow-list and the block-list.

use cupo_core::{ExemptionSource, HeaderSecret};

use super::matches::{self, some};
use super::value::Value;
use crate::problem::Problem;

const FIELDS: &[&str] =
    &["name", "method", "path", "host", "header", "client", "not", "api_key_hash", "secret_header"];

/// The entry; everything wrong with its form is reported before `None` is returned.
pub(super) fn entry(value: &Value<'_>) -> Option<ExemptionSource> {
    let map = value.map(FIELDS)?;
    let name = map.need("name", "name: health").and_then(|value| value.text());
    let matches = matches::conditions(&map);
    let api_keys = map.or("api_key_hash", Vec::new(), |value| {
        let hashes: Vec<Option<[u8; 32]>> = some(value)?.iter().map(hash).collect();
        hashes.into_iter().collect()
    });
    let secret = map.or("secret_header", None, |value| secret(value).map(Some));
    Some(ExemptionSource { name: name?.to_owned(), matches: matches?, api_keys: api_keys?, secret: secret? })
}

/// 64 hexadecimal digits.
fn hash(value: &Value<'_>) -> Option<[u8; 32]> {
    let text = value.text()?;
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let bytes: Option<Vec<u8>> = digits
        .filter(|digits| digits.len() == 64)
        .map(|digits| digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect());
    bytes.and_then(|bytes| bytes.try_into().ok()).or_else(|| value.fault(Problem::ApiKeyHash))
}

/// A secret that a header carries; the file names the variable of the environment that holds it.
fn secret(value: &Value<'_>) -> Option<HeaderSecret> {
    let map = value.map(&["name", "env"])?;
    let name = map.need("name", "name: x-probe").and_then(|value| value.text().map(|text| (value, text)));
    let variable =
        map.need("env", "env: PROBE_SECRET").and_then(|value| value.text().map(|text| (value, text)));
    let ((name_at, name), (variable_at, variable)) = (name?, variable?);
    if name.eq_ignore_ascii_case("host") {
        return name_at.fault(Problem::HostIsNoKey);
    }
    // Names that no variable can have.
    let sound = !variable.is_empty() && !variable.contains(['=', '\0']);
    let secret = if sound { std::env::var_os(variable) } else { None };
    let Some(secret) = secret.filter(|secret| !secret.is_empty()) else {
        return variable_at.fault(Problem::NoSecret(variable.into()));
    };
    match HeaderSecret::new(&name.to_ascii_lowercase(), secret.as_encoded_bytes()) {
        Ok(secret) => Some(secret),
        Err(problem @ cupo_core::Problem::HeaderName(_)) => name_at.fault(Problem::Policy(problem)),
        Err(problem) => variable_at.fault(Problem::Policy(problem)),
    }
}
