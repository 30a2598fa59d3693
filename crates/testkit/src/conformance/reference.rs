//! The simplest store that is right: the suite's own positive control, and an example.

use core::time::Duration;
use std::collections::HashMap;

use cupo_core::{
    BlockBook, BlockChange, BlockList, Check, CheckItem, Executed, Fallback, Granted, Key, Preview,
    Settlement, State, Store, StoreError, Timestamp, Uncovered, Upkeep,
};
use parking_lot::Mutex;

/// One lock around everything. Bounded by nothing: not for production.
#[derive(Debug, Default)]
pub struct ReferenceStore(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    states: HashMap<Key, State>,
    /// The latest instant shown. States are forgotten by it, so none may be asked for earlier.
    clock: Timestamp,
    blocks: BlockBook,
}

impl ReferenceStore {
    /// How many keys have a state.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.0.lock().states.len()
    }
}

impl Fallback for ReferenceStore {
    fn execute(&self, check: &Check, now: Timestamp) -> Executed {
        let Inner { states, clock, .. } = &mut *self.0.lock();
        let at = now.max(*clock);
        *clock = at;
        let mut decisions = cupo_core::Decisions::new();
        let mut changes = Vec::new();
        for CheckItem { key, limit, cost } in check.items() {
            // In ticks: no instant is later than the last one of the domain, but an expiry may be.
            let tick = limit.resolution().tick(at);
            if states.get(key).is_some_and(|state| tick >= limit.params().expires_at(state)) {
                states.remove(key);
            }
            let (decision, change) = limit.decide(states.get(key), at, *cost);
            decisions.push(decision);
            changes.push(change);
        }
        let executed = Executed { at, decisions };
        if executed.is_admitted() {
            for (CheckItem { key, limit, .. }, change) in check.items().iter().zip(changes) {
                let mut state = states.remove(key);
                limit.apply(&mut state, change);
                states.extend(state.map(|state| (key.clone(), state)));
            }
            return executed;
        }
        let shown = check.items().iter().zip(executed.decisions).map(|(item, decision)| {
            if decision.is_admitted() { item.limit.decide(states.get(&item.key), at, 0).0 } else { decision }
        });
        Executed { at, decisions: shown.collect() }
    }

    fn preview(&self, check: &Check, now: Timestamp) -> Preview {
        let Inner { states, clock, .. } = &*self.0.lock();
        let at = now.max(*clock);
        let decide = |item: &CheckItem, cost| {
            let tick = item.limit.resolution().tick(at);
            let alive = |state: &&State| tick < item.limit.params().expires_at(state);
            item.limit.decide(states.get(&item.key).filter(alive), at, cost).0
        };
        let balances: cupo_core::Decisions = check.items().iter().map(|item| decide(item, 0)).collect();
        let mut decisions: cupo_core::Decisions =
            check.items().iter().map(|item| decide(item, item.cost)).collect();
        if !decisions.iter().all(|decision| decision.is_admitted()) {
            let admitted = decisions.iter_mut().zip(&balances).filter(|(decision, _)| decision.is_admitted());
            admitted.for_each(|(decision, balance)| *decision = *balance);
        }
        Preview { at, balances, decisions }
    }

    fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) {
        let Inner { states, clock, .. } = &mut *self.0.lock();
        let at = now.max(*clock);
        *clock = at;
        let mut state = states.remove(&item.key);
        let change = item.limit.cancel(state.as_ref(), at, item.cost, end);
        item.limit.apply(&mut state, change);
        states.extend(state.map(|state| (item.key.clone(), state)));
    }

    fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Uncovered {
        let Inner { states, clock, .. } = &mut *self.0.lock();
        let at = now.max(*clock);
        *clock = at;
        let settle = |Settlement { key, limit, charge, actual }: &Settlement| {
            let alive = |state: &State| limit.resolution().tick(at) < limit.params().expires_at(state);
            let mut state = states.remove(key).filter(alive);
            let (change, uncovered) = limit.settle(state.as_ref(), at, *charge, *actual);
            limit.apply(&mut state, change);
            states.extend(state.map(|state| (key.clone(), state)));
            uncovered
        };
        settlements.iter().map(settle).collect()
    }
}

impl Upkeep for ReferenceStore {
    async fn reset(&self, key: &Key) -> Result<bool, StoreError> {
        Ok(self.0.lock().states.remove(key).is_some())
    }

    async fn grant(&self, item: &CheckItem, now: Timestamp) -> Result<Granted, StoreError> {
        let Inner { states, clock, .. } = &mut *self.0.lock();
        let at = now.max(*clock);
        *clock = at;
        let mut state = states.remove(&item.key);
        let before = item.limit.decide(state.as_ref(), at, 0).0.remaining;
        let change = item.limit.grant(state.as_ref(), at, item.cost);
        item.limit.apply(&mut state, change);
        let after = item.limit.decide(state.as_ref(), at, 0).0.remaining;
        states.extend(state.map(|state| (item.key.clone(), state)));
        Ok(Granted { at, before, after })
    }

    async fn block(
        &self,
        key: &Key,
        span: Option<Duration>,
        now: Timestamp,
    ) -> Result<BlockChange, StoreError> {
        Ok(self.0.lock().blocks.set(key, span, now))
    }

    async fn blocks(&self, known: Option<u64>, now: Timestamp) -> Result<Option<BlockList>, StoreError> {
        Ok(self.0.lock().blocks.list(known, now))
    }
}

impl Store for ReferenceStore {
    async fn check(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        Ok(self.execute(check, now))
    }

    async fn preview(&self, check: &Check, now: Timestamp) -> Result<Preview, StoreError> {
        Ok(Fallback::preview(self, check, now))
    }

    async fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) -> Result<(), StoreError> {
        Fallback::cancel(self, item, now, end);
        Ok(())
    }

    async fn carry(&self, from: &CheckItem, to: &CheckItem, now: Timestamp) -> Result<(), StoreError> {
        let Inner { states, clock, .. } = &mut *self.0.lock();
        let at = now.max(*clock);
        *clock = at;
        if from.key == to.key || from.limit.algorithm() != to.limit.algorithm() {
            return Ok(());
        }
        let Some(old) = states.get(&from.key).filter(|old| from.limit.used(Some(old), at) > 0).cloned()
        else {
            return Ok(());
        };
        states.remove(&from.key);
        let mut state = states.remove(&to.key);
        let change = to.limit.carry(state.as_ref(), &from.limit, &old, at);
        to.limit.apply(&mut state, change);
        states.extend(state.map(|state| (to.key.clone(), state)));
        Ok(())
    }

    async fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Result<Uncovered, StoreError> {
        Ok(Fallback::settle(self, settlements, now))
    }
}
