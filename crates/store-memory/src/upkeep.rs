//! What administrators ask of the store.

use core::time::Duration;

use cupo_core::{BlockChange, BlockList, CheckItem, Granted, Key, StoreError, Timestamp, Upkeep};

use crate::store::MemoryStore;

impl Upkeep for MemoryStore {
    async fn reset(&self, key: &Key) -> Result<bool, StoreError> {
        Ok(Self::reset(self, key))
    }

    async fn grant(&self, item: &CheckItem, now: Timestamp) -> Result<Granted, StoreError> {
        Ok(Self::grant(self, item, now))
    }

    async fn block(
        &self,
        key: &Key,
        span: Option<Duration>,
        now: Timestamp,
    ) -> Result<BlockChange, StoreError> {
        Ok(self.blocks.lock().set(key, span, now))
    }

    async fn blocks(&self, known: Option<u64>, now: Timestamp) -> Result<Option<BlockList>, StoreError> {
        Ok(self.blocks.lock().list(known, now))
    }
}
