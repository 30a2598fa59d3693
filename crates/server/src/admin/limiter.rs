//! The engine and the layer around it, whatever their store and clock.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cupo_core::{
    BlockChange, BlockList, CheckItem, Clock, Decision, Granted, InForce, Key, Observer, Store, StoreError,
    Timestamp, Upkeep,
};
use cupo_http::{BadQuestion, ExplainedRequest, Question};
use cupo_tower::ReloadHandle;

/// An answer that has to be waited for.
pub(crate) type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An answer that the store has to be asked for.
pub(crate) type Asked<'a, T> = Later<'a, Result<T, StoreError>>;

/// What the admin API asks of a layer and its engine.
pub(crate) trait Limiter: Send + Sync {
    fn in_force(&self) -> Arc<InForce>;

    fn now(&self) -> Timestamp;

    fn balance<'a>(
        &'a self,
        in_force: &'a InForce,
        rule: usize,
        item: &'a CheckItem,
    ) -> Asked<'a, (Timestamp, Decision)>;

    fn reset<'a>(&'a self, key: &'a Key) -> Asked<'a, bool>;

    fn grant<'a>(&'a self, item: &'a CheckItem) -> Asked<'a, Granted>;

    /// Blocks a key, or lifts its block; this node goes by it at once.
    fn block<'a>(&'a self, key: &'a Key, span: Option<Duration>) -> Asked<'a, BlockChange>;

    fn blocks(&self) -> Asked<'_, BlockList>;

    fn blocked_for(&self, key: &Key) -> Option<Duration>;

    fn explain<'a>(&'a self, question: &'a Question) -> Later<'a, Result<ExplainedRequest, BadQuestion>>;
}

impl<S, C, O> Limiter for ReloadHandle<S, C, O>
where
    S: Store + Upkeep,
    C: Clock,
    O: Observer,
{
    fn in_force(&self) -> Arc<InForce> {
        self.engine().in_force()
    }

    fn now(&self) -> Timestamp {
        self.engine().clock().now()
    }

    fn balance<'a>(
        &'a self,
        in_force: &'a InForce,
        rule: usize,
        item: &'a CheckItem,
    ) -> Asked<'a, (Timestamp, Decision)> {
        Box::pin(self.engine().balance(in_force, rule, item))
    }

    fn reset<'a>(&'a self, key: &'a Key) -> Asked<'a, bool> {
        // What would be taken over later goes, too.
        Box::pin(async move {
            self.engine().take_over(key).await?;
            self.engine().store().reset(key).await
        })
    }

    fn grant<'a>(&'a self, item: &'a CheckItem) -> Asked<'a, Granted> {
        Box::pin(async move {
            self.engine().take_over(&item.key).await?;
            self.engine().store().grant(item, self.now()).await
        })
    }

    fn block<'a>(&'a self, key: &'a Key, span: Option<Duration>) -> Asked<'a, BlockChange> {
        Box::pin(async move {
            let change = self.engine().store().block(key, span, self.now()).await?;
            self.engine().refresh_blocks().await?;
            Ok(change)
        })
    }

    fn blocks(&self) -> Asked<'_, BlockList> {
        Box::pin(self.engine().blocks())
    }

    fn blocked_for(&self, key: &Key) -> Option<Duration> {
        self.engine().blocked_for(key)
    }

    fn explain<'a>(&'a self, question: &'a Question) -> Later<'a, Result<ExplainedRequest, BadQuestion>> {
        Box::pin(Self::explain(self, question))
    }
}
