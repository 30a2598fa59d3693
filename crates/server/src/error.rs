//! What can go wrong, for the caller of this crate.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// An error of the server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A Unix socket cannot be listened on.
    #[error("cannot listen on unix:{}", path.display())]
    ListenUnix {
        /// Its path.
        path: Box<Path>,
        /// Why.
        source: io::Error,
    },
    /// There is nothing to listen on.
    #[error("no address to listen on")]
    NoAddress,
    /// A worker thread or its runtime cannot be started.
    #[error("cannot start a worker")]
    Worker(#[source] io::Error),
    /// The access log's writer cannot be started.
    #[error("cannot start the access log")]
    AccessLog(#[source] io::Error),
    /// The admin API would answer whoever reaches it.
    #[error("others reach the admin API at {address}, and it asks for no token")]
    AdminOpen {
        /// The address.
        address: SocketAddr,
    },
    /// The certificates of the admin API cannot be used.
    #[error("the certificates of the admin API: {reason}")]
    AdminCertificates {
        /// Which, and why.
        reason: Box<str>,
    },
    /// An upstream is not written as `http://host:port` or `host:port`.
    #[error("`{text}` is not an upstream: write `http://host:port`, without a path")]
    Upstream {
        /// What was written.
        text: Box<str>,
    },
    /// A body ended or failed before it was whole.
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// Why a body that was already under way had to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The upstream closed or reset its connection before the body was whole.
    #[error("the upstream ended the response early")]
    Truncated,
    /// The upstream's framing is invalid.
    #[error("the upstream framed the response wrongly")]
    Framing,
    /// No byte came for the idle timeout.
    #[error("the upstream stalled")]
    Stalled,
    /// The client's body failed while the response was under way.
    #[error("the request body failed")]
    Request,
    /// The request body grew beyond the bound.
    #[error("the request body is too large")]
    TooLarge,
}
