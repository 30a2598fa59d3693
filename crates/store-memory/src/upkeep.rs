//! What administrators ask of the store.

use cupo_core::{Key, StoreError, Upkeep};

use crate::store::MemoryStore;

impl Upkeep for MemoryStore {
    async fn reset(&self, key: &Key) -> Result<bool, StoreError> {
        Ok(Self::reset(self, key))
    }
}
