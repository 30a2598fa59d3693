//! Free ports.

use std::net::TcpListener;

/// A port of 127.0.0.1 that nobody listened on a moment ago. Somebody else may take it before its user does, so whoever
/// starts a server on it tries again with another.
#[must_use]
pub fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
