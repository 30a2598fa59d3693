//! The engine: snapshot → check → store → fold → observe. Every door asks it, and nothing else decides.

use core::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::attributes::Attributes;
use crate::check::{Check, CheckItem, Executed};
use crate::clock::{Clock, SystemClock};
use crate::observer::{Observer, Unobserved};
use crate::outcome::Outcome;
use crate::policy::{Applicable, Policy, Prepared, ShadowItems};
use crate::settled::Settled;
use crate::standing::Standing;
use crate::store::{Fallback, Store, StoreError};
use crate::time::Timestamp;

/// Balances that are asked for at once.
const PEEKS: usize = 32;

/// A policy, the store that counts for it, a clock, and whoever observes. Share it by [`Arc`].
pub struct Engine<S, C = SystemClock, O = Unobserved> {
    policy: ArcSwap<Policy>,
    store: S,
    clock: C,
    observer: O,
    fallback: Option<Arc<dyn Fallback>>,
}

impl<S: fmt::Debug, C: fmt::Debug, O: fmt::Debug> fmt::Debug for Engine<S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("store", &self.store)
            .field("clock", &self.clock)
            .field("observer", &self.observer)
            .finish_non_exhaustive()
    }
}

impl<S: Store> Engine<S> {
    /// An engine on the system's clock that nobody observes.
    pub fn new(policy: Arc<Policy>, store: S) -> Self {
        Self {
            policy: ArcSwap::new(policy),
            store,
            clock: SystemClock::new(),
            observer: Unobserved,
            fallback: None,
        }
    }
}

impl<S: Store, C: Clock, O: Observer> Engine<S, C, O> {
    /// The same engine on another clock.
    pub fn with_clock<D: Clock>(self, clock: D) -> Engine<S, D, O> {
        Engine {
            policy: self.policy,
            store: self.store,
            clock,
            observer: self.observer,
            fallback: self.fallback,
        }
    }

    /// The same engine with another observer.
    pub fn with_observer<P: Observer>(self, observer: P) -> Engine<S, C, P> {
        Engine {
            policy: self.policy,
            store: self.store,
            clock: self.clock,
            observer,
            fallback: self.fallback,
        }
    }

    /// The same engine with memory of its own for rules with `on_store_error: local`. Without one they refuse while the store
    /// is out of reach.
    #[must_use]
    pub fn with_fallback(self, fallback: Arc<dyn Fallback>) -> Self {
        Self { fallback: Some(fallback), ..self }
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// Puts another policy in force, whole. Requests in flight finish under the one they began with; counters stay with the
    /// names of their rules.
    pub fn swap_policy(&self, policy: Arc<Policy>) {
        self.policy.store(policy);
    }

    /// The store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// The clock.
    pub const fn clock(&self) -> &C {
        &self.clock
    }

    /// Decides a request now.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not decide and a rule refuses then; the observer has been told.
    pub async fn decide<A: Attributes + Sync + ?Sized>(&self, attributes: &A) -> Result<Outcome, StoreError> {
        self.decide_at(attributes, self.clock.now()).await
    }

    /// Decides a request at `now`. A store with a clock of its own decides by that one.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not decide and a rule refuses then; the observer has been told.
    pub async fn decide_at<A: Attributes + Sync + ?Sized>(
        &self,
        attributes: &A,
        now: Timestamp,
    ) -> Result<Outcome, StoreError> {
        let policy = self.policy.load_full();
        let outcome = match policy.prepare(attributes) {
            Err(settled) => Outcome::settle(policy, now, settled),
            Ok(prepared) => match self.execute(&prepared.check, now).await {
                Ok(executed) => {
                    let mut outcome = Outcome::fold(policy, prepared.check, &prepared.rules, &executed);
                    if prepared.bad_credentials {
                        outcome = outcome.with_bad_credentials();
                    }
                    if outcome.is_admitted() {
                        self.watch(prepared.shadow, now, &mut outcome).await;
                    }
                    outcome
                }
                Err(error) => self.decide_without_store(policy, prepared, now, error)?,
            },
        };
        self.observer.decided(&outcome);
        Ok(outcome)
    }

    /// Decides by what each rule says of a store that cannot.
    fn decide_without_store(
        &self,
        policy: Arc<Policy>,
        prepared: Prepared,
        now: Timestamp,
        error: StoreError,
    ) -> Result<Outcome, StoreError> {
        let bad_credentials = prepared.bad_credentials;
        let Some(local) = prepared.shares(&policy) else { return Err(error) };
        let executed = match &self.fallback {
            _ if local.check.items().is_empty() => Executed { at: now, decisions: Default::default() },
            Some(fallback) => fallback.execute(&local.check, now),
            None => return Err(error),
        };
        let outcome = Outcome::fold(policy, local.check, &local.rules, &executed).without_store(error);
        Ok(if bad_credentials { outcome.with_bad_credentials() } else { outcome })
    }

    async fn execute(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        if check.items().is_empty() {
            return Ok(Executed { at: now, decisions: Default::default() });
        }
        self.store.check(check, now).await.inspect_err(|error| self.observer.store_failed(error))
    }

    /// How the caller who sent this request stands: every enforced limit that could apply to requests of theirs, with its balance.
    /// Only those for requests with this method and path where `about` says so. Takes nothing from any of them.
    ///
    /// The inner error is the answer to one who may not pass anywhere, or who asks too often: asking has a limit of its own
    /// ([`PolicySource::status`](crate::PolicySource::status)).
    ///
    /// # Errors
    /// [`StoreError`] where the store could not tell; the observer has been told.
    pub async fn standing<A: Attributes + Sync + ?Sized>(
        &self,
        attributes: &A,
        about: Option<(&str, &str)>,
    ) -> Result<Result<Standing, Box<Outcome>>, StoreError> {
        let (policy, now) = (self.policy.load_full(), self.clock.now());
        let guard = policy.guard(attributes);
        let executed = self.execute(&guard.check, now).await?;
        let asked = Outcome::fold(Arc::clone(&policy), guard.check, &guard.rules, &executed);
        let refused = match policy.applicable(attributes, about) {
            _ if !asked.is_admitted() => asked,
            Ok(_) if attributes.has_bad_credentials() => asked.with_bad_credentials(),
            Ok(found) => return Ok(Ok(self.balances(policy, executed.at, found).await?)),
            Err(settled @ Settled::Allowed(_)) => {
                return Ok(Ok(Standing::settle(policy, executed.at, settled)));
            }
            Err(settled) => Outcome::settle(policy, executed.at, settled),
        };
        self.observer.decided(&refused);
        Ok(Err(Box::new(refused)))
    }

    async fn balances(
        &self,
        policy: Arc<Policy>,
        now: Timestamp,
        found: Applicable,
    ) -> Result<Standing, StoreError> {
        let mut balances = Vec::new();
        let items: Vec<CheckItem> = found.places.iter().filter_map(|place| place.item.clone()).collect();
        for some in items.chunks(PEEKS) {
            let mut check = Check::new();
            some.iter().for_each(|item| check.push_new(item.clone()));
            let executed = self.execute(&check, now).await?;
            balances.extend(executed.decisions.into_iter().map(|decision| (executed.at, decision)));
        }
        Ok(Standing::new(policy, now, found, balances))
    }

    /// Counts for the rules that only watch, each by itself, so that none hides another. A failure is observed and no more.
    async fn watch(&self, shadow: ShadowItems, now: Timestamp, outcome: &mut Outcome) {
        for (rule, item) in shadow {
            let check = Check::from(item.clone());
            if let Some(&decision) = self.execute(&check, now).await.iter().flat_map(|e| &e.decisions).next()
            {
                outcome.add_shadow(rule, item, decision);
            }
        }
    }

    /// Gives back the slots of a delayed request that was cancelled, as far as nobody has queued behind it. A store failure
    /// is observed; the slot then passes unused.
    pub async fn cancel(&self, outcome: &Outcome) {
        let now = self.clock.now();
        for (item, end) in outcome.slots() {
            if outcome.store_error().is_some() {
                if let Some(fallback) = &self.fallback {
                    fallback.cancel(item, now, end);
                }
            } else if let Err(error) = self.store.cancel(item, now, end).await {
                self.observer.store_failed(&error);
            }
        }
    }
}
