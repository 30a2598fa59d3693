//! What administrators ask of the store.

use cupo_core::{Key, StoreError, Upkeep};

use crate::store::RedisStore;

impl Upkeep for RedisStore {
    async fn reset(&self, key: &Key) -> Result<bool, StoreError> {
        Self::reset(self, key).await
    }
}
