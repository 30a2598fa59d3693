//! What administrators ask of a store, beside the checks of requests.

use core::future::Future;

use crate::key::Key;
use crate::store::StoreError;

/// A store whose states may be put right by hand. Each call is one atomic step for every node that shares the store.
pub trait Upkeep: Send + Sync {
    /// Forgets what is counted under `key`; whether there was anything. Nodes that answer denials from memory forget this one
    /// within a second.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not be reached.
    fn reset(&self, key: &Key) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

impl<S: Upkeep> Upkeep for std::sync::Arc<S> {
    fn reset(&self, key: &Key) -> impl Future<Output = Result<bool, StoreError>> + Send {
        (**self).reset(key)
    }
}
