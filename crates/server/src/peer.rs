//! Who is at the other end of a client connection.

use std::net::SocketAddr;

/// The client's end of the connection that a request came by; in the extensions of every request that the server hands
/// to its service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerInfo {
    /// The address and port that the connection comes from: a proxy's if there is one in front.
    pub addr: SocketAddr,
}

impl PeerInfo {
    /// A peer at `addr`.
    #[must_use]
    pub const fn new(addr: SocketAddr) -> Self {
        Self { addr }
    }
}
