//! Whom the admin API answers.

use std::fmt;

use sha2::{Digest as _, Sha256};

use super::tls::AdminTls;

/// How the admin API is set.
#[derive(Debug, Default)]
pub struct AdminSettings {
    /// Who may come in; without any, whoever reaches the listener, which has to be this machine then.
    pub tokens: Vec<AdminToken>,
    /// The certificates, where it speaks TLS.
    pub tls: Option<AdminTls>,
}

/// A token, of which only the hash is kept, and what its bearer may do.
#[derive(Clone)]
pub struct AdminToken {
    pub(super) name: Box<str>,
    pub(super) hash: [u8; 32],
    pub(super) may_read: bool,
    pub(super) may_change: bool,
}

impl AdminToken {
    /// The token of the bearer whom logs call `name`.
    #[must_use]
    pub fn new(name: &str, token: &str, may_read: bool, may_change: bool) -> Self {
        Self { name: name.into(), hash: hash(token.as_bytes()), may_read, may_change }
    }
}

/// Hashes are of one length, so that comparing them tells nothing by its time, not even how long a token is.
pub(super) fn hash(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminToken").field("name", &self.name).finish_non_exhaustive()
    }
}
