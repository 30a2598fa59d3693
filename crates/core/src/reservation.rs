//! A request's charges, held until it is known what the request cost.

use core::fmt;
use core::pin::pin;
use core::task::{Context, Waker};
use std::sync::Arc;

use crate::attributes::Attributes;
use crate::clock::{Clock, SystemClock};
use crate::engine::Engine;
use crate::observer::{Observer, Unobserved};
use crate::outcome::Outcome;
use crate::response::ResponseAttributes;
use crate::settlement::Settling;
use crate::store::{Store, StoreError};

/// What a request was charged before it is known what it costs: made by [`Engine::reserve`]. Say in the end what it did cost
/// ([`commit`](Self::commit)), or that it was not made ([`refund`](Self::refund)). **Dropped, everything is given back.** If the
/// process dies with it, it leaves with its window or as its bucket fills.
///
/// Dropping does not wait: a store in memory is done at once, one in Redis carries it out by itself.
#[must_use = "dropped, a reservation gives back what it holds"]
pub struct Reservation<S: Store, C: Clock = SystemClock, O: Observer = Unobserved> {
    engine: Arc<Engine<S, C, O>>,
    outcome: Outcome,
    is_open: bool,
}

impl<S: Store, C: Clock, O: Observer> Engine<S, C, O> {
    /// Decides a request as [`decide`](Self::decide) does, and holds what it is charged until it is known what it costs: of rules
    /// whose cost is open ([`CostSource::Response`](crate::CostSource::Response)) what they reserve.
    ///
    /// ```
    /// use std::sync::Arc;
    /// # use std::time::Duration;
    /// use cupo_core::{Attributes, CostSource, Engine, KeySpec, Limit, Policy, PolicySource, RuleSource};
    /// # use cupo_testkit::conformance::{ReferenceStore, block_on};
    ///
    /// # struct Prompt;
    /// # impl Attributes for Prompt {}
    /// # block_on(async {
    /// let limit = Limit::sliding_window_counter(1_000, Duration::from_secs(60))?;
    /// let mut rule = RuleSource::new("tokens", KeySpec::parse(&["global"])?, limit);
    /// rule.cost = CostSource::Response { header: "x-cost".to_owned(), reserve: 100 };
    /// let policy = Policy::compile(PolicySource { rules: vec![rule], ..PolicySource::default() })?;
    /// let engine = Arc::new(Engine::new(policy, ReferenceStore::default()));
    ///
    /// let reservation = engine.reserve(&Prompt).await?;
    /// if reservation.outcome().is_admitted() {
    ///     let used = 17; // … work …
    ///     reservation.commit(used).await?;
    /// }
    /// # let after = engine.decide(&Prompt).await?;
    /// # assert_eq!(after.binding().map(|ruling| ruling.decision.remaining), Some(1_000 - 17 - 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`StoreError`] where the store could not decide and a rule refuses then; the observer has been told.
    pub async fn reserve<A: Attributes + Sync + ?Sized>(
        self: &Arc<Self>,
        attributes: &A,
    ) -> Result<Reservation<S, C, O>, StoreError> {
        let outcome = self.decide(attributes).await?;
        Ok(Reservation { engine: Arc::clone(self), outcome, is_open: true })
    }
}

impl<S: Store, C: Clock, O: Observer> Reservation<S, C, O> {
    /// What was decided. Of a request that is not admitted nothing is held.
    #[must_use]
    pub const fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The request cost `actual` units: rules whose cost was open are charged so many, the others what they were. What is
    /// lacking is charged now, as far as there is room; the units that found none, which nobody pays, are returned.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not settle it: then what was reserved stays charged.
    pub async fn commit(self, actual: u64) -> Result<u64, StoreError> {
        self.end(|outcome| outcome.settled_at(actual)).await
    }

    /// The request was served, with this response: see [`Outcome::settled_by`].
    ///
    /// # Errors
    /// [`StoreError`] where the store could not settle it: then what was reserved stays charged.
    pub async fn commit_by<R: ResponseAttributes + ?Sized>(self, response: &R) -> Result<u64, StoreError> {
        let settling = self.outcome.settled_by(response);
        self.end(|_| settling).await
    }

    /// The request was not made: every rule gives back what it charged, as far as it still counts.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not settle it: then what was reserved stays charged.
    pub async fn refund(self) -> Result<(), StoreError> {
        self.end(Outcome::undone).await.map(|_| ())
    }

    /// Everything stays charged as it is.
    pub fn keep(mut self) -> Outcome {
        self.is_open = false;
        self.outcome.clone()
    }

    async fn end(mut self, settling: impl FnOnce(&Outcome) -> Settling) -> Result<u64, StoreError> {
        self.is_open = false;
        let settling = settling(&self.outcome);
        self.engine.settle(&settling).await
    }
}

impl<S: Store, C: Clock, O: Observer> Drop for Reservation<S, C, O> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        let settling = self.outcome.undone();
        let refund = pin!(self.engine.settle(&settling));
        // Once polled, a store carries it out.
        let _ = refund.poll(&mut Context::from_waker(Waker::noop()));
    }
}

impl<S: Store, C: Clock, O: Observer> fmt::Debug for Reservation<S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("outcome", &self.outcome)
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}
