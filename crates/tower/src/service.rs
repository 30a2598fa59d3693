//! The service.

use core::fmt;
use core::task::{Context, Poll};
use std::sync::Arc;

use cupo_core::{Clock, Observer, Store, SystemClock, Unobserved};
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::body::ResponseBody;
use crate::decide::decide;
use crate::future::ResponseFuture;
use crate::layer::CupoLayer;

/// A service behind a policy; made by [`CupoLayer`]. Clones share the engine.
pub struct CupoService<Inner, S, C = SystemClock, O = Unobserved> {
    pub(crate) inner: Inner,
    pub(crate) layer: Arc<CupoLayer<S, C, O>>,
}

impl<Inner, S, C, O, B, R> Service<Request<B>> for CupoService<Inner, S, C, O>
where
    Inner: Service<Request<B>, Response = Response<R>> + Clone,
    B: Body,
    S: Store + 'static,
    C: Clock + 'static,
    O: Observer + 'static,
{
    type Response = Response<ResponseBody<R>>;
    type Error = Inner::Error;
    type Future = ResponseFuture<Inner, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (head, body) = request.into_parts();
        let decision = Box::pin(decide(Arc::clone(&self.layer), head, body.is_end_stream()));
        // The future gets the service that was found ready; a fresh clone takes its place.
        let fresh = self.inner.clone();
        let ready = core::mem::replace(&mut self.inner, fresh);
        ResponseFuture::deciding(decision, ready, body, Arc::clone(&self.layer.presentation))
    }
}

impl<Inner: Clone, S, C, O> Clone for CupoService<Inner, S, C, O> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: Arc::clone(&self.layer) }
    }
}

impl<Inner: fmt::Debug, S, C, O> fmt::Debug for CupoService<Inner, S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CupoService").field("inner", &self.inner).field("layer", &self.layer).finish()
    }
}
