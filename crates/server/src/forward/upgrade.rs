//! Connections that switch protocols, such as to WebSocket: from the 101 on, bytes go both ways unseen.

use bytes::BytesMut;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;

/// Copies both ways until both ends have closed, or one fails. `early` came from the upstream right behind its 101. Ends
/// with its worker at the latest; a peer that vanishes is found by the probes that [`tune`](crate::listener::tune) sets.
pub(super) async fn tunnel(client: OnUpgrade, mut upstream: TcpStream, early: BytesMut) {
    let Ok(client) = client.await else { return };
    let mut client = TokioIo::new(client);
    let copied = async {
        client.write_all(&early).await?;
        client.flush().await?;
        drop(early);
        copy_bidirectional(&mut client, &mut upstream).await
    };
    if let Err(error) = copied.await {
        tracing::debug!(%error, "tunnel ended");
    }
}
