//! The store boundary: checks go in, decisions come out; plain values, never closures or requests.

use core::future::Future;

use thiserror::Error;

use crate::check::{Check, CheckItem, Executed};
use crate::time::Timestamp;

/// Executes checks, all or nothing.
///
/// # Contract
/// - All items of a check are decided in one atomic step. If one does not admit, no state changes, and the decisions of
///   the others show the balance without this request (as a peek does).
/// - Each decision is the one of [`Limit::decide`](crate::Limit::decide) on the key's state.
/// - A state may be dropped once [`Limit::expires_at`](crate::Limit::expires_at) has passed, and earlier only where a
///   stated memory bound forces it.
/// - A peek creates no key.
/// - Dropping the future before it is ready may or may not have charged the check, but never charged a part of it.
///
/// `cupo-testkit` exports a conformance suite that tells whether an implementation keeps it.
pub trait Store: Send + Sync {
    /// Executes `check`. `now` is the caller's clock: a store that serves one process decides by it, a store that is shared
    /// between machines decides by its own.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not decide.
    fn check(
        &self,
        check: &Check,
        now: Timestamp,
    ) -> impl Future<Output = Result<Executed, StoreError>> + Send;

    /// Takes back the slot of a delayed request that was cancelled before its slot came, as far as
    /// [`Limit::cancel`](crate::Limit::cancel) allows. `end` is the instant of the decision plus its `reset_after`.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not be reached; the slot then passes unused.
    fn cancel(
        &self,
        item: &CheckItem,
        now: Timestamp,
        end: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}

impl<S: Store> Store for std::sync::Arc<S> {
    fn check(
        &self,
        check: &Check,
        now: Timestamp,
    ) -> impl Future<Output = Result<Executed, StoreError>> + Send {
        (**self).check(check, now)
    }

    fn cancel(
        &self,
        item: &CheckItem,
        now: Timestamp,
        end: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        (**self).cancel(item, now, end)
    }
}

/// Why a store could not decide.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store did not answer within its deadline; whether it charged the check is unknown.
    #[error("the store did not answer in time")]
    Timeout,
    /// The store cannot be reached or refuses to work.
    #[error("the store is unavailable")]
    Unavailable,
}
