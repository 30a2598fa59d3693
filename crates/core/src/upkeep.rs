//! What administrators ask of a store, beside the checks of requests.

use core::future::Future;
use core::time::Duration;

use crate::blocks::{BlockChange, BlockList};
use crate::check::CheckItem;
use crate::key::Key;
use crate::store::StoreError;
use crate::time::Timestamp;

/// What a grant did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Granted {
    /// When, by the clock that the store decides by.
    pub at: Timestamp,
    /// What remained before.
    pub before: u64,
    /// What remains now.
    pub after: u64,
}

/// A store whose states may be put right by hand. Each call is one atomic step for every node that shares the store. `now` is the
/// caller's clock, which a store with one of its own does not go by.
pub trait Upkeep: Send + Sync {
    /// Forgets what is counted under `key`; whether there was anything. Nodes that answer denials from memory forget this one
    /// within a second.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not be reached.
    fn reset(&self, key: &Key) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Gives the units of `item`'s cost back, as [`Limit::grant`](crate::Limit::grant) has it.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not be reached; whether it gave them back is unknown after a timeout.
    fn grant(
        &self,
        item: &CheckItem,
        now: Timestamp,
    ) -> impl Future<Output = Result<Granted, StoreError>> + Send;

    /// Blocks a key for `span` from now on, in place of any block that it has; without a span it is blocked no more. Of the
    /// `key`, only the name of its rule and its parts count: see [`Key::without_limit`].
    ///
    /// # Errors
    /// [`StoreError`] where the store could not be reached.
    fn block(
        &self,
        key: &Key,
        span: Option<Duration>,
        now: Timestamp,
    ) -> impl Future<Output = Result<BlockChange, StoreError>> + Send;

    /// All that is blocked; `None` where that is still what it was at the version that is `known`.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not be reached.
    fn blocks(
        &self,
        known: Option<u64>,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<BlockList>, StoreError>> + Send;
}

impl<S: Upkeep> Upkeep for std::sync::Arc<S> {
    fn reset(&self, key: &Key) -> impl Future<Output = Result<bool, StoreError>> + Send {
        (**self).reset(key)
    }

    fn grant(
        &self,
        item: &CheckItem,
        now: Timestamp,
    ) -> impl Future<Output = Result<Granted, StoreError>> + Send {
        (**self).grant(item, now)
    }

    fn block(
        &self,
        key: &Key,
        span: Option<Duration>,
        now: Timestamp,
    ) -> impl Future<Output = Result<BlockChange, StoreError>> + Send {
        (**self).block(key, span, now)
    }

    fn blocks(
        &self,
        known: Option<u64>,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<BlockList>, StoreError>> + Send {
        (**self).blocks(known, now)
    }
}
