//! A client's socket that notes what it does in its connection's [`Activity`].

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::time::timeout;

use crate::activity::Activity;
use crate::stream::ClientStream;

/// Parts up to this size together are copied into one buffer: the kernel takes one faster than several.
const JOIN: usize = 4 * 1024;

/// A client's stream, with the bytes that were read ahead to tell HTTP/2 from HTTP/1.
#[derive(Debug)]
pub(crate) struct Socket {
    /// Gone only while dropping.
    stream: Option<ClientStream>,
    ahead: BytesMut,
    /// Small parts on their way to becoming one.
    joined: Vec<u8>,
    activity: Arc<Activity>,
    /// Whether our side is closed.
    shut: bool,
    left: Left,
}

/// Where a [`Socket`] that closed its side leaves its stream, for [`linger`].
pub(crate) type Left = Arc<Mutex<Option<ClientStream>>>;

/// How long to wait for more of what a client still sends after its last response, and how long in all.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_ALL: Duration = Duration::from_secs(10);

/// Reads and forgets what the client is still sending, until it stops. To close a socket with bytes unread resets the
/// connection, and a reset makes the client's kernel throw away the response that refused those bytes.
pub(crate) async fn linger(mut stream: ClientStream) {
    let drained = async {
        let mut bytes = vec![0; 16 * 1024];
        while let Ok(Ok(read)) = timeout(LINGER, stream.read(&mut bytes)).await {
            if read == 0 {
                return;
            }
        }
    };
    let _ = timeout(LINGER_ALL, drained).await;
}

fn gone() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.shut {
            *self.left.lock() = self.stream.take();
        }
    }
}

impl Socket {
    pub(crate) fn new(stream: ClientStream, activity: Arc<Activity>, left: Left) -> Self {
        Self { stream: Some(stream), shut: false, left, ahead: BytesMut::new(), joined: Vec::new(), activity }
    }

    /// The bytes that were read ahead, to look at; reads give them out again.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.ahead
    }

    /// Forgets the first `length` of the bytes that were read ahead.
    pub(crate) fn consume(&mut self, length: usize) {
        self.ahead.advance(length.min(self.ahead.len()));
    }

    /// Reads more bytes ahead; zero at the end of the stream.
    pub(crate) fn poll_read_ahead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut bytes = [0; 64];
        let mut buf = ReadBuf::new(&mut bytes);
        let Some(stream) = &mut self.stream else { return Poll::Ready(Err(gone())) };
        ready!(Pin::new(stream).poll_read(cx, &mut buf))?;
        let filled = buf.filled();
        if !filled.is_empty() {
            self.activity.read();
        }
        self.ahead.extend_from_slice(filled);
        Poll::Ready(Ok(filled.len()))
    }

    fn note(&self, write: &Poll<io::Result<usize>>) {
        match write {
            Poll::Pending => self.activity.blocked(),
            Poll::Ready(_) => self.activity.written(),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.ahead.is_empty() {
            let len = this.ahead.len().min(buf.remaining());
            buf.put_slice(this.ahead.get(..len).unwrap_or_default());
            this.ahead.advance(len);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let Some(stream) = &mut this.stream else { return Poll::Ready(Err(gone())) };
        ready!(Pin::new(stream).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            this.activity.read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Err(gone())) };
        let written = Pin::new(stream).poll_write(cx, buf);
        self.note(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let Some(stream) = &mut this.stream else { return Poll::Ready(Err(gone())) };
        let stream = Pin::new(stream);
        let len = bufs.iter().map(|buf| buf.len()).sum::<usize>();
        let written = if len <= JOIN {
            this.joined.clear();
            bufs.iter().for_each(|buf| this.joined.extend_from_slice(buf));
            stream.poll_write(cx, &this.joined)
        } else {
            stream.poll_write_vectored(cx, bufs)
        };
        this.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Sockets have nothing to flush.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Err(gone())) };
        ready!(Pin::new(stream).poll_shutdown(cx))?;
        self.shut = true;
        Poll::Ready(Ok(()))
    }
}
