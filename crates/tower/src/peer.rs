//! Who is at the other end of the connection.

use std::net::SocketAddr;

use cupo_http::Peer;
use http::Extensions;

/// The address at the other end of the connection, as a server puts it into the extensions of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// How a layer finds the peer.
pub(crate) type FindPeer = fn(&Extensions) -> Peer;

/// [`PeerAddr`], else what axum knows.
pub(crate) fn find(extensions: &Extensions) -> Peer {
    let own = extensions.get::<PeerAddr>().map(|peer| peer.0.ip());
    #[cfg(feature = "axum")]
    let own = own.or_else(|| {
        use axum::extract::ConnectInfo;
        extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip())
    });
    own.into()
}
