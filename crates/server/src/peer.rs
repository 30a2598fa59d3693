//! Who is at the other end of a client connection.

use std::fmt;
use std::net::SocketAddr;

use cupo_http::Peer;
use serde::{Serialize, Serializer};

/// The client's end of the connection that a request came by; in the extensions of every request that the server hands
/// to its service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerInfo {
    /// The address and port that the connection comes from: a proxy's if there is one in front. `None` on a Unix socket.
    pub addr: Option<SocketAddr>,
    /// The client that a trusted proxy named in a PROXY header.
    pub relayed: Option<SocketAddr>,
    /// Whether the request's own word about its client counts, once that is known.
    pub(crate) trusted: Option<bool>,
}

impl PeerInfo {
    /// A peer at `addr`.
    #[must_use]
    pub const fn new(addr: SocketAddr) -> Self {
        Self { addr: Some(addr), relayed: None, trusted: None }
    }

    /// A process that connects by a Unix socket.
    #[must_use]
    pub const fn unix() -> Self {
        Self { addr: None, relayed: None, trusted: None }
    }

    /// The same connection, passed on for `client`.
    #[must_use]
    pub const fn relaying(self, client: Option<SocketAddr>) -> Self {
        Self { relayed: client, ..self }
    }

    /// Who counts as the other end.
    #[must_use]
    pub fn peer(&self) -> Peer {
        match (self.relayed, self.addr) {
            (Some(client), _) => Peer::Relayed(client.ip()),
            (None, Some(addr)) => Peer::Address(addr.ip()),
            (None, None) => Peer::Unix,
        }
    }
}

impl fmt::Display for PeerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.relayed.or(self.addr) {
            Some(address) => address.fmt(f),
            None => f.write_str("unix"),
        }
    }
}

impl Serialize for PeerInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
