//! Trailers of requests: what may not be said in a head may not be said behind the body either.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use cupo_core::InForce;
use cupo_http::is_vouched;
use http::HeaderMap;
use http::header::HeaderName;
use http_body::{Body, Frame, SizeHint};

use super::headers::allowed_trailer;

/// What was in force for a request that may have trailers; in its extensions.
#[derive(Debug, Clone)]
pub(crate) struct Under(pub(crate) Arc<InForce>);

/// A request's body without those trailers. What a proxy vouches for it says in the head: behind the body nobody knows whose
/// word it is.
#[derive(Debug)]
pub(super) struct Trailed<B> {
    body: B,
    under: Option<Under>,
}

impl<B> Trailed<B> {
    pub(super) const fn new(body: B, under: Option<Under>) -> Self {
        Self { body, under }
    }

    fn filtered(&self, trailers: &HeaderMap) -> HeaderMap {
        let policy = self.under.as_ref().map(|Under(in_force)| in_force.policy());
        let passes = |name: &HeaderName| {
            allowed_trailer(name) && !policy.is_some_and(|policy| is_vouched(name, policy))
        };
        let passing = trailers.iter().filter(|(name, _)| passes(name));
        passing.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}

impl<B> Body for Trailed<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(match frame {
            Some(Ok(frame)) if frame.is_trailers() => {
                let trailers = frame.trailers_ref().map(|trailers| self.filtered(trailers));
                let trailers = trailers.filter(|trailers| !trailers.is_empty());
                trailers.map(|trailers| Ok(Frame::trailers(trailers)))
            }
            frame => frame,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
