//! The way of a request: decided, held if need be, passed on, and its response given the rate-limit fields.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::answers::Bundle;
use crate::body::ResponseBody;
use crate::decide::{Hold, Next, Passing};
use crate::outcome::RequestOutcome;
use crate::settle::Seen;

/// A decision in the making.
pub(crate) type Deciding = Pin<Box<dyn Future<Output = (Parts, Next)> + Send>>;

pin_project! {
    /// The future of [`CupoService`](crate::CupoService).
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<Inner: Service<Request<B>>, B> {
        #[pin]
        state: State<Inner, B, Inner::Future>,
        bundle: Arc<Bundle>,
    }
}

pin_project! {
    #[project = StateProjection]
    #[project_replace = StateReplaced]
    enum State<Inner, B, F> {
        Deciding { decision: Deciding, ready: Inner, body: B },
        Holding { hold: Hold, inner: Inner, request: Request<B>, passing: Passing },
        Readying { inner: Inner, request: Request<B>, passing: Passing },
        Calling { #[pin] future: F, passing: Passing },
        Refused { response: Box<Response<Bytes>> },
        Done,
    }
}

impl<Inner: Service<Request<B>>, B> ResponseFuture<Inner, B> {
    pub(crate) const fn deciding(decision: Deciding, ready: Inner, body: B, bundle: Arc<Bundle>) -> Self {
        Self { state: State::Deciding { decision, ready, body }, bundle }
    }
}

impl<Inner, B, R> Future for ResponseFuture<Inner, B>
where
    Inner: Service<Request<B>, Response = Response<R>> + Clone,
{
    type Output = Result<Response<ResponseBody<R>>, Inner::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let mut decided = None;
            match this.state.as_mut().project() {
                StateProjection::Deciding { decision, .. } => {
                    decided = Some(ready!(decision.as_mut().poll(cx)));
                }
                StateProjection::Holding { hold, .. } => ready!(hold.as_mut().poll(cx)),
                StateProjection::Readying { inner, .. } => ready!(inner.poll_ready(cx))?,
                StateProjection::Calling { future, .. } => {
                    let response = ready!(future.poll(cx));
                    let StateReplaced::Calling { passing, .. } = this.state.project_replace(State::Done)
                    else {
                        return Poll::Pending;
                    };
                    return Poll::Ready(response.map(|response| finish(response, passing, this.bundle)));
                }
                StateProjection::Refused { .. } | StateProjection::Done => {}
            }
            // Whatever was waited for has come.
            let next = match (this.state.as_mut().project_replace(State::Done), decided) {
                (StateReplaced::Deciding { mut ready, body, .. }, Some((head, next))) => match next {
                    Next::Pass(passing) => {
                        State::Calling { future: ready.call(Request::from_parts(head, body)), passing }
                    }
                    // The ready service goes, so that what it reserved serves others; a fresh one is asked when the slot comes.
                    Next::Hold(passing, hold) => {
                        let request = Request::from_parts(head, body);
                        State::Holding { hold, inner: ready.clone(), request, passing }
                    }
                    Next::Refuse(response) => State::Refused { response },
                },
                (StateReplaced::Holding { inner, request, passing, .. }, _) => {
                    State::Readying { inner, request, passing }
                }
                (StateReplaced::Readying { mut inner, request, passing }, _) => {
                    State::Calling { future: inner.call(request), passing }
                }
                (StateReplaced::Refused { response }, _) => {
                    return Poll::Ready(Ok(response.map(ResponseBody::refusal)));
                }
                // Polled after it was ready, which no caller may do.
                _ => return Poll::Pending,
            };
            this.state.set(next);
        }
    }
}

fn finish<R>(mut response: Response<R>, passing: Passing, bundle: &Bundle) -> Response<ResponseBody<R>> {
    let Passing { outcome, settle } = passing;
    settle.into_iter().for_each(|settle| settle(Seen::of(&response)));
    bundle.answers.presentation.write(&outcome, response.headers_mut());
    response.extensions_mut().insert(RequestOutcome(outcome));
    response.map(ResponseBody::service)
}
