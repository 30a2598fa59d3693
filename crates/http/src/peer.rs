//! Who is at the other end of a connection.

use std::net::IpAddr;

/// The other end of the connection that a request came by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Peer {
    /// Nobody said.
    #[default]
    Unknown,
    /// A process on this machine, by a Unix socket, which has no address.
    Unix,
    /// This address.
    Address(IpAddr),
    /// This address, by the word of a trusted proxy that passes connections on and began this one with a PROXY header. It counts as
    /// the peer: what the requests say was written by it, or by somebody behind it.
    Relayed(IpAddr),
}

impl Peer {
    /// The address, if there is one.
    #[must_use]
    pub const fn address(self) -> Option<IpAddr> {
        match self {
            Self::Unknown | Self::Unix => None,
            Self::Address(address) | Self::Relayed(address) => Some(address),
        }
    }
}

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        Self::Address(address)
    }
}

impl From<Option<IpAddr>> for Peer {
    fn from(address: Option<IpAddr>) -> Self {
        address.map_or(Self::Unknown, Self::Address)
    }
}
