//! The engine, whatever its store and clock.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use cupo_core::{
    Check, Clock, Engine, Executed, Key, Observer, Policy, Store, StoreError, Timestamp, Upkeep,
};

/// An answer that the store has to be asked for.
pub(crate) type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What the admin API asks of an engine.
pub(crate) trait Limiter: Send + Sync {
    fn policy(&self) -> Arc<Policy>;

    fn now(&self) -> Timestamp;

    fn check<'a>(&'a self, check: &'a Check) -> Asked<'a, Executed>;

    fn reset<'a>(&'a self, key: &'a Key) -> Asked<'a, bool>;
}

impl<S, C, O> Limiter for Engine<S, C, O>
where
    S: Store + Upkeep,
    C: Clock,
    O: Observer,
{
    fn policy(&self) -> Arc<Policy> {
        Self::policy(self)
    }

    fn now(&self) -> Timestamp {
        self.clock().now()
    }

    fn check<'a>(&'a self, check: &'a Check) -> Asked<'a, Executed> {
        Box::pin(async move {
            for item in check.items() {
                self.take_over(&item.key).await?;
            }
            self.store().check(check, self.clock().now()).await
        })
    }

    fn reset<'a>(&'a self, key: &'a Key) -> Asked<'a, bool> {
        // What would be taken over later goes, too.
        Box::pin(async move {
            self.take_over(key).await?;
            self.store().reset(key).await
        })
    }
}
