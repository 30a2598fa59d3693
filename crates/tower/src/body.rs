//! The body of a response: the service's, or a refusal.

use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// The body of a response: what the service answers, or a refusal of one piece.
    #[derive(Debug)]
    pub struct ResponseBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProjection]
    #[derive(Debug)]
    enum Kind<B> {
        Service { #[pin] body: B },
        Refusal { bytes: Bytes },
    }
}

impl<B> ResponseBody<B> {
    pub(crate) const fn service(body: B) -> Self {
        Self { kind: Kind::Service { body } }
    }

    pub(crate) const fn refusal(bytes: Bytes) -> Self {
        Self { kind: Kind::Refusal { bytes } }
    }
}

impl<B: Body<Data = Bytes>> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.project().kind.project() {
            KindProjection::Service { body } => body.poll_frame(cx),
            KindProjection::Refusal { bytes } => {
                let bytes = core::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Service { body } => body.is_end_stream(),
            Kind::Refusal { bytes } => bytes.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Service { body } => body.size_hint(),
            // A length does not exceed 64 bits anywhere.
            Kind::Refusal { bytes } => SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
        }
    }
}
