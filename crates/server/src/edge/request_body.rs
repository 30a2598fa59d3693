//! The body of a request, and what becomes of it where nobody reads it to its end.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::time::timeout;

/// How long the body of a request that was answered early is read on, and how much of it: what a client may send unasked, since
/// it is as much as the window of a stream holds at first.
const READ_ON: Duration = Duration::from_secs(1);
const READ_ON_BYTES: usize = 1 << 20;

/// The body of a request.
///
/// To drop the body of an HTTP/2 request resets its stream, which says after a whole response that there is no need to send on.
/// Clients ought to keep the response then; some lose it instead where the reset finds them sending. So what is dropped
/// before the response is there goes back to the edge, which reads on for a while.
#[derive(Debug)]
pub struct RequestBody {
    /// There until it is dropped.
    incoming: Option<Incoming>,
    unread: Weak<Unread>,
}

/// Where a body that was dropped is left.
#[derive(Debug, Default)]
pub(super) struct Unread(Mutex<Option<Incoming>>);

impl RequestBody {
    /// A body that is just dropped when it is dropped.
    pub(super) const fn new(incoming: Incoming) -> Self {
        Self { incoming: Some(incoming), unread: Weak::new() }
    }

    /// A body that is left here when it is dropped.
    pub(super) fn left_in(incoming: Incoming, unread: &Arc<Unread>) -> Self {
        Self { incoming: Some(incoming), unread: Arc::downgrade(unread) }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let (Some(unread), Some(incoming)) = (self.unread.upgrade(), self.incoming.take()) {
            unread.leave(incoming);
        }
    }
}

impl Unread {
    pub(super) fn leave(&self, incoming: Incoming) {
        if !incoming.is_end_stream() {
            *self.0.lock() = Some(incoming);
        }
    }

    /// Reads on what was left, on this worker's thread.
    pub(super) fn read_on(&self) {
        if let Some(incoming) = self.0.lock().take() {
            drop(tokio::task::spawn_local(read_on(incoming)));
        }
    }
}

/// Reads and forgets what comes, up to the end or the bounds.
async fn read_on(mut incoming: Incoming) {
    let read = async {
        let mut read = 0_usize;
        while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx)).await {
            read = read.saturating_add(frame.data_ref().map_or(0, Bytes::len));
            if read > READ_ON_BYTES {
                return;
            }
        }
    };
    let _ = timeout(READ_ON, read).await;
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.incoming {
            Some(incoming) => Pin::new(incoming).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}
