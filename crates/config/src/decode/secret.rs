//! Secrets, which the file never holds: it names the variable of the environment that does.

use cupo_core::KeySecret;

use super::value::Value;
use crate::problem::Problem;

/// The secret in the variable that the value names.
pub(super) fn from_env(value: &Value<'_>) -> Option<KeySecret> {
    let name = value.text()?;
    // Names that no variable can have.
    let sound = !name.is_empty() && !name.contains(['=', '\0']);
    let secret = if sound { std::env::var_os(name) } else { None };
    match secret.filter(|secret| !secret.is_empty()) {
        None => value.fault(Problem::NoSecret(name.into())),
        Some(secret) => match KeySecret::new(secret.as_encoded_bytes()) {
            Ok(secret) => Some(secret),
            Err(_) => value.fault(Problem::ShortSecret(name.into())),
        },
    }
}
