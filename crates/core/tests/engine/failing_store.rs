//! What becomes of requests while the store cannot decide.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cupo_core::{
    Check, CheckItem, Engine, Executed, ManualClock, Observer, OnStoreError, Outcome, Policy, PolicySource,
    Preview, RuleSource, Settlement, Store, StoreError, Timestamp, Uncovered,
};
use cupo_testkit::conformance::ReferenceStore;

use crate::support::{Ask, ready, rule, shaped};

/// A store that can be broken and mended.
#[derive(Default)]
struct Brittle {
    inner: ReferenceStore,
    broken: AtomicBool,
}

impl Brittle {
    fn health(&self) -> Result<(), StoreError> {
        if self.broken.load(Ordering::SeqCst) { Err(StoreError::Timeout) } else { Ok(()) }
    }
}

impl Store for Brittle {
    async fn check(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        self.health()?;
        self.inner.check(check, now).await
    }

    async fn preview(&self, check: &Check, now: Timestamp) -> Result<Preview, StoreError> {
        self.health()?;
        Store::preview(&self.inner, check, now).await
    }

    async fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) -> Result<(), StoreError> {
        self.health()?;
        self.inner.cancel(item, now, end).await
    }

    async fn carry(&self, from: &CheckItem, to: &CheckItem, now: Timestamp) -> Result<(), StoreError> {
        self.health()?;
        self.inner.carry(from, to, now).await
    }

    async fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Result<Uncovered, StoreError> {
        self.health()?;
        self.inner.settle(settlements, now).await
    }
}

#[derive(Default)]
struct Count {
    decided: AtomicUsize,
    failed: AtomicUsize,
}

impl Observer for Count {
    fn decided(&self, _: &Outcome) {
        self.decided.fetch_add(1, Ordering::SeqCst);
    }

    fn store_failed(&self, _: &StoreError) {
        self.failed.fetch_add(1, Ordering::SeqCst);
    }
}

type TestEngine = Engine<Brittle, ManualClock, Arc<Count>>;

fn engine(rules: Vec<RuleSource>, replicas: u32) -> (TestEngine, Arc<Count>) {
    let policy = Policy::compile(PolicySource { rules, replicas, ..PolicySource::default() }).unwrap();
    let count = Arc::new(Count::default());
    let clock = ManualClock::at(Timestamp::from_micros(1_760_000_000_000_000));
    let engine = Engine::new(policy, Brittle::default())
        .with_clock(clock)
        .with_observer(Arc::clone(&count))
        .with_fallback(Arc::new(ReferenceStore::default()));
    (engine, count)
}

fn on_error(on_store_error: OnStoreError, rule: RuleSource) -> RuleSource {
    RuleSource { on_store_error, ..rule }
}

fn break_store(engine: &TestEngine, broken: bool) {
    engine.store().broken.store(broken, Ordering::SeqCst);
}

#[test]
fn allow_lets_requests_pass_and_is_observed() {
    let (engine, count) = engine(vec![on_error(OnStoreError::Allow, rule("r", &["global"], 1))], 1);
    break_store(&engine, true);
    for _ in 0..3 {
        let outcome = ready(engine.decide(&Ask::default())).unwrap();
        assert!(outcome.is_admitted());
        assert_eq!(outcome.store_error(), Some(&StoreError::Timeout));
        assert!(outcome.binding().is_none(), "nobody knows the balance, so none is shown");
    }
    assert_eq!((count.decided.load(Ordering::SeqCst), count.failed.load(Ordering::SeqCst)), (3, 3));
}

#[test]
fn deny_is_an_error_and_not_a_denial() {
    let rules = vec![
        on_error(OnStoreError::Allow, rule("a", &["global"], 1)),
        on_error(OnStoreError::Local, rule("l", &["global"], 1)),
        on_error(OnStoreError::Deny, rule("d", &["global"], 1)),
    ];
    let (engine, count) = engine(rules, 1);
    break_store(&engine, true);
    assert_eq!(ready(engine.decide(&Ask::default())).unwrap_err(), StoreError::Timeout);
    assert_eq!((count.decided.load(Ordering::SeqCst), count.failed.load(Ordering::SeqCst)), (0, 1));
    break_store(&engine, false);
    assert!(ready(engine.decide(&Ask::default())).unwrap().is_admitted(), "nothing was charged meanwhile");
}

#[test]
fn local_enforces_this_nodes_share_and_hands_back() {
    let (engine, _) = engine(vec![on_error(OnStoreError::Local, rule("r", &["global"], 10))], 3);
    let passed =
        |n: usize| (0..n).filter(|_| ready(engine.decide(&Ask::default())).unwrap().is_admitted()).count();
    break_store(&engine, true);
    assert_eq!(passed(20), 3, "a third of ten, rounded down");
    let denied = ready(engine.decide(&Ask::default())).unwrap();
    assert_eq!(denied.binding().unwrap().decision.limit, 3);
    assert!(denied.retry_after().is_some());
    break_store(&engine, false);
    assert_eq!(passed(20), 10, "the store decides again");
}

#[test]
fn a_share_is_at_least_one_of_a_limit_that_has_any() {
    for (count, share) in [(0, 0), (1, 1), (2, 1), (7, 1), (9, 4)] {
        let (engine, _) = engine(
            vec![on_error(OnStoreError::Local, rule("r", &["global"], count))],
            if count == 9 { 2 } else { 7 },
        );
        break_store(&engine, true);
        let passed = (0..20).filter(|_| ready(engine.decide(&Ask::default())).unwrap().is_admitted()).count();
        assert_eq!(passed, share, "of {count}");
    }
}

#[test]
fn a_local_slot_is_cancelled_locally() {
    let (engine, _) = engine(vec![on_error(OnStoreError::Local, shaped("delays", 1))], 1);
    break_store(&engine, true);
    let decide = || ready(engine.decide(&Ask::default())).unwrap();
    let (_first, second) = (decide(), decide());
    assert!(!decide().is_admitted());
    ready(engine.cancel(&second));
    assert!(decide().is_admitted());
}

#[test]
fn without_memory_of_its_own_local_refuses() {
    let rules = vec![on_error(OnStoreError::Local, rule("r", &["global"], 10))];
    let policy = Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap();
    let engine = Engine::new(policy, Brittle::default());
    engine.store().broken.store(true, Ordering::SeqCst);
    assert!(ready(engine.decide(&Ask::default())).is_err());
}

#[test]
fn a_shadow_rule_fails_in_silence() {
    let shadow = RuleSource { action: cupo_core::Action::Shadow, ..rule("s", &["global"], 1) };
    let (engine, count) = engine(vec![on_error(OnStoreError::Deny, shadow)], 1);
    break_store(&engine, true);
    assert!(ready(engine.decide(&Ask::default())).unwrap().is_admitted());
    assert_eq!(count.failed.load(Ordering::SeqCst), 1);
}
