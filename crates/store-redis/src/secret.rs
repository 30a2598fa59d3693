//! Passwords that nothing prints.

use core::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use crate::error::RedisError;

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A password. Its `Debug` form shows nothing of it, not even its length.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// A secret that the program has at hand.
    #[must_use]
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The secret in the environment variable `name`.
    ///
    /// # Errors
    /// [`RedisError::SecretVariable`] where the variable is not set, is empty, or is not Unicode.
    pub fn from_env(name: &str) -> Result<Self, RedisError> {
        match std::env::var(name) {
            Ok(text) if !text.is_empty() => Ok(Self::new(text)),
            _ => Err(RedisError::SecretVariable { name: name.into() }),
        }
    }

    /// The secret in the file at `path`, without the line break at its end.
    ///
    /// # Errors
    /// [`RedisError::File`] where the file cannot be read, [`RedisError::EmptySecretFile`] where nothing is in it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, RedisError> {
        let path = path.as_ref();
        let text =
            read(path).map_err(|source| RedisError::File { path: path.into(), source: source.into() })?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(RedisError::EmptySecretFile { path: path.into() });
        }
        Ok(Self::new(text))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// The text of a regular file: a pipe or a device is not waited for, and no secret is long.
fn read(path: &Path) -> io::Result<String> {
    let kind = fs::metadata(path)?;
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES.saturating_add(1)).read_to_string(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_BYTES) {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 1 MiB"));
    }
    Ok(text)
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
