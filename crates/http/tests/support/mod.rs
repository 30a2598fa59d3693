//! A store of a few lines and an engine on it, for outcomes of every kind.

#![allow(dead_code, reason = "no test uses all of it")]

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cupo_core::{
    Attributes, Change, Check, CheckItem, Engine, Executed, Key, KeySpec, Limit, ManualClock, Outcome,
    Policy, PolicySource, Preview, Rate, RuleSource, Settlement, State, Store, StoreError, Timestamp,
    Uncovered,
};
use parking_lot::Mutex;

/// 2026-11-29 21:00:00 UTC.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_795_986_000_000_000);

#[derive(Default)]
pub(crate) struct TestStore(Mutex<HashMap<Key, State>>);

impl Store for TestStore {
    async fn check(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        let mut states = self.0.lock();
        let decide = |item: &CheckItem, cost| item.limit.decide(states.get(&item.key), now, cost);
        let mut decided: Vec<_> = check.items().iter().map(|item| decide(item, item.cost)).collect();
        if decided.iter().any(|(decision, _)| !decision.is_admitted()) {
            for (item, one) in check.items().iter().zip(&mut decided) {
                if one.0.is_admitted() {
                    *one = (decide(item, 0).0, Change::Keep);
                }
            }
        }
        let decisions = decided.iter().map(|(decision, _)| *decision).collect();
        for (item, (_, change)) in check.items().iter().zip(decided) {
            let mut state = states.remove(&item.key);
            item.limit.apply(&mut state, change);
            states.extend(state.map(|state| (item.key.clone(), state)));
        }
        Ok(Executed { at: now, decisions })
    }

    async fn preview(&self, _: &Check, _: Timestamp) -> Result<Preview, StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn cancel(&self, _: &CheckItem, _: Timestamp, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }

    async fn carry(&self, _: &CheckItem, _: &CheckItem, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }

    async fn settle(&self, _: &[Settlement], _: Timestamp) -> Result<Uncovered, StoreError> {
        Err(StoreError::Unavailable)
    }
}

pub(crate) type TestEngine = Engine<TestStore, ManualClock>;

/// An engine at [`NOW`] with these rules.
pub(crate) fn engine(rules: Vec<RuleSource>) -> TestEngine {
    let policy = Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap();
    Engine::new(policy, TestStore::default()).with_clock(ManualClock::at(NOW))
}

pub(crate) fn rule(name: &str, key: &str, limit: Limit) -> RuleSource {
    RuleSource::new(name, KeySpec::parse(&[key]).unwrap(), limit)
}

pub(crate) fn fixed(count: u64, seconds: u64) -> Limit {
    Limit::fixed_window(count, Duration::from_secs(seconds)).unwrap()
}

pub(crate) fn bucket(capacity: u64, refill: u64, seconds: u64) -> Limit {
    Limit::token_bucket(capacity, Rate::new(refill, Duration::from_secs(seconds))).unwrap()
}

/// A request of this cost from one address.
pub(crate) struct Request(pub(crate) u64);

impl Attributes for Request {
    fn client(&self) -> Option<IpAddr> {
        Some([192, 0, 2, 1].into())
    }

    fn cost(&self) -> u64 {
        self.0
    }
}

/// Decides a request; the store is never pending.
pub(crate) fn decide(engine: &TestEngine, request: &(impl Attributes + Sync)) -> Outcome {
    ready(engine.decide(request)).unwrap()
}

pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the test store is never pending"),
    }
}
