//! What was counted under an earlier policy counts under the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use cupo_core::{
    Action, CallerSource, Check, CheckItem, CostSource, Engine, Executed, Limit, LimitSource, ManualClock,
    OnStoreError, PlanFrom, PlansSource, Policy, PolicySource, Preview, Rate, RuleSource, Settlement, Store,
    StoreError, TierSource, Timestamp, Uncovered, Who,
};
use cupo_testkit::conformance::ReferenceStore;

use crate::support::{Ask, MINUTE, key, policy, ready};

const SECOND: Duration = Duration::from_secs(1);
const NOW: Timestamp = Timestamp::from_micros(1_760_000_000_000_000);

/// A store that counts how often it is asked to carry, and may refuse to.
#[derive(Default)]
struct Counting {
    inner: ReferenceStore,
    carried: AtomicUsize,
    broken: AtomicBool,
}

impl Store for Counting {
    async fn check(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        self.inner.check(check, now).await
    }

    async fn preview(&self, check: &Check, now: Timestamp) -> Result<Preview, StoreError> {
        self.inner.preview(check, now).await
    }

    async fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) -> Result<(), StoreError> {
        Store::cancel(&self.inner, item, now, end).await
    }

    async fn carry(&self, from: &CheckItem, to: &CheckItem, now: Timestamp) -> Result<(), StoreError> {
        self.carried.fetch_add(1, Ordering::SeqCst);
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::Timeout);
        }
        self.inner.carry(from, to, now).await
    }

    async fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Result<Uncovered, StoreError> {
        Store::settle(&self.inner, settlements, now).await
    }
}

type TestEngine = Engine<Counting, Arc<ManualClock>>;

fn engine(policy: Arc<Policy>) -> (TestEngine, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(NOW));
    (Engine::new(policy, Counting::default()).with_clock(Arc::clone(&clock)), clock)
}

fn of(name: &str, parts: &[&str], limit: Limit) -> Arc<Policy> {
    policy([RuleSource::new(name, key(parts), limit)])
}

fn counter(count: u64, window: Duration) -> Limit {
    Limit::sliding_window_counter(count, window).unwrap()
}

/// How many of 1,000 requests of this user pass.
fn passing(engine: &TestEngine, user: &'static str) -> usize {
    let ask = Ask { user: Some(user), ..Ask::default() };
    (0..1_000).filter(|_| ready(engine.decide(&ask)).unwrap().is_admitted()).count()
}

fn take(engine: &TestEngine, user: &'static str, requests: usize) {
    let ask = Ask { user: Some(user), ..Ask::default() };
    for n in 0..requests {
        assert!(ready(engine.decide(&ask)).unwrap().is_admitted(), "{n} of {requests}");
    }
}

fn carried(engine: &TestEngine) -> usize {
    engine.store().carried.load(Ordering::SeqCst)
}

#[test]
fn units_that_were_consumed_stay_consumed_in_another_window() {
    let rate = |count, span| Rate::new(count, span);
    let pairs = [
        (Limit::fixed_window(10, MINUTE), Limit::fixed_window(25, MINUTE * 60)),
        (Limit::fixed_window(10, MINUTE), Limit::fixed_window_from_first(25, SECOND * 30)),
        (Limit::sliding_window_log(10, MINUTE), Limit::sliding_window_log(25, SECOND * 7)),
        (Limit::sliding_window_counter(10, MINUTE), Limit::sliding_window_counter(25, MINUTE * 60)),
        // In milliseconds.
        (
            Limit::sliding_window_counter(10, MINUTE * 1440),
            Limit::sliding_window_counter(1_000_000, MINUTE * 1440),
        ),
        (Limit::token_bucket(10, rate(1, MINUTE)), Limit::token_bucket(25, rate(7, MINUTE))),
        (Limit::leaky_bucket(rate(1, MINUTE), 9), Limit::leaky_bucket(rate(1, MINUTE * 2), 24)),
    ];
    for (before, after) in pairs {
        let (before, after) = (before.unwrap(), after.unwrap());
        let (engine, _) = engine(of("r", &["user"], before));
        take(&engine, "ada", 6);
        engine.swap_policy(of("r", &["user"], after));
        let ask = Ask { user: Some("ada"), ..Ask::default() };
        let standing = ready(engine.standing(&ask, None)).unwrap().unwrap();
        let balance = standing.places().next().unwrap().decision.unwrap();
        assert_eq!(
            balance.remaining,
            after.quota() - 6,
            "{before}, then {after}: a peek shows what a decision would"
        );
        take(&engine, "ada", 1);
        let left = ready(engine.decide(&ask)).unwrap().binding().unwrap().decision.remaining;
        assert_eq!(left, after.quota() - 8, "{before}, then {after}");
        assert_eq!(passing(&engine, "eva").min(25), 25, "who consumed nothing has all of it");
    }
}

#[test]
fn a_lower_limit_is_full_at_the_most() {
    for (before, after) in
        [(counter(10, MINUTE), counter(3, MINUTE * 60)), (counter(10, MINUTE), counter(3, SECOND))]
    {
        let (engine, clock) = engine(of("r", &["user"], before));
        take(&engine, "ada", 10);
        engine.swap_policy(of("r", &["user"], after));
        assert_eq!(passing(&engine, "ada"), 0);
        clock.advance(after.memory());
        take(&engine, "ada", 3);
    }
}

#[test]
fn another_algorithm_key_or_name_starts_fresh() {
    let log = Limit::sliding_window_log(5, MINUTE).unwrap();
    for other in [
        of("r", &["user"], counter(5, MINUTE)),
        of("r", &["user", "method"], Limit::sliding_window_log(5, SECOND).unwrap()),
        of("other", &["user"], Limit::sliding_window_log(5, SECOND).unwrap()),
    ] {
        let (engine, _) = engine(of("r", &["user"], log));
        take(&engine, "ada", 5);
        engine.swap_policy(other);
        assert_eq!((passing(&engine, "ada"), carried(&engine)), (5, 0));
    }
}

#[test]
fn the_same_window_goes_on_and_asks_for_nothing() {
    let (engine, _) = engine(of("r", &["user"], counter(5, MINUTE)));
    take(&engine, "ada", 5);
    engine.swap_policy(of("r", &["user"], counter(8, MINUTE)));
    assert_eq!((passing(&engine, "ada"), carried(&engine)), (3, 0));
    engine.swap_policy(of("r", &["user"], counter(2, MINUTE)));
    assert_eq!((passing(&engine, "ada"), carried(&engine)), (0, 0));
}

#[test]
fn each_key_is_carried_once_and_none_when_nothing_counts_any_more() {
    let (engine, clock) = engine(of("r", &["user"], counter(5, MINUTE)));
    take(&engine, "ada", 2);
    engine.swap_policy(of("r", &["user"], counter(5, MINUTE * 60)));
    assert_eq!((passing(&engine, "ada"), passing(&engine, "eva")), (3, 5));
    assert_eq!(carried(&engine), 2);
    // A counter remembers two windows.
    clock.advance(MINUTE * 2);
    passing(&engine, "bob");
    assert_eq!(carried(&engine), 3, "a second of grace");
    clock.advance(SECOND);
    passing(&engine, "cleo");
    assert_eq!(carried(&engine), 3);
}

#[test]
fn a_second_reload_takes_over_from_both() {
    let (engine, clock) = engine(of("r", &["user"], counter(20, MINUTE * 60)));
    take(&engine, "ada", 6);
    take(&engine, "eva", 6);
    engine.swap_policy(of("r", &["user"], counter(20, MINUTE)));
    take(&engine, "ada", 2);
    // Eva was not seen in between.
    engine.swap_policy(of("r", &["user"], counter(20, MINUTE * 30)));
    assert_eq!((passing(&engine, "ada"), passing(&engine, "eva")), (12, 14));
    // Back to the first: what has been counted since goes back with it.
    engine.swap_policy(of("r", &["user"], counter(20, MINUTE * 60)));
    assert_eq!((passing(&engine, "ada"), passing(&engine, "eva")), (0, 0));
    clock.advance(MINUTE * 120);
    assert_eq!((passing(&engine, "ada"), passing(&engine, "eva")), (20, 20));
}

#[test]
fn a_rule_that_was_gone_for_a_while_is_remembered() {
    let (engine, _) = engine(of("r", &["user"], counter(5, MINUTE)));
    take(&engine, "ada", 4);
    engine.swap_policy(of("other", &["user"], counter(50, MINUTE)));
    engine.swap_policy(of("r", &["user"], counter(5, MINUTE * 2)));
    assert_eq!(passing(&engine, "ada"), 1);
}

#[test]
fn a_request_that_began_before_the_reload_counts_too() {
    let (engine, _) = engine(of("r", &["user"], counter(5, MINUTE)));
    let before = engine.in_force();
    engine.swap_policy(of("r", &["user"], counter(5, MINUTE * 60)));
    let ask = Ask { user: Some("ada"), ..Ask::default() };
    for _ in 0..2 {
        assert!(ready(engine.decide_under(Arc::clone(&before), &ask, NOW)).unwrap().is_admitted());
    }
    assert_eq!(passing(&engine, "ada"), 3);
}

/// Whoever was decided under the old policy after his key has been taken over.
#[test]
fn a_request_that_ends_after_its_key_was_taken_over_counts_too() {
    let (engine, _) = engine(of("r", &["user"], counter(5, MINUTE)));
    let before = engine.in_force();
    take(&engine, "ada", 1);
    engine.swap_policy(of("r", &["user"], counter(5, MINUTE * 60)));
    take(&engine, "ada", 1);
    let ask = Ask { user: Some("ada"), ..Ask::default() };
    assert!(ready(engine.decide_under(before, &ask, NOW)).unwrap().is_admitted());
    assert_eq!(passing(&engine, "ada"), 2);
}

/// A response that costs more than was reserved, under a policy that has been replaced meanwhile.
#[test]
fn what_is_topped_up_after_a_reload_counts_too() {
    let by = |window| {
        let cost = CostSource::Response { header: "x-cost".to_owned(), reserve: 2 };
        policy([RuleSource { cost, ..RuleSource::new("r", key(&["user"]), counter(30, window)) }])
    };
    let (engine, _) = engine(by(MINUTE));
    let engine = Arc::new(engine);
    let ask = Ask { user: Some("ada"), ..Ask::default() };
    let reservation = ready(engine.reserve(&ask)).unwrap();
    engine.swap_policy(by(MINUTE * 60));
    let standing = |engine: &TestEngine| {
        let standing = ready(engine.standing(&ask, None)).unwrap().unwrap();
        standing.places().next().unwrap().decision.unwrap().remaining
    };
    assert_eq!(standing(&engine), 28);
    assert_eq!(ready(reservation.commit(7)).unwrap(), 0);
    assert_eq!(standing(&engine), 23);
}

#[test]
fn a_key_can_be_taken_over_before_anybody_asks() {
    let (engine, _) = engine(of("r", &["user"], counter(5, MINUTE)));
    take(&engine, "ada", 3);
    engine.swap_policy(of("r", &["user"], counter(9, MINUTE * 60)));
    let named = engine.policy().counters("r", &["ada"], None, &|_, value| value.as_bytes().to_vec()).unwrap();
    let item = named.counters[0].item.clone();
    ready(engine.take_over(&item.key)).unwrap();
    let peek = ready(engine.store().check(&item.into(), NOW)).unwrap();
    assert_eq!(peek.decisions[0].remaining, 6);
    assert_eq!(passing(&engine, "ada"), 6);
}

#[test]
fn a_rule_that_only_watches_takes_over_too() {
    let watching = |window| {
        let rule = RuleSource::new("r", key(&["user"]), counter(5, window));
        policy([RuleSource { action: Action::Shadow, ..rule }])
    };
    let (engine, _) = engine(watching(MINUTE));
    take(&engine, "ada", 4);
    engine.swap_policy(watching(MINUTE * 60));
    take(&engine, "ada", 1);
    let ask = Ask { user: Some("ada"), ..Ask::default() };
    let outcome = ready(engine.decide(&ask)).unwrap();
    assert!(!outcome.shadow_decisions().next().unwrap().decision.is_admitted());
}

#[test]
fn a_store_that_does_not_carry_is_a_store_that_fails() {
    for (on_store_error, passes) in [(OnStoreError::Allow, true), (OnStoreError::Deny, false)] {
        let by = |window| {
            policy([RuleSource {
                on_store_error,
                ..RuleSource::new("r", key(&["user"]), counter(1, window))
            }])
        };
        let (engine, _) = engine(by(MINUTE));
        take(&engine, "ada", 1);
        engine.swap_policy(by(MINUTE * 60));
        engine.store().broken.store(true, Ordering::SeqCst);
        let ask = Ask { user: Some("ada"), ..Ask::default() };
        let answer = ready(engine.decide(&ask));
        assert_eq!(answer.as_ref().is_ok_and(|outcome| outcome.store_error().is_some()), passes);
        assert_eq!(answer.is_err(), !passes);
        engine.store().broken.store(false, Ordering::SeqCst);
        assert_eq!(passing(&engine, "ada"), 0, "it is tried again");
    }
}

fn tiers(tiers: &[(&str, Limit)], default: &str) -> PlansSource {
    let tier = |(name, limit): &(&str, Limit)| TierSource {
        name: (*name).to_owned(),
        numbers: vec![("requests".to_owned(), Some(*limit))],
    };
    PlansSource {
        tiers: tiers.iter().map(tier).collect(),
        from: vec![PlanFrom::Callers],
        default: default.to_owned(),
    }
}

fn planned(plans: PlansSource, callers: &[(&str, Option<&str>, u64)]) -> Arc<Policy> {
    let caller = |(user, plan, times): &(&str, Option<&str>, u64)| CallerSource {
        plan: plan.map(str::to_owned),
        times: *times,
        ..CallerSource::new(Who::User((*user).to_owned()))
    };
    let rule = RuleSource::new("r", key(&["user"]), LimitSource::Plan("requests".to_owned()));
    let callers = callers.iter().map(caller).collect();
    Policy::compile(PolicySource { plans, callers, rules: vec![rule], ..PolicySource::default() }).unwrap()
}

#[test]
fn each_tier_takes_over_from_itself_and_what_is_gone_or_new_from_the_default() {
    let before =
        [("free", counter(5, SECOND)), ("pro", counter(50, MINUTE)), ("gold", counter(500, MINUTE * 2))];
    let callers = [("ada", Some("pro"), 1), ("eva", Some("gold"), 1), ("bob", None, 1)];
    let (engine, _) = engine(planned(tiers(&before, "free"), &callers));
    take(&engine, "ada", 20);
    take(&engine, "eva", 20);
    take(&engine, "bob", 2);
    take(&engine, "cleo", 2);
    // Gold is gone, silver is new, and all windows have changed.
    let after = [
        ("free", counter(30, MINUTE * 3)),
        ("pro", counter(70, MINUTE * 4)),
        ("silver", counter(40, MINUTE * 5)),
    ];
    let callers = [("ada", Some("pro"), 1), ("eva", None, 1), ("bob", None, 1), ("cleo", Some("silver"), 1)];
    engine.swap_policy(planned(tiers(&after, "free"), &callers));
    let left = ["ada", "eva", "bob", "cleo"].map(|user| passing(&engine, user));
    assert_eq!(left, [50, 10, 28, 38]);
    // A limit of the rule's own takes over from all of them.
    engine.swap_policy(of("r", &["user"], counter(100, MINUTE * 60)));
    assert_eq!(["ada", "eva", "bob", "cleo"].map(|user| passing(&engine, user)), [30, 70, 70, 60]);
    // And back.
    engine.swap_policy(planned(tiers(&[("free", counter(200, SECOND))], "free"), &[]));
    assert_eq!(passing(&engine, "ada"), 100);
}

#[test]
fn a_multiplier_takes_over_from_itself() {
    let bucket = |refill| Limit::token_bucket(10, Rate::new(refill, MINUTE)).unwrap();
    let callers = [("ada", None, 3), ("eva", None, 1)];
    let (engine, _) = engine(planned(tiers(&[("free", bucket(1))], "free"), &callers));
    take(&engine, "ada", 25);
    take(&engine, "eva", 5);
    engine.swap_policy(planned(tiers(&[("free", bucket(7))], "free"), &callers));
    assert_eq!((passing(&engine, "ada"), passing(&engine, "eva")), (5, 5));
    // Nobody has three times as much any more.
    engine.swap_policy(planned(tiers(&[("free", bucket(11))], "free"), &callers[1..]));
    assert_eq!((passing(&engine, "ada"), passing(&engine, "eva")), (0, 0));
}

#[test]
fn what_is_new_takes_over_from_the_default_though_that_goes_on() {
    let free = ("free", counter(50, MINUTE));
    let (engine, _) = engine(planned(tiers(&[free], "free"), &[("ada", None, 1), ("eva", None, 1)]));
    take(&engine, "ada", 20);
    take(&engine, "eva", 20);
    take(&engine, "bob", 20);
    // A new plan, and a new multiplier of a rate.
    let after = [free, ("silver", counter(100, MINUTE * 60))];
    engine.swap_policy(planned(tiers(&after, "free"), &[("ada", Some("silver"), 1), ("eva", None, 3)]));
    assert_eq!(["ada", "eva", "bob"].map(|user| passing(&engine, user)), [80, 130, 30]);
    let bucket = |refill| Limit::token_bucket(10, Rate::new(refill, MINUTE)).unwrap();
    let by = |times| planned(tiers(&[("free", bucket(1))], "free"), &[("ada", None, times)]);
    let (engine, _) = self::engine(by(1));
    take(&engine, "ada", 8);
    engine.swap_policy(by(3));
    assert_eq!(passing(&engine, "ada"), 22);
}

#[test]
fn tiers_that_are_alike_take_over_from_each_and_lose_nothing() {
    let before =
        [("free", counter(5, MINUTE)), ("pro", counter(50, MINUTE)), ("gold", counter(90, SECOND * 30))];
    let callers = [("ada", Some("pro"), 1), ("eva", Some("gold"), 1), ("bob", None, 1)];
    for alike in [
        planned(
            tiers(&["free", "pro", "gold"].map(|name| (name, counter(100, MINUTE * 60))), "free"),
            &callers,
        ),
        of("r", &["user"], counter(100, MINUTE * 60)),
    ] {
        let (engine, _) = engine(planned(tiers(&before, "free"), &callers));
        take(&engine, "ada", 40);
        take(&engine, "eva", 70);
        take(&engine, "bob", 3);
        engine.swap_policy(alike);
        // Free and pro counted by the same keys, of which the larger limit knows all.
        assert_eq!(["ada", "eva", "bob"].map(|user| passing(&engine, user)), [60, 30, 97]);
    }
}

/// The keys of a caller's old limit may be those of another tier's new one.
#[test]
fn callers_take_over_what_was_theirs_wherever_it_is() {
    let callers = |plan| [("ada", plan, 1)];
    let before = tiers(&[("free", counter(5, SECOND)), ("pro", counter(50, MINUTE))], "free");
    let (engine, _) = engine(planned(before, &callers(Some("pro"))));
    take(&engine, "ada", 40);
    let after = tiers(&[("free", counter(60, MINUTE)), ("pro", counter(50, MINUTE * 60))], "free");
    engine.swap_policy(planned(after, &callers(Some("pro"))));
    assert_eq!((passing(&engine, "ada"), carried(&engine)), (10, 1), "by the minute, which is now free's");
}
