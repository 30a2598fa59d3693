//! What administrators ask of an engine.

use core::time::Duration;

use super::Engine;
use crate::blocks::BlockList;
use crate::check::{Check, CheckItem};
use crate::clock::Clock;
use crate::decision::Decision;
use crate::in_force::InForce;
use crate::key::Key;
use crate::observer::Observer;
use crate::store::{Store, StoreError};
use crate::time::Timestamp;
use crate::upkeep::Upkeep;

impl<S: Store, C: Clock, O: Observer> Engine<S, C, O> {
    /// The balance of a counter of this [`Named`](crate::Named) rule, and when that is. What was counted by an earlier limit is
    /// taken over before.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not tell; the observer has been told.
    pub async fn balance(
        &self,
        in_force: &InForce,
        rule: usize,
        item: &CheckItem,
    ) -> Result<(Timestamp, Decision), StoreError> {
        let check = Check::from(CheckItem { cost: 0, ..item.clone() });
        let executed = self.execute(in_force, &[rule], &check, self.clock.now()).await?;
        let decision = executed.decisions.first().copied().ok_or(StoreError::Unavailable)?;
        Ok((executed.at, decision))
    }

    /// How long the key is blocked for still, as far as this node knows. Of the `key`, only the name of its rule and its parts
    /// count.
    pub fn blocked_for(&self, key: &Key) -> Option<Duration> {
        self.blocks.load()?.left(&key.without_limit(), self.clock.now())
    }
}

impl<S: Store + Upkeep, C: Clock, O: Observer> Engine<S, C, O> {
    /// Asks the store what is blocked, and goes by that from now on. Where several nodes share the store, each has to ask about
    /// twice a second, and after it has blocked something itself. What is known stays in force while the store cannot tell.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not tell.
    pub async fn refresh_blocks(&self) -> Result<(), StoreError> {
        let turn = self.blocks.turn();
        let asked = self.clock.now();
        if let Some(list) = self.store.blocks(self.blocks.version(), asked).await? {
            self.blocks.apply(list, asked, turn);
        }
        Ok(())
    }

    /// Everything that the store says is blocked now.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not tell.
    pub async fn blocks(&self) -> Result<BlockList, StoreError> {
        Ok(self.store.blocks(None, self.clock.now()).await?.unwrap_or_default())
    }
}
