//! What a policy file says about the store, as plain values. `None` stands for what it does not say.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Where counters are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreSource {
    /// In this process.
    Memory {
        /// How much it may hold.
        bound: Option<MemoryBound>,
    },
    /// In Redis or Valkey, for all nodes together.
    Redis(Box<RedisSource>),
}

impl Default for StoreSource {
    fn default() -> Self {
        Self::Memory { bound: None }
    }
}

/// How much the memory store may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryBound {
    /// This many bytes, at least 64 KiB.
    Bytes(u64),
    /// This many keys, 1 to 1,000,000,000.
    Keys(u64),
}

/// What the file says about a Redis or Valkey store.
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RedisSource {
    /// Where the servers are; may hold a password, which [`Debug`] does not show.
    pub url: String,
    /// The ACL user.
    pub username: Option<String>,
    /// Where the password is.
    pub password: Option<PasswordSource>,
    /// What every key begins with.
    pub prefix: Option<String>,
    /// The longest that a decision may take.
    pub deadline: Option<Duration>,
    /// The longest that making a connection may take.
    pub connect_timeout: Option<Duration>,
    /// Checks that may wait at once.
    pub max_waiters: Option<u64>,
    /// Checks in one call.
    pub batch_max: Option<u64>,
    /// Whether denials are answered from memory while they certainly hold.
    pub denial_cache: Option<bool>,
    /// Failures in a row until the server is left alone.
    pub breaker_failures: Option<u32>,
    /// How long it is left alone.
    pub breaker_rest: Option<Duration>,
    /// The certificate authority of the servers (PEM).
    pub ca_file: Option<PathBuf>,
    /// This client's certificate chain (PEM).
    pub certificate_file: Option<PathBuf>,
    /// The key of the certificate (PEM).
    pub key_file: Option<PathBuf>,
}

/// Where a password is; never the password itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PasswordSource {
    /// In an environment variable.
    Environment(String),
    /// In a file, whose final line end does not count.
    File(PathBuf),
}

impl RedisSource {
    /// The URL without its password, for people.
    #[must_use]
    pub fn shown_url(&self) -> String {
        let Some((scheme, rest)) = self.url.split_once("://") else { return self.url.clone() };
        match rest.rsplit_once('@') {
            None => self.url.clone(),
            Some((user, servers)) => {
                let user = user.split(':').next().unwrap_or_default();
                format!("{scheme}://{user}:…@{servers}")
            }
        }
    }
}

impl fmt::Debug for RedisSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSource").field("url", &self.shown_url()).finish_non_exhaustive()
    }
}
