//! Says what is doubtful about who asks: once for each cause while the process lives, or an attacker writes the log.

use std::sync::atomic::{AtomicU32, Ordering};

use cupo_http::{Diagnostic, Diagnostics, RequestAttributes};

use crate::peer::PeerInfo;

/// The causes that were told.
static KNOWN: AtomicU32 = AtomicU32::new(0);

fn known() -> Diagnostics {
    Diagnostics::from_bits(KNOWN.load(Ordering::Relaxed))
}

/// Looks at a request before it is decided.
pub(crate) fn inspect(attributes: &RequestAttributes<'_>) {
    let found = attributes.diagnostics(known());
    if !found.is_empty() {
        let peer = attributes.peer().address().map_or_else(|| "unix".to_owned(), |peer| peer.to_string());
        tell(found, &peer);
    }
}

/// Tells of a connection.
pub(crate) fn connection(diagnostic: Diagnostic, peer: &PeerInfo) {
    if !known().has(diagnostic) {
        tell(diagnostic.into(), &peer.to_string());
    }
}

fn tell(found: Diagnostics, peer: &str) {
    let before = Diagnostics::from_bits(KNOWN.fetch_or(found.bits(), Ordering::Relaxed));
    for diagnostic in found.without(before).iter() {
        let (code, says) = (diagnostic.code(), diagnostic.says());
        if diagnostic.is_usual() {
            tracing::info!(code, peer, "{says} (told once; see docs/diagnostics.md)");
        } else {
            tracing::warn!(code, peer, "{says} (told once; see docs/diagnostics.md)");
        }
    }
}
