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

/// A verifier, and the file of its keys to look at again, where they are in one.
pub(crate) struct Tokens {
    pub(crate) verifier: Arc<JwtVerifier>,
    file: Option<KeysFile>,
}

struct KeysFile {
    path: PathBuf,
    algorithms: Vec<JwtAlgorithm>,
    /// What it said when it was last read.
    seen: Result<Vec<u8>, io::ErrorKind>,
}

impl Tokens {
    /// `None` where the policy has nothing to do with tokens.
    ///
    /// # Errors
    /// [`ConfigErrors`]: which field names keys that cannot be used.
    pub(crate) fn open(config: &Config) -> Result<Option<Self>, ConfigErrors> {
        let opened = config.jwt.as_ref().map(|source| Self::from(source, config.source.name())).transpose();
        opened.map_err(|error| config.unusable(error.field(), error))
    }

    fn from(source: &JwtSource, policy_file: &str) -> Result<Self, NoKeys> {
        let names = source.algorithms.iter();
        let algorithms: Vec<_> = names.filter_map(|name| JwtAlgorithm::from_name(name)).collect();
        let (keys, file) = match &source.keys {
            JwtKeySource::Environment(variable) => (secret(variable)?, None),
            JwtKeySource::File(path) => {
                let folder = Path::new(policy_file).parent().unwrap_or(Path::new(""));
                let path = folder.join(path);
                let text = match read_file(&path, MAX_KEYS_BYTES) {
                    Ok(text) => text,
                    Err(source) => return Err(NoKeys::File { path, source }),
                };
                let keys = JwtKeys::from_jwks(&text, &algorithms);
                let keys = keys.map_err(|source| NoKeys::Set { path: path.clone(), source })?;
                (keys, Some(KeysFile { path, algorithms, seen: Ok(text) }))
            }
            _ => return Err(NoKeys::NoSecret(String::new())),
        };
        let verifier = Arc::new(JwtVerifier::new(settings(source)?, keys));
        Ok(Self { verifier, file })
    }

    /// Puts the keys of the file in force if it has changed. A file that is wrong changes nothing, and is told about once.
    pub(crate) fn look(&mut self) {
        let Some(file) = &mut self.file else { return };
        let now = read_file(&file.path, MAX_KEYS_BYTES).map_err(|error| error.kind());
        if now == file.seen {
            return;
        }
        let keys = match &now {
            Ok(text) => JwtKeys::from_jwks(text, &file.algorithms).map_err(|error| error.to_string()),
            Err(kind) => Err(kind.to_string()),
        };
        match keys {
            Ok(keys) => {
                tracing::info!(file = %file.path.display(), keys = keys.len(), "the keys of tokens are in force");
                self.verifier.replace_keys(keys);
            }
            Err(error) => tracing::error!(
                file = %file.path.display(),
                "the keys of tokens are wrong, and those before stay in force: {error}"
            ),
        }
        file.seen = now;
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

    use super::Tokens;

    fn key_set(letter: char) -> String {
        let x = letter.to_string().repeat(42) + "A";
        format!(
            r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}},{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#
        )
    }

    #[test]
    fn a_file_that_changes_is_read_again_and_one_that_is_wrong_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (policy, keys) = (folder.path().join("cupo.yaml"), folder.path().join("jwks.json"));
        let text =
            "jwt: { keys_file: jwks.json, algorithms: EdDSA }\nrules: [{ name: a, key: ip, limit: 1/s }]";
        fs::write(&keys, key_set('A')).unwrap();
        let config = cupo_config::parse(policy.to_str().unwrap(), text).unwrap();
        let mut tokens = Tokens::open(&config).unwrap().unwrap();
        let before = tokens.verifier.keys();
        tokens.look();
        assert_eq!(tokens.verifier.keys(), before, "nothing has changed");
        fs::write(&keys, key_set('B')).unwrap();
        tokens.look();
        let after = tokens.verifier.keys();
        assert_ne!(after, before);
        for wrong in ["", "{}", r#"{"keys":[]}"#] {
            fs::write(&keys, wrong).unwrap();
            tokens.look();
            assert_eq!(tokens.verifier.keys(), after, "{wrong}");
        }
        fs::remove_file(&keys).unwrap();
        tokens.look();
        assert_eq!(tokens.verifier.keys(), after, "no file changes nothing");
        fs::write(&keys, key_set('A')).unwrap();
        tokens.look();
        assert_ne!(tokens.verifier.keys(), after);
    }
}
