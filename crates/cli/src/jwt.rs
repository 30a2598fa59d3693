//! The verifier of tokens that the policy asks for.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cupo_config::{Config, ConfigErrors, InvalidToken, JwtKeySource, JwtSource, read_file};
use cupo_http::{JwtAlgorithm, JwtError, JwtKeys, JwtSettings, JwtVerifier};
use http::HeaderName;
use thiserror::Error;

/// The longest file of keys that is read, in bytes: 1 MiB.
const MAX_KEYS_BYTES: usize = 1 << 20;

/// Why there are no keys for tokens.
#[derive(Debug, Error)]
pub(crate) enum NoKeys {
    #[error("the file of keys `{}` cannot be read: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the file of keys `{}`: {source}", path.display())]
    Set { path: PathBuf, source: JwtError },
    #[error("the environment has no secret in the variable `{0}`")]
    NoSecret(String),
    #[error("the variable `{variable}` of the environment: {source}")]
    Secret { variable: String, source: JwtError },
    #[error("`{0}` is not a header name")]
    Header(String),
}

impl NoKeys {
    /// The field of the policy that is to blame.
    const fn field(&self) -> &'static str {
        match self {
            Self::File { .. } | Self::Set { .. } => "jwt.keys_file",
            Self::NoSecret(_) | Self::Secret { .. } => "jwt.secret_env",
            Self::Header(_) => "jwt.header",
        }
    }
}

/// A verifier, and what it was made of.
#[derive(Clone)]
pub(crate) struct Tokens {
    pub(crate) verifier: Arc<JwtVerifier>,
    source: JwtSource,
    file: Option<KeysFile>,
}

/// A file of keys, and what it said.
#[derive(Clone, PartialEq, Eq)]
struct KeysFile {
    path: PathBuf,
    text: Arc<[u8]>,
}

impl Tokens {
    /// `None` where the policy has nothing to do with tokens.
    ///
    /// # Errors
    /// [`ConfigErrors`]: which field names keys that cannot be used.
    pub(crate) fn open(config: &Config) -> Result<Option<Self>, ConfigErrors> {
        Self::open_after(config, None)
    }

    /// The same. Where nothing has changed since `before`, its verifier goes on, and remembers what it has verified.
    pub(crate) fn open_after(config: &Config, before: Option<&Self>) -> Result<Option<Self>, ConfigErrors> {
        let from = |source| Self::from(source, config.source.name(), before);
        config.jwt.as_ref().map(from).transpose().map_err(|error| config.unusable(error.field(), error))
    }

    fn from(source: &JwtSource, policy_file: &str, before: Option<&Self>) -> Result<Self, NoKeys> {
        let file = match &source.keys {
            JwtKeySource::File(path) => {
                let path = Path::new(policy_file).parent().unwrap_or(Path::new("")).join(path);
                match read_file(&path, MAX_KEYS_BYTES) {
                    Ok(text) => Some(KeysFile { path, text: text.into() }),
                    Err(source) => return Err(NoKeys::File { path, source }),
                }
            }
            _ => None,
        };
        if let Some(before) = before.filter(|before| before.source == *source && before.file == file) {
            return Ok(before.clone());
        }
        let names = source.algorithms.iter();
        let algorithms: Vec<_> = names.filter_map(|name| JwtAlgorithm::from_name(name)).collect();
        let keys = match (&source.keys, &file) {
            (JwtKeySource::Environment(variable), _) => secret(variable)?,
            (_, Some(KeysFile { path, text })) => JwtKeys::from_jwks(text, &algorithms)
                .map_err(|source| NoKeys::Set { path: path.clone(), source })?,
            _ => return Err(NoKeys::NoSecret(String::new())),
        };
        let verifier = Arc::new(JwtVerifier::new(settings(source)?, keys));
        Ok(Self { verifier, source: source.clone(), file })
    }

    /// What the file of keys said; nothing where there is none.
    pub(crate) fn keys_text(&self) -> &[u8] {
        self.file.as_ref().map_or(&[], |file| &file.text)
    }

    /// Whether the file of keys still says what it said.
    pub(crate) fn is_current(&self) -> bool {
        let said =
            |file: &KeysFile| read_file(&file.path, MAX_KEYS_BYTES).is_ok_and(|now| *now == *file.text);
        self.file.as_ref().is_none_or(said)
    }
}

fn secret(variable: &str) -> Result<JwtKeys, NoKeys> {
    let sound = !variable.is_empty() && !variable.contains(['=', '\0']);
    let secret = if sound { std::env::var_os(variable) } else { None };
    let secret = secret.ok_or_else(|| NoKeys::NoSecret(variable.to_owned()))?;
    JwtKeys::from_secret(secret.as_encoded_bytes())
        .map_err(|source| NoKeys::Secret { variable: variable.to_owned(), source })
}

fn settings(source: &JwtSource) -> Result<JwtSettings, NoKeys> {
    let mut settings = JwtSettings::default();
    if let Some(name) = &source.header {
        settings.header =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| NoKeys::Header(name.clone()))?;
    }
    settings.issuer.clone_from(&source.issuer);
    settings.audiences.clone_from(&source.audiences);
    settings.leeway = source.leeway.unwrap_or(settings.leeway);
    if let Some(claim) = &source.user_claim {
        settings.user_claim.clone_from(claim);
    }
    settings.refuse_invalid = source.invalid == InvalidToken::Refuse;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::Tokens;

    fn key_set(letter: char) -> String {
        let x = letter.to_string().repeat(42) + "A";
        format!(
            r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}},{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#
        )
    }

    #[test]
    fn a_verifier_goes_on_until_its_keys_or_settings_change() {
        let folder = tempfile::tempdir().unwrap();
        let (policy, keys) = (folder.path().join("cupo.yaml"), folder.path().join("jwks.json"));
        let parsed = |issuer: &str| {
            let text = format!(
                "jwt: {{ keys_file: jwks.json, algorithms: EdDSA, issuer: {issuer} }}\nrules: [{{ name: a, key: ip, limit: 1/s }}]"
            );
            cupo_config::parse(policy.to_str().unwrap(), &text).unwrap()
        };
        fs::write(&keys, key_set('A')).unwrap();
        let config = parsed("a");
        let first = Tokens::open(&config).unwrap().unwrap();
        let next = |issuer: &str| Tokens::open_after(&parsed(issuer), Some(&first)).unwrap().unwrap();
        assert!(first.is_current() && Arc::ptr_eq(&first.verifier, &next("a").verifier));
        assert!(!Arc::ptr_eq(&first.verifier, &next("b").verifier));

        fs::write(&keys, key_set('B')).unwrap();
        assert!(!first.is_current());
        assert!(!Arc::ptr_eq(&first.verifier, &next("a").verifier));
        for wrong in ["", "{}", r#"{"keys":[]}"#] {
            fs::write(&keys, wrong).unwrap();
            assert!(Tokens::open_after(&config, Some(&first)).is_err(), "{wrong}");
        }
        fs::remove_file(&keys).unwrap();
        assert!(Tokens::open_after(&config, Some(&first)).is_err());
        assert!(!first.is_current());
    }
}
