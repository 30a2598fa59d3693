//! The engine: snapshot → check → store → fold → observe. Every door asks it, and nothing else decides.

mod carry;
mod explain;
mod upkeep;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::attributes::Attributes;
use crate::blocks::Blocks;
use crate::check::{Check, CheckItem, Executed};
use crate::clock::{Clock, SystemClock};
use crate::in_force::InForce;
use crate::observer::{Observer, Unobserved};
use crate::outcome::Outcome;
use crate::policy::{Applicable, Policy, Prepared, ShadowItems};
use crate::settled::Settled;
use crate::settlement::Settling;
use crate::standing::Standing;
use crate::store::{Fallback, Store, StoreError};
use crate::time::Timestamp;

/// Balances that are asked for at once.
const PEEKS: usize = 32;

/// A policy, the store that counts for it, a clock, and whoever observes. Share it by [`Arc`].
pub struct Engine<S, C = SystemClock, O = Unobserved> {
    in_force: ArcSwap<InForce>,
    /// That of what is in force: tells those who keep a copy when to look again.
    generation: AtomicU64,
    store: S,
    clock: C,
    observer: O,
    fallback: Option<Arc<dyn Fallback>>,
    blocks: Blocks,
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
            in_force: ArcSwap::from_pointee(InForce::first(policy)),
            generation: AtomicU64::new(0),
            store,
            clock: SystemClock::new(),
            observer: Unobserved,
            fallback: None,
            blocks: Blocks::default(),
        }
    }
}

impl<S: Store, C: Clock, O: Observer> Engine<S, C, O> {
    /// The same engine on another clock.
    pub fn with_clock<D: Clock>(self, clock: D) -> Engine<S, D, O> {
        Engine {
            in_force: self.in_force,
            generation: self.generation,
            store: self.store,
            clock,
            observer: self.observer,
            fallback: self.fallback,
            blocks: self.blocks,
        }
    }

    /// The same engine with another observer.
    pub fn with_observer<P: Observer>(self, observer: P) -> Engine<S, C, P> {
        Engine {
            in_force: self.in_force,
            generation: self.generation,
            store: self.store,
            clock: self.clock,
            observer,
            fallback: self.fallback,
            blocks: self.blocks,
        }
    }

    /// The same engine with memory of its own for rules with `on_store_error: local`. Without one they refuse while the store
    /// is out of reach.
    #[must_use]
    pub fn with_fallback(self, fallback: Arc<dyn Fallback>) -> Self {
        Self { fallback: Some(fallback), ..self }
    }

    /// What is in force: a policy, and which one it is.
    pub fn in_force(&self) -> Arc<InForce> {
        self.in_force.load_full()
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(self.in_force.load().policy())
    }

    /// The [generation](InForce::generation) of what is in force. Asking costs less than taking it: who keeps a copy sees
    /// whether it still holds.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Puts another policy in force, whole. Requests in flight finish under the one they began with; counters stay with the
    /// names of their rules. Of a limit in other windows or at another rate, what was counted before is taken over when a key is
    /// first touched; see [`Store::carry`].
    pub fn swap_policy(&self, policy: Arc<Policy>) {
        self.swap_policy_with(policy, |_| ());
    }

    /// The same; shows what is going to be in force to `before`, right before it is, so that a door can swap what it keeps with
    /// the policy: who then sees the new [`generation`](Self::generation) sees that as well. `before` is called again where
    /// somebody else swaps at the same time and was faster.
    pub fn swap_policy_with(&self, policy: Arc<Policy>, mut before: impl FnMut(&Arc<InForce>)) {
        let mut current = self.in_force.load_full();
        let now = self.clock.now();
        let mut next = Arc::new(current.followed_by(policy, now));
        loop {
            before(&next);
            let was = self.in_force.compare_and_swap(&current, Arc::clone(&next));
            if Arc::ptr_eq(&was, &current) {
                self.generation.fetch_max(next.generation(), Ordering::Release);
                return;
            }
            current = Arc::clone(&was);
            next = Arc::new(current.followed_by(Arc::clone(next.policy()), now));
        }
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
        self.decide_under(self.in_force(), attributes, now).await
    }

    /// The same under what was [in force](Self::in_force) when the request came: for doors that went by it before, such as to find
    /// the client's address.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not decide and a rule refuses then; the observer has been told.
    pub async fn decide_under<A: Attributes + Sync + ?Sized>(
        &self,
        in_force: Arc<InForce>,
        attributes: &A,
        now: Timestamp,
    ) -> Result<Outcome, StoreError> {
        let outcome = match self.prepare(&in_force, attributes, now) {
            Err(settled) => Outcome::settle(in_force, now, settled),
            Ok(prepared) => match self.execute(&in_force, &prepared.rules, &prepared.check, now).await {
                Ok(executed) => {
                    let mut prepared = prepared;
                    let shadow = core::mem::take(&mut prepared.shadow);
                    let mut outcome = prepared.fold(in_force, &executed);
                    if outcome.is_admitted() {
                        self.watch(shadow, now, &mut outcome).await;
                    }
                    outcome
                }
                Err(error) => {
                    self.decide_without_store(in_force, prepared, now, error, |fallback, check| {
                        fallback.execute(check, now)
                    })?
                }
            },
        };
        self.observer.decided(&outcome);
        Ok(outcome)
    }

    /// What a request has to pass; as an error what settles it without any.
    fn prepare<A: Attributes + ?Sized>(
        &self,
        in_force: &InForce,
        attributes: &A,
        now: Timestamp,
    ) -> Result<Prepared, Settled> {
        let blocked =
            self.blocks.load().and_then(|known| in_force.policy().settle_blocked(attributes, &known, now));
        blocked.map_or_else(|| in_force.policy().prepare(attributes), Err)
    }

    /// Decides by what each rule says of a store that cannot; `ask` asks this node's memory.
    fn decide_without_store(
        &self,
        in_force: Arc<InForce>,
        prepared: Prepared,
        now: Timestamp,
        error: StoreError,
        ask: impl FnOnce(&dyn Fallback, &Check) -> Executed,
    ) -> Result<Outcome, StoreError> {
        let Some(local) = prepared.shares(in_force.policy()) else { return Err(error) };
        let executed = match &self.fallback {
            _ if local.check.items().is_empty() => Executed { at: now, decisions: Default::default() },
            Some(fallback) => ask(&**fallback, &local.check),
            None => return Err(error),
        };
        Ok(local.fold(in_force, &executed).without_store(error))
    }

    /// Executes a check, with the rule of each of its items, under what is in force.
    async fn execute(
        &self,
        in_force: &InForce,
        rules: &[usize],
        check: &Check,
        now: Timestamp,
    ) -> Result<Executed, StoreError> {
        if check.items().is_empty() {
            return Ok(Executed { at: now, decisions: Default::default() });
        }
        self.carry(in_force, rules, check, now).await?;
        let executed = self.store.check(check, now).await;
        if self.generation() != in_force.generation() {
            self.follow(check.items().iter().map(|item| (&item.key, &item.limit)), now).await;
        }
        executed.inspect_err(|error| self.observer.store_failed(error))
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
        self.standing_under(self.in_force(), attributes, about).await
    }

    /// The same under what was [in force](Self::in_force) when the request came.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not tell; the observer has been told.
    pub async fn standing_under<A: Attributes + Sync + ?Sized>(
        &self,
        in_force: Arc<InForce>,
        attributes: &A,
        about: Option<(&str, &str)>,
    ) -> Result<Result<Standing, Box<Outcome>>, StoreError> {
        let (policy, now) = (Arc::clone(in_force.policy()), self.clock.now());
        let guard = policy.guard(attributes);
        let executed = self.execute(&in_force, &guard.rules, &guard.check, now).await?;
        let asked = Outcome::fold(Arc::clone(&in_force), guard.check, &guard.rules, &executed);
        let refused = match policy.applicable(attributes, about) {
            _ if !asked.is_admitted() => asked,
            Ok(_) if attributes.has_bad_credentials() => asked.with_bad_credentials(),
            Ok(found) => return Ok(Ok(self.balances(&in_force, executed.at, found).await?)),
            Err(settled @ Settled::Allowed(_)) => {
                return Ok(Ok(Standing::settle(policy, executed.at, settled)));
            }
            Err(settled) => Outcome::settle(in_force, executed.at, settled),
        };
        self.observer.decided(&refused);
        Ok(Err(Box::new(refused)))
    }

    async fn balances(
        &self,
        in_force: &InForce,
        now: Timestamp,
        found: Applicable,
    ) -> Result<Standing, StoreError> {
        let mut balances = Vec::new();
        let items = found.places.iter().filter_map(|place| Some((place.rule, place.item.clone()?)));
        let items: Vec<(usize, CheckItem)> = items.collect();
        for some in items.chunks(PEEKS) {
            let mut check = Check::new();
            some.iter().for_each(|(_, item)| check.push_new(item.clone()));
            let rules: Vec<usize> = some.iter().map(|(rule, _)| *rule).collect();
            let executed = self.execute(in_force, &rules, &check, now).await?;
            balances.extend(executed.decisions.into_iter().map(|decision| (executed.at, decision)));
        }
        Ok(Standing::new(Arc::clone(in_force.policy()), now, found, balances))
    }

    /// Counts for the rules that only watch, each by itself, so that none hides another. A failure is observed and no more.
    async fn watch(&self, shadow: ShadowItems, now: Timestamp, outcome: &mut Outcome) {
        for (rule, item) in shadow {
            let check = Check::from(item.clone());
            let executed = self.execute(outcome.in_force(), &[rule], &check, now).await;
            if let Ok(Executed { at, decisions }) = executed
                && let Some(&decision) = decisions.first()
            {
                outcome.add_shadow(rule, item, decision, at);
            }
        }
    }

    /// Settles what a request was charged, in one step of the store; the units that found no room, which nobody pays. The observer
    /// is told of all. Once the future has been polled, it is carried out also if it is dropped then.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not settle it: then what was charged stays charged. The observer has been told.
    pub async fn settle(&self, settling: &Settling) -> Result<u64, StoreError> {
        self.settle_at(settling, self.clock.now()).await
    }

    /// Settles what a request was charged at `now`. A store with a clock of its own goes by that one.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not settle it: then what was charged stays charged. The observer has been told.
    pub async fn settle_at(&self, settling: &Settling, now: Timestamp) -> Result<u64, StoreError> {
        settling.unknown().for_each(|rule| self.observer.cost_unknown(rule));
        if settling.settlements().is_empty() {
            return Ok(0);
        }
        let uncovered = if settling.is_local() {
            let settle = |local: &Arc<dyn Fallback>| local.settle(settling.settlements(), now);
            self.fallback.as_ref().map(settle).unwrap_or_default()
        } else {
            let settled = self.store.settle(settling.settlements(), now).await;
            if self.generation() > 0 {
                let items = settling.settlements().iter().map(|one| (&one.key, &one.limit));
                self.follow(items, now).await;
            }
            settled.inspect_err(|error| self.observer.store_failed(error))?
        };
        for ((rule, settlement), &uncovered) in settling.rules().zip(settling.settlements()).zip(&uncovered) {
            rule.into_iter().for_each(|rule| self.observer.settled(rule, settlement, uncovered));
        }
        Ok(uncovered.iter().fold(0, |sum: u64, units| sum.saturating_add(*units)))
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
