//! What requests cost in the end.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cupo_core::{
    Action, ChargeSource, CostSource, Engine, Limit, Observer, OnStoreError, Outcome, Policy, PolicySource,
    Problem, Rate, ResponseAttributes, Rule, RuleSource, Settlement, StoreError,
};
use cupo_testkit::conformance::ReferenceStore;

use crate::support::{Ask, MINUTE, TestEngine, engine, key, passes, ready, rule, shaped};

/// A response with this status, and a header `x-cost`.
struct Said(Option<u16>, Option<&'static str>);

impl ResponseAttributes for Said {
    fn status(&self) -> Option<u16> {
        self.0
    }

    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.1.filter(|_| name == "x-cost").map(|value| Cow::Borrowed(value.as_bytes()))
    }
}

fn open(reserve: u64) -> CostSource {
    CostSource::Response { header: "x-cost".to_owned(), reserve }
}

fn costing(name: &str, count: u64, cost: CostSource) -> RuleSource {
    RuleSource { cost, ..rule(name, &["global"], count) }
}

fn charged_on(name: &str, count: u64, statuses: &[u16]) -> RuleSource {
    let charge = ChargeSource::OnResponse(statuses.iter().map(|&status| status..=status).collect());
    RuleSource { charge, ..rule(name, &["global"], count) }
}

fn decide(engine: &TestEngine, ask: &Ask) -> Outcome {
    ready(engine.decide(ask)).unwrap()
}

fn settle(engine: &TestEngine, outcome: &Outcome, said: &Said) -> u64 {
    ready(engine.settle(&outcome.settled_by(said))).unwrap()
}

/// What is left of each rule's limit, as a peek sees it.
fn left(engine: &TestEngine) -> Vec<u64> {
    let peek = decide(engine, &Ask { cost: Some(0), ..Ask::default() });
    peek.decisions().map(|ruling| ruling.decision.remaining).collect()
}

#[test]
fn the_response_says_what_a_request_cost() {
    for (said, remaining) in [
        (Some("3"), 97),
        (Some("0"), 100),
        (Some("10"), 90),
        (Some("25"), 75),
        (Some(" 25 "), 75),
        (Some("100"), 0),
        // What does not say it in whole units leaves the reservation.
        (None, 90),
        (Some(""), 90),
        (Some("-3"), 90),
        (Some("2.5"), 90),
        (Some("3, 4"), 90),
        // There is no debt.
        (Some("101"), 0),
        (Some("340282366920938463463374607431768211456"), 0),
    ] {
        let (engine, _) = engine([costing("r", 100, open(10))]);
        let outcome = decide(&engine, &Ask::default());
        assert!(outcome.awaits_response());
        assert_eq!(left(&engine), [90], "reserved");
        settle(&engine, &outcome, &Said(Some(200), said));
        assert_eq!(left(&engine), [remaining], "{said:?}");
    }
}

#[test]
fn what_finds_no_room_is_told_and_nobody_pays_it() {
    let (engine, clock) = engine([costing("r", 20, open(10))]);
    let (first, second) = (decide(&engine, &Ask::default()), decide(&engine, &Ask::default()));
    assert_eq!(settle(&engine, &first, &Said(Some(200), Some("17"))), 7);
    assert_eq!(settle(&engine, &second, &Said(Some(200), Some("6"))), 0);
    assert_eq!(left(&engine), [4]);
    clock.advance(MINUTE);
    assert_eq!(left(&engine), [20], "a debt would be here still");
}

#[test]
fn only_these_statuses_are_charged() {
    let (engine, _) = engine([charged_on("logins", 3, &[401, 403])]);
    for (status, remaining) in
        [(200, [3]), (401, [2]), (302, [2]), (500, [2]), (404, [2]), (403, [1]), (200, [1]), (401, [0])]
    {
        let outcome = decide(&engine, &Ask::default());
        assert!(outcome.is_admitted() && outcome.awaits_response());
        settle(&engine, &outcome, &Said(Some(status), None));
        assert_eq!(left(&engine), remaining, "{status}");
    }
    assert!(!passes(&engine, &Ask::default()));
}

#[test]
fn side_by_side_no_more_than_the_limit_can_be_wrong() {
    let (engine, _) = engine([charged_on("logins", 3, &[401])]);
    let open: Vec<Outcome> = (0..10).map(|_| decide(&engine, &Ask::default())).collect();
    let (admitted, denied): (Vec<_>, Vec<_>) = open.iter().partition(|outcome| outcome.is_admitted());
    assert_eq!((admitted.len(), denied.len()), (3, 7));
    // A denied one was charged nothing, and gives nothing back.
    for outcome in denied {
        assert!(!outcome.awaits_response() && outcome.settled_by(&Said(Some(200), None)).is_empty());
        assert!(outcome.undone().is_empty());
    }
    settle(&engine, admitted[0], &Said(Some(200), None));
    assert!(passes(&engine, &Ask::default()), "the right one made room");
    assert!(!passes(&engine, &Ask::default()));
    // A response without a status is none.
    settle(&engine, admitted[1], &Said(None, None));
    assert_eq!(left(&engine), [0]);
}

#[test]
fn cost_and_charge_go_together() {
    let mut both = costing("both", 100, open(10));
    both.charge = ChargeSource::OnResponse([500..=599].into_iter().collect());
    let (engine, _) = engine([both]);
    for (status, said, remaining) in [
        (200, Some("7"), 100),
        (200, None, 100),
        (503, Some("7"), 93),
        (500, None, 83),
        (599, Some("20"), 63),
    ] {
        let outcome = decide(&engine, &Ask::default());
        settle(&engine, &outcome, &Said(Some(status), said));
        assert_eq!(left(&engine), [remaining], "{status} {said:?}");
    }
}

#[test]
fn rules_settle_each_for_itself_and_the_others_stay() {
    let (engine, clock) = engine([
        rule("requests", &["global"], 50),
        costing("work", 100, open(10)),
        charged_on("wrong", 9, &[401]),
    ]);
    let outcome = decide(&engine, &Ask::default());
    assert_eq!(left(&engine), [49, 90, 8]);
    let settling = outcome.settled_by(&Said(Some(200), Some("4")));
    assert_eq!(settling.settlements().len(), 2);
    ready(engine.settle(&settling)).unwrap();
    assert_eq!(left(&engine), [49, 96, 9]);
    // One that was certainly not served gives back what waited for the response.
    let outcome = decide(&engine, &Ask::default());
    ready(engine.settle(&outcome.not_served())).unwrap();
    assert_eq!(left(&engine), [48, 96, 9]);
    // One without a response leaves with its window.
    decide(&engine, &Ask::default());
    clock.advance(Duration::from_secs(59));
    assert_eq!(left(&engine), [47, 86, 8]);
    clock.advance(Duration::from_secs(1));
    assert_eq!(left(&engine), [50, 100, 9]);
}

#[test]
fn a_rule_that_only_watches_settles_too_and_a_policy_that_does_not_wait_settles_nothing() {
    let shadow = RuleSource { action: Action::Shadow, ..costing("s", 20, open(10)) };
    let (with, _) = engine([rule("r", &["global"], 9), shadow]);
    for remaining in [10, 17 - 10, 14 - 10] {
        let outcome = decide(&with, &Ask::default());
        let seen = outcome.shadow_decisions().next().unwrap().decision;
        assert_eq!(seen.remaining, remaining);
        settle(&with, &outcome, &Said(Some(200), Some("3")));
    }
    let outcome = decide(&with, &Ask::default());
    assert!(outcome.shadow_decisions().next().unwrap().decision.is_admitted());
    // The next would be denied, was charged nothing, and gives nothing back.
    let denied = decide(&with, &Ask::default());
    assert!(!denied.shadow_decisions().next().unwrap().decision.is_admitted());
    assert!(!denied.awaits_response() && denied.not_served().is_empty());

    let (without, _) = engine([rule("r", &["global"], 9)]);
    let outcome = decide(&without, &Ask::default());
    assert!(!outcome.awaits_response() && outcome.settled_by(&Said(Some(401), Some("5"))).is_empty());
}

#[test]
fn the_request_says_what_it_costs_if_somebody_vouches_for_it() {
    let cost = |default| CostSource::Request { header: "x-cost".to_owned(), max: 20, default };
    for (default, said, charged) in [
        (20, &[("vouched:x-cost", "7")][..], 7),
        (20, &[("vouched:x-cost", "20")], 20),
        (20, &[("vouched:x-cost", "21")], 20),
        (20, &[("vouched:x-cost", "99999999999999999999999")], 20),
        (20, &[("vouched:x-cost", "0")], 1),
        (20, &[("vouched:x-cost", "much")], 20),
        (20, &[("header:x-cost", "7")], 20),
        (20, &[], 20),
        (2, &[], 2),
        (2, &[("header:x-cost", "0")], 2),
        (2, &[("vouched:x-cost", "-1")], 2),
    ] {
        let (engine, _) = engine([costing("r", 100, cost(default))]);
        let outcome = decide(&engine, &Ask { named: said.to_vec(), ..Ask::default() });
        assert!(!outcome.awaits_response());
        assert_eq!(left(&engine), [100 - charged], "{default} {said:?}");
    }
}

#[test]
fn a_body_costs_a_unit_for_each_started_part() {
    for (body_bytes, charged) in [
        (Some(0), 1),
        (Some(1), 1),
        (Some(1_024), 1),
        (Some(1_025), 2),
        (Some(9 * 1_024), 9),
        (Some(9 * 1_024 + 1), 10),
        (Some(u64::MAX), 10),
        (None, 10),
    ] {
        let (engine, _) = engine([costing("r", 100, CostSource::Body { unit: 1_024, max: 10 })]);
        decide(&engine, &Ask { body_bytes, ..Ask::default() });
        assert_eq!(left(&engine), [100 - charged], "{body_bytes:?}");
    }
}

#[test]
fn what_is_wrong_with_costs_is_told_where_it_is() {
    let problems = |rule: RuleSource| {
        let source = PolicySource { rules: vec![rule], replicas: 4, ..PolicySource::default() };
        let errors = Policy::compile(source).map_or_else(|errors| errors.0, |_| Vec::new());
        errors.into_iter().map(|error| (error.path, error.problem)).collect::<Vec<_>>()
    };
    let told =
        |rule, path: &str, problem| assert_eq!(problems(rule), [(format!("rules[0].{path}"), problem)]);
    let request = |max, default| CostSource::Request { header: "x-cost".to_owned(), max, default };
    told(costing("r", 9, open(0)), "cost.reserve", Problem::ZeroReserve);
    told(costing("r", 9, open(10)), "cost.reserve", Problem::CostAboveQuota { cost: 10, quota: 9 });
    told(costing("r", 9, request(10, 1)), "cost.max", Problem::CostAboveQuota { cost: 10, quota: 9 });
    told(costing("r", 9, request(5, 0)), "cost.default", Problem::ZeroCost);
    told(costing("r", 9, request(5, 6)), "cost.default", Problem::DefaultAboveMax { default: 6, max: 5 });
    told(costing("r", 9, CostSource::Body { unit: 0, max: 5 }), "cost.body", Problem::ZeroUnit);
    told(costing("r", 9, CostSource::Body { unit: 1, max: 0 }), "cost.max", Problem::ZeroCost);
    let header = CostSource::Response { header: "X-Cost".to_owned(), reserve: 1 };
    told(costing("r", 9, header), "cost.header", Problem::HeaderName("X-Cost".to_owned()));
    told(charged_on("r", 9, &[]), "charge.when.status", Problem::NoStatuses);
    told(charged_on("r", 9, &[99]), "charge.when.status", Problem::Status { from: 99, to: 99 });
    told(charged_on("r", 9, &[600]), "charge.when.status", Problem::Status { from: 600, to: 600 });
    let held = RuleSource { cost: open(1), ..shaped("held", 3) };
    told(held, "cost", Problem::SettleInSlots);
    let leaky = Limit::leaky_bucket(Rate::new(1, MINUTE), 3).unwrap();
    let leaky =
        RuleSource { charge: charged_on("", 1, &[401]).charge, ..RuleSource::new("r", key(&["ip"]), leaky) };
    told(leaky, "charge", Problem::SettleInSlots);
    let local = RuleSource { on_store_error: OnStoreError::Local, ..costing("r", 20, open(6)) };
    told(local.clone(), "cost.reserve", Problem::CostAboveShare { cost: 6, share: 5 });
    assert_eq!(problems(RuleSource { cost: open(5), ..local }), []);
    assert_eq!(problems(costing("r", 0, open(5))), [], "a limit of 0 blocks everything, whatever that costs");
}

/// Sums of what it is told.
#[derive(Default)]
struct Told {
    settled: AtomicU64,
    uncovered: AtomicU64,
    unknown: AtomicU64,
}

impl Observer for Told {
    fn decided(&self, _: &Outcome) {}
    fn store_failed(&self, _: &StoreError) {}
    fn settled(&self, rule: &Rule, settlement: &Settlement, uncovered: u64) {
        assert_eq!(rule.name(), "r");
        self.settled.fetch_add(settlement.actual, Ordering::SeqCst);
        self.uncovered.fetch_add(uncovered, Ordering::SeqCst);
    }
    fn cost_unknown(&self, rule: &Rule) {
        assert_eq!(rule.name(), "r");
        self.unknown.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn the_observer_is_told() {
    let told = Arc::new(Told::default());
    let rules = vec![costing("r", 20, open(5))];
    let policy = Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap();
    let engine = Engine::new(policy, ReferenceStore::default()).with_observer(Arc::clone(&told));
    for said in [Some("3"), Some("5"), Some("30"), None] {
        let outcome = ready(engine.decide(&Ask::default())).unwrap();
        ready(engine.settle(&outcome.settled_by(&Said(Some(200), said)))).unwrap();
    }
    // The last was not admitted: nothing is left.
    let figures = [&told.settled, &told.uncovered, &told.unknown].map(|figure| figure.load(Ordering::SeqCst));
    assert_eq!(figures, [33, 30 - 12, 0]);
    let told = Arc::new(Told::default());
    let policy = engine.policy();
    let engine = Engine::new(policy, ReferenceStore::default()).with_observer(Arc::clone(&told));
    let outcome = ready(engine.decide(&Ask::default())).unwrap();
    ready(engine.settle(&outcome.settled_by(&Said(Some(200), None)))).unwrap();
    assert_eq!(told.unknown.load(Ordering::SeqCst), 1);
}

#[test]
fn a_reservation_is_committed_refunded_or_dropped() {
    let (engine, clock) = engine([rule("requests", &["global"], 50), costing("work", 100, open(10))]);
    let engine = Arc::new(engine);
    let reserve = || ready(engine.reserve(&Ask::default())).unwrap();
    let reservation = reserve();
    assert!(reservation.outcome().is_admitted());
    assert_eq!(left(&engine), [49, 90]);
    assert_eq!(ready(reservation.commit(4)).unwrap(), 0);
    assert_eq!(left(&engine), [49, 96]);
    ready(reserve().refund()).unwrap();
    assert_eq!(left(&engine), [49, 96]);
    drop(reserve());
    assert_eq!(left(&engine), [49, 96]);
    // A future that nobody waits for is no commitment.
    drop(reserve().commit(4));
    assert_eq!(left(&engine), [49, 96]);
    assert!(reserve().keep().is_admitted());
    assert_eq!(left(&engine), [48, 86]);
    assert_eq!(ready(reserve().commit_by(&Said(Some(200), Some("1")))).unwrap(), 0);
    assert_eq!(left(&engine), [47, 85]);
    assert_eq!(ready(reserve().commit(200)).unwrap(), 200 - 85);
    assert_eq!(left(&engine), [46, 0]);
    // Nothing is held by one that is not admitted.
    let denied = reserve();
    assert!(!denied.outcome().is_admitted());
    drop(denied);
    assert_eq!(left(&engine), [46, 0]);
    clock.advance(MINUTE);
    // Late, there is nothing to give back.
    let late = reserve();
    clock.advance(MINUTE);
    drop(late);
    assert_eq!(left(&engine), [50, 100]);
}
