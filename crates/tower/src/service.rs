//! The service.

use core::fmt;
use core::task::{Context, Poll};
use std::sync::Arc;

use arc_swap::ArcSwap;
use cupo_core::{Clock, Observer, Store, SystemClock, Unobserved};
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::answers::Bundle;
use crate::body::ResponseBody;
use crate::decide::decide;
use crate::future::ResponseFuture;
use crate::layer::CupoLayer;

/// A service behind a policy; made by [`CupoLayer`]. Clones share the engine.
pub struct CupoService<Inner, S, C = SystemClock, O = Unobserved> {
    pub(crate) inner: Inner,
    pub(crate) shared: Arc<Shared<S, C, O>>,
}

/// What the clones of a service share.
pub(crate) struct Shared<S, C, O> {
    pub(crate) layer: CupoLayer<S, C, O>,
    /// A copy of what was in force when it was last looked at. Servers with a service for each worker count who holds it there
    /// and nowhere else.
    bundle: ArcSwap<Bundle>,
}

impl<S: Store, C: Clock, O: Observer> Shared<S, C, O> {
    pub(crate) fn new(layer: CupoLayer<S, C, O>) -> Self {
        let bundle = ArcSwap::new(Bundle::now(&layer.engine, &layer.current));
        Self { layer, bundle }
    }

    /// What is in force for a request that begins now.
    fn bundle(&self) -> Arc<Bundle> {
        let kept = self.bundle.load_full();
        if kept.in_force.generation() >= self.layer.engine.generation() {
            return kept;
        }
        let fresh = Bundle::now(&self.layer.engine, &self.layer.current);
        self.bundle.store(Arc::clone(&fresh));
        fresh
    }
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
        let bundle = self.shared.bundle();
        let body_bytes = if body.is_end_stream() { Some(0) } else { body.size_hint().exact() };
        let decision = Box::pin(decide(Arc::clone(&self.shared), Arc::clone(&bundle), head, body_bytes));
        // The future gets the service that was found ready; a fresh clone takes its place.
        let fresh = self.inner.clone();
        let ready = core::mem::replace(&mut self.inner, fresh);
        ResponseFuture::deciding(decision, ready, body, bundle)
    }
}

impl<Inner: Clone, S, C, O> Clone for CupoService<Inner, S, C, O> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<Inner: fmt::Debug, S, C, O> fmt::Debug for CupoService<Inner, S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CupoService").field("inner", &self.inner).field("layer", &self.shared.layer).finish()
    }
}
