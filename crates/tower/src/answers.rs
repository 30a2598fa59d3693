//! What a layer goes by besides the policy, and how both are swapped.

use core::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use cupo_core::{Clock, Engine, InForce, Observer, Policy, Store, SystemClock, Unobserved, normalise};
use cupo_http::{Dialects, Identify, Presentation};

/// What a layer goes by besides its engine's policy: how callers are answered, what they are known by, and where they are told
/// how they stand.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    pub(crate) presentation: Arc<Presentation>,
    pub(crate) status_path: Option<Arc<str>>,
    pub(crate) health_path: Option<Arc<str>>,
    pub(crate) identify: Option<Arc<dyn Identify>>,
}

impl Answers {
    /// How callers are answered; [`Presentation::default`] unless said otherwise.
    #[must_use]
    pub fn presentation(self, presentation: Arc<Presentation>) -> Self {
        Self { presentation, ..self }
    }

    /// The usual answers, with these fields: a short form of [`presentation`](Self::presentation).
    #[must_use]
    pub fn dialects(self, dialects: Dialects) -> Self {
        self.presentation(Arc::new(dialects.into()))
    }

    /// Answers `GET` requests for `path`, in any spelling, with the limits that apply to whoever asks: see
    /// [`standing`](cupo_http::standing()). The service does not see them. `?path=/orders/7&method=POST` asks about one endpoint.
    #[must_use]
    pub fn status_at(self, path: &str) -> Self {
        Self { status_path: Some(normalise(path).into()), ..self }
    }

    /// Requests for `path`, in any spelling, are answered before they come to the layer, as a gateway's health endpoint is. Nothing but
    /// [`ReloadHandle::explain`] goes by it.
    #[must_use]
    pub fn health_at(self, path: &str) -> Self {
        Self { health_path: Some(normalise(path).into()), ..self }
    }

    /// With the [`health_at`](Self::health_at) of `other`, or none if that has none.
    #[must_use]
    pub fn health_as(self, other: &Self) -> Self {
        Self { health_path: other.health_path.clone(), ..self }
    }

    /// Knows callers by this, such as the `JwtVerifier` of `cupo-http` (feature `jwt`): what it verifies feeds `user` and `claim(NAME)`.
    #[must_use]
    pub fn identify_by(self, identify: Arc<dyn Identify>) -> Self {
        Self { identify: Some(identify), ..self }
    }
}

/// The answers of a layer and all of its clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Current {
    /// What they were swapped with; `None` if they never were.
    with: Option<Arc<InForce>>,
    pub(crate) answers: Answers,
}

impl Current {
    pub(crate) const fn new(answers: Answers) -> Self {
        Self { with: None, answers }
    }
}

/// What a request is treated by from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Bundle {
    pub(crate) in_force: Arc<InForce>,
    pub(crate) answers: Answers,
}

impl Bundle {
    /// What is in force now. The policy is a copy, so that who counts the holders of this bundle does so in no shared place.
    pub(crate) fn now<S: Store, C: Clock, O: Observer>(
        engine: &Engine<S, C, O>,
        current: &ArcSwap<Current>,
    ) -> Arc<Self> {
        // In this order: what the engine says next has been given its answers before.
        let in_force = engine.in_force();
        let current = current.load();
        let in_force = match &current.with {
            Some(with) if with.generation() >= in_force.generation() => with,
            _ => &in_force,
        };
        Arc::new(Self { in_force: Arc::new(InForce::clone(in_force)), answers: current.answers.clone() })
    }
}

/// Swaps the policy of a layer and its [`Answers`] in one step; made by [`CupoLayer::reload_handle`](crate::CupoLayer::reload_handle).
///
/// Every request sees both as they were before, or both as they are afterwards, and keeps to that until it is answered. Counters
/// stay with the names of the rules.
///
/// ```
/// # use std::sync::Arc;
/// # use cupo_core::{Engine, Policy};
/// # use cupo_store_memory::MemoryStore;
/// use cupo_http::Dialects;
/// use cupo_tower::{Answers, CupoLayer};
///
/// # fn example(before: Arc<Policy>, after: Arc<Policy>) {
/// let layer = CupoLayer::new(Arc::new(Engine::new(before, MemoryStore::new()))).status_at("/limits");
/// let handle = layer.reload_handle();
/// // The layer goes into a server. Later, from wherever the policy is watched:
/// handle.swap(after, Answers::default().dialects(Dialects::NONE).status_at("/limits"));
/// # }
/// ```
pub struct ReloadHandle<S, C = SystemClock, O = Unobserved> {
    pub(crate) engine: Arc<Engine<S, C, O>>,
    pub(crate) current: Arc<ArcSwap<Current>>,
}

impl<S: Store, C: Clock, O: Observer> ReloadHandle<S, C, O> {
    /// Puts both in force. Whoever else asks the engine sees the policy too; other layers of it keep their own answers.
    pub fn swap(&self, policy: Arc<Policy>, answers: Answers) {
        let mut next = Current::new(answers);
        self.engine.swap_policy_with(policy, |in_force| {
            next.with = Some(Arc::clone(in_force));
            // Whoever swaps at the same time and is slower comes again with a later generation; until then he must not put an
            // earlier one in place of what is in force.
            self.current.rcu(|current| match &current.with {
                Some(with) if with.generation() >= in_force.generation() => Arc::clone(current),
                _ => Arc::new(next.clone()),
            });
        });
    }

    /// The answers in force.
    #[must_use]
    pub fn answers(&self) -> Answers {
        self.current.load().answers.clone()
    }

    /// The engine.
    #[must_use]
    pub const fn engine(&self) -> &Arc<Engine<S, C, O>> {
        &self.engine
    }
}

impl<S, C, O> Clone for ReloadHandle<S, C, O> {
    fn clone(&self) -> Self {
        Self { engine: Arc::clone(&self.engine), current: Arc::clone(&self.current) }
    }
}

impl<S, C, O> fmt::Debug for ReloadHandle<S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReloadHandle").field("current", &self.current.load()).finish_non_exhaustive()
    }
}
