//! The outermost response body: counts, and says what its connection waits for.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::BoxError;
use crate::access_log::Entry;
use crate::activity::InFlight;

pin_project! {
    /// A service's body or an answer of our own.
    pub(crate) struct EdgeBody<B> {
        #[pin]
        inner: Inner<B>,
        guard: Option<InFlight>,
        log: Option<Box<Entry>>,
    }
}

pin_project! {
    #[project = InnerProject]
    pub(super) enum Inner<B> {
        Answer { bytes: Bytes },
        Service { #[pin] body: B },
    }
}

impl<B> Inner<B> {
    pub(super) fn answer(bytes: Bytes) -> Self {
        Self::Answer { bytes }
    }

    pub(super) fn service(body: B) -> Self {
        Self::Service { body }
    }
}

impl<B> EdgeBody<B> {
    pub(super) fn new(inner: Inner<B>, guard: Option<InFlight>, log: Option<Box<Entry>>) -> Self {
        Self { inner, guard, log }
    }
}

impl<B> Body for EdgeBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        let polled = match this.inner.project() {
            InnerProject::Answer { bytes } => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            InnerProject::Service { body } => body.poll_frame(cx).map_err(Into::into),
        };
        if let Some(guard) = this.guard {
            if matches!(polled, Poll::Ready(Some(Ok(_)))) { guard.gave() } else { guard.waits() }
        }
        let frame = ready!(polled);
        if let (Some(log), Some(Ok(frame))) = (this.log, &frame) {
            log.sent(frame.data_ref().map_or(0, Bytes::len));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.inner {
            Inner::Answer { bytes } => bytes.is_empty(),
            Inner::Service { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.inner {
            Inner::Answer { bytes } => SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Inner::Service { body } => body.size_hint(),
        }
    }
}
