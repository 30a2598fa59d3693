//! What is in force at one time.

use std::sync::Arc;

use crate::carrying::Carrying;
use crate::policy::Policy;
use crate::time::Timestamp;

/// What is in force at one time: immutable, and swapped whole by [`Engine::swap_policy`](crate::Engine::swap_policy). A request
/// is decided under one of these from its beginning to its end.
///
/// A clone says the same. Who decides on many threads keeps an [`Arc`] of a clone for each, so that they do not count who holds
/// it in one place.
#[derive(Debug, Clone)]
pub struct InForce {
    policy: Arc<Policy>,
    generation: u64,
    /// What the policy takes over from those before it.
    carrying: Option<Arc<Carrying>>,
}

impl InForce {
    pub(crate) const fn first(policy: Arc<Policy>) -> Self {
        Self { policy, generation: 0, carrying: None }
    }

    /// What follows on this at `now`.
    pub(crate) fn followed_by(&self, policy: Arc<Policy>, now: Timestamp) -> Self {
        let carrying = Carrying::between(self.carrying.as_deref(), &self.policy, &policy, now);
        Self { policy, generation: self.generation.saturating_add(1), carrying: carrying.map(Arc::new) }
    }

    /// What there is to take over at `now`, if anything.
    pub(crate) fn carrying(&self, now: Timestamp) -> Option<&Carrying> {
        self.carrying.as_deref().filter(|carrying| carrying.is_due(now))
    }

    /// The policy.
    #[must_use]
    pub const fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// How many policies were in force before, in the same engine.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }
}
