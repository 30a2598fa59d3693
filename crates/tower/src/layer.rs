//! The layer.

use core::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use cupo_core::{Clock, Engine, InForce, Observer, Store, SystemClock, Unobserved};
use cupo_http::{Dialects, Identify, Peer, Presentation, RequestAttributes};
use http::Extensions;
use http::request::Parts;
use tower_layer::Layer;

use crate::answers::{Answers, Current, ReloadHandle};
use crate::peer::{self, FindPeer};
use crate::service::{CupoService, Shared};

/// Enforces the policy of an engine on a service. Clones share the engine.
pub struct CupoLayer<S, C = SystemClock, O = Unobserved> {
    pub(crate) engine: Arc<Engine<S, C, O>>,
    pub(crate) current: Arc<ArcSwap<Current>>,
    pub(crate) find_peer: FindPeer,
    pub(crate) inspect: Option<Inspect>,
    pub(crate) prepare: Option<Prepare>,
}

/// What looks at requests before they are decided.
pub(crate) type Inspect = fn(&RequestAttributes<'_>);

/// What prepares the heads of requests that go on to the service.
pub(crate) type Prepare = fn(&Arc<InForce>, &mut Parts);

impl<S, C, O> CupoLayer<S, C, O> {
    /// A layer that asks `engine`.
    #[must_use]
    pub fn new(engine: Arc<Engine<S, C, O>>) -> Self {
        Self { engine, current: Arc::default(), find_peer: peer::find, inspect: None, prepare: None }
    }

    /// What it goes by besides the policy, all in one: [`Answers::default`] unless said otherwise.
    #[must_use]
    pub fn answers(mut self, answers: Answers) -> Self {
        self.current = Arc::new(ArcSwap::from_pointee(Current::new(answers)));
        self
    }

    /// Swaps the policy and the answers of this layer and its clones, later. To be asked for once all answers have been set: a
    /// layer that is given others goes its own way.
    #[must_use]
    pub fn reload_handle(&self) -> ReloadHandle<S, C, O> {
        ReloadHandle { engine: Arc::clone(&self.engine), current: Arc::clone(&self.current) }
    }

    /// How callers are answered: see [`Answers::presentation`].
    #[must_use]
    pub fn presentation(self, presentation: Arc<Presentation>) -> Self {
        let answers = self.current.load().answers.clone();
        self.answers(answers.presentation(presentation))
    }

    /// The usual answers, with these fields: see [`Answers::dialects`].
    #[must_use]
    pub fn dialects(self, dialects: Dialects) -> Self {
        self.presentation(Arc::new(dialects.into()))
    }

    /// Tells callers how they stand, on this path: see [`Answers::status_at`].
    #[must_use]
    pub fn status_at(self, path: &str) -> Self {
        let answers = self.current.load().answers.clone();
        self.answers(answers.status_at(path))
    }

    /// Knows callers by this: see [`Answers::identify_by`].
    #[must_use]
    pub fn identify_by(self, identify: Arc<dyn Identify>) -> Self {
        let answers = self.current.load().answers.clone();
        self.answers(answers.identify_by(identify))
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

    /// Has this function prepare the head of every request that goes on to the service, with what was in force when it was admitted: such as
    /// to remove what the policy does not believe.
    #[must_use]
    pub fn prepare_by(mut self, prepare: fn(&Arc<InForce>, &mut Parts)) -> Self {
        self.prepare = Some(prepare);
        self
    }
}

impl<S, C, O> Clone for CupoLayer<S, C, O> {
    fn clone(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            current: Arc::clone(&self.current),
            find_peer: self.find_peer,
            inspect: self.inspect,
            prepare: self.prepare,
        }
    }
}

impl<S, C, O> fmt::Debug for CupoLayer<S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CupoLayer").field("current", &self.current.load()).finish_non_exhaustive()
    }
}

impl<Inner, S: Store, C: Clock, O: Observer> Layer<Inner> for CupoLayer<S, C, O> {
    type Service = CupoService<Inner, S, C, O>;

    fn layer(&self, inner: Inner) -> Self::Service {
        CupoService { inner, shared: Arc::new(Shared::new(self.clone())) }
    }
}
