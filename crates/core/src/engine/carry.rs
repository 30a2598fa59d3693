//! What was counted under one policy counts under the next.

use super::Engine;
use crate::check::Check;
use crate::clock::Clock;
use crate::in_force::InForce;
use crate::key::Key;
use crate::limit::Limit;
use crate::observer::Observer;
use crate::store::{Store, StoreError};
use crate::time::Timestamp;

impl<S: Store, C: Clock, O: Observer> Engine<S, C, O> {
    /// Takes over what was counted of these items, each with its rule, under earlier policies, so that the store knows it.
    pub(super) async fn carry(
        &self,
        in_force: &InForce,
        rules: &[usize],
        check: &Check,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(carrying) = in_force.carrying(now) else { return Ok(()) };
        let items = rules.iter().copied().zip(check.items());
        // Rare, and larger than the rest of the future.
        let carried = Box::pin(carrying.carry(&self.store, items, now)).await;
        carried.inspect_err(|error| self.observer.store_failed(error))
    }

    /// Takes over what was just counted of these items under a policy that has been replaced meanwhile. A failure is observed; what
    /// was counted then counts under the old policy alone.
    #[allow(single_use_lifetimes, reason = "an `impl Trait` argument cannot elide it")]
    pub(super) async fn follow<'a>(
        &self,
        items: impl Iterator<Item = (&'a Key, &'a Limit)> + Send,
        now: Timestamp,
    ) {
        let in_force = self.in_force();
        let Some(carrying) = in_force.carrying(now) else { return };
        if let Err(error) = Box::pin(carrying.follow(&self.store, items, now)).await {
            self.observer.store_failed(&error);
        }
    }

    /// Takes over what was counted under earlier policies of a key of the present one, as its first request would: whoever asks the
    /// [store](Self::store) about a key then finds all of it.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not do it; the observer has been told.
    pub async fn take_over(&self, key: &Key) -> Result<(), StoreError> {
        let (in_force, now) = (self.in_force(), self.clock.now());
        let Some(carrying) = in_force.carrying(now) else { return Ok(()) };
        let carried = Box::pin(carrying.take_over(&self.store, key, now)).await;
        carried.inspect_err(|error| self.observer.store_failed(error))
    }
}
