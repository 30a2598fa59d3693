//! What a policy file says about the admin API, as plain values.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::source::ListenSource;

/// Where administrators are answered, and who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdminSource {
    /// Where to listen.
    pub listen: ListenSource,
    /// The permission bits of the file of a Unix socket.
    pub socket_mode: Option<u32>,
    /// Who may come in; whoever reaches the address where there are none, which is this machine then.
    pub tokens: Vec<AdminTokenSource>,
    /// The certificates, where it speaks TLS.
    pub tls: Option<AdminTlsSource>,
}

impl AdminSource {
    /// Where it listens unless the file says otherwise.
    pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9090);
}

/// A token, and what its bearer may do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdminTokenSource {
    /// The bearer's name in logs.
    pub name: String,
    /// The token.
    pub token: AdminToken,
    /// Whether the bearer may look.
    pub may_read: bool,
    /// Whether the bearer may change something.
    pub may_change: bool,
}

/// A token, which is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct AdminToken(pub(crate) Box<str>);

impl AdminToken {
    /// The token itself: visible ASCII.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken(..)")
    }
}

/// Certificates of the admin API; all files are PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdminTlsSource {
    /// The certificate chain.
    pub cert_file: PathBuf,
    /// Its key.
    pub key_file: PathBuf,
    /// Who signs the certificates that clients have to show; they need none without it.
    pub client_ca_file: Option<PathBuf>,
}
