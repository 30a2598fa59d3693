//! The layer.

use core::fmt;
use std::sync::Arc;

use cupo_core::{Engine, SystemClock, Unobserved, normalise};
use cupo_http::{Dialects, Identify, Peer, Presentation, RequestAttributes};
use http::Extensions;
use tower_layer::Layer;

use crate::peer::{self, FindPeer};
use crate::service::CupoService;

/// Enforces the policy of an engine on a service. Clones share the engine.
pub struct CupoLayer<S, C = SystemClock, O = Unobserved> {
    pub(crate) engine: Arc<Engine<S, C, O>>,
    pub(crate) presentation: Arc<Presentation>,
    pub(crate) find_peer: FindPeer,
    pub(crate) status_path: Option<Arc<str>>,
    pub(crate) identify: Option<Arc<dyn Identify>>,
    pub(crate) inspect: Option<Inspect>,
}

/// What looks at requests before they are decided.
pub(crate) type Inspect = fn(&RequestAttributes<'_>);

impl<S, C, O> CupoLayer<S, C, O> {
    /// A layer that asks `engine`.
    #[must_use]
    pub fn new(engine: Arc<Engine<S, C, O>>) -> Self {
        Self {
            engine,
            presentation: Arc::default(),
            find_peer: peer::find,
            status_path: None,
            identify: None,
            inspect: None,
        }
    }

    /// How callers are answered; [`Presentation::default`] unless said otherwise.
    #[must_use]
    pub fn presentation(mut self, presentation: Arc<Presentation>) -> Self {
        self.presentation = presentation;
        self
    }

    /// The usual answers, with these fields: a short form of [`presentation`](Self::presentation).
    #[must_use]
    pub fn dialects(self, dialects: Dialects) -> Self {
        self.presentation(Arc::new(dialects.into()))
    }

    /// Answers `GET` requests for `path`, in any spelling, with the limits that apply to whoever asks: see
    /// [`standing`](cupo_http::standing()). The service does not see them. `?path=/orders/7&method=POST` asks about one endpoint.
    #[must_use]
    pub fn status_at(mut self, path: &str) -> Self {
        self.status_path = Some(normalise(path).into());
        self
    }

    /// Knows callers by this, such as the `JwtVerifier` of `cupo-http` (feature `jwt`): what it verifies feeds `user` and `claim(NAME)`.
    #[must_use]
    pub fn identify_by(mut self, identify: Arc<dyn Identify>) -> Self {
        self.identify = Some(identify);
        self
    }

    /// Finds the peer in the request's extensions by this function instead of by [`PeerAddr`](crate::PeerAddr).
    ///
    /// It has to be the address of the connection: what a header says is for the policy's
    /// [`Trust`](cupo_core::Trust) to judge.
    #[must_use]
    pub fn peer_by(mut self, find: fn(&Extensions) -> Peer) -> Self {
        self.find_peer = find;
        self
    }

    /// Shows every request to this function before it is decided: to log what is doubtful about who asks, of which
    /// [`RequestAttributes::diagnostics`] tells.
    #[must_use]
    pub fn inspect_by(mut self, inspect: fn(&RequestAttributes<'_>)) -> Self {
        self.inspect = Some(inspect);
        self
    }
}

impl<S, C, O> Clone for CupoLayer<S, C, O> {
    fn clone(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            presentation: Arc::clone(&self.presentation),
            find_peer: self.find_peer,
            status_path: self.status_path.clone(),
            identify: self.identify.clone(),
            inspect: self.inspect,
        }
    }
}

impl<S, C, O> fmt::Debug for CupoLayer<S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CupoLayer").field("presentation", &self.presentation).finish_non_exhaustive()
    }
}

impl<Inner, S, C, O> Layer<Inner> for CupoLayer<S, C, O> {
    type Service = CupoService<Inner, S, C, O>;

    fn layer(&self, inner: Inner) -> Self::Service {
        CupoService { inner, layer: Arc::new(self.clone()) }
    }
}
