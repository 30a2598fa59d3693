//! Plans, and what is said of single callers.

use std::sync::Arc;
use std::time::Duration;

use cupo_core::{
    Action, CallerSource, Check, CheckItem, Engine, Entry, Executed, KeySecret, Limit, LimitSource,
    ManualClock, MatchSource, OnMissing, OnStoreError, PlanFrom, PlansSource, Policy, PolicySource, Preview,
    Problem, Rate, RuleSource, Settled, Settlement, Store, StoreError, TierSource, Timestamp, Uncovered, Who,
};
use cupo_testkit::conformance::ReferenceStore;

use crate::support::{Ask, MINUTE, TestEngine, engine_of, key, passes, ready, rule};

fn log(count: u64) -> Limit {
    Limit::sliding_window_log(count, MINUTE).unwrap()
}

fn tier(name: &str, requests: Option<Limit>) -> TierSource {
    TierSource { name: name.to_owned(), numbers: vec![("requests".to_owned(), requests)] }
}

/// free: 2, premium: 4, internal: unlimited; said in all three ways.
fn plans() -> PlansSource {
    PlansSource {
        tiers: vec![tier("free", Some(log(2))), tier("premium", Some(log(4))), tier("internal", None)],
        from: vec![
            PlanFrom::Callers,
            PlanFrom::Claim("plan".to_owned()),
            PlanFrom::Header("x-plan".to_owned()),
        ],
        default: "free".to_owned(),
    }
}

fn by_plan(name: &str, parts: &[&str]) -> RuleSource {
    RuleSource::new(name, key(parts), LimitSource::Plan("requests".to_owned()))
}

fn source(callers: Vec<CallerSource>) -> PolicySource {
    let rules = vec![by_plan("tiered", &["api_key | user | ip"])];
    PolicySource { plans: plans(), callers, rules, ..PolicySource::default() }
}

fn user(name: &str) -> CallerSource {
    CallerSource::new(Who::User(name.to_owned()))
}

fn ask(user: &'static str) -> Ask {
    Ask { user: Some(user), ..Ask::default() }
}

/// A store that never decides.
pub(crate) struct Gone;

impl Store for Gone {
    async fn check(&self, _: &Check, _: Timestamp) -> Result<Executed, StoreError> {
        Err(StoreError::Timeout)
    }

    async fn preview(&self, _: &Check, _: Timestamp) -> Result<Preview, StoreError> {
        Err(StoreError::Timeout)
    }

    async fn cancel(&self, _: &CheckItem, _: Timestamp, _: Timestamp) -> Result<(), StoreError> {
        Err(StoreError::Timeout)
    }

    async fn carry(&self, _: &CheckItem, _: &CheckItem, _: Timestamp) -> Result<(), StoreError> {
        Err(StoreError::Timeout)
    }

    async fn settle(&self, _: &[Settlement], _: Timestamp) -> Result<Uncovered, StoreError> {
        Err(StoreError::Timeout)
    }
}

/// How many of the caller's requests pass, of twenty.
fn passing(engine: &TestEngine, ask: &Ask) -> usize {
    (0..20).filter(|_| passes(engine, ask)).count()
}

fn problems(source: PolicySource) -> Vec<(String, Problem)> {
    let errors = Policy::compile(source).unwrap_err().0;
    errors.into_iter().map(|error| (error.path, error.problem)).collect()
}

#[test]
fn the_first_source_that_names_a_known_tier_counts() {
    let premium = CallerSource { plan: Some("premium".to_owned()), ..user("listed") };
    let only_times = CallerSource { times: 1, ..user("unsaid") };
    let (engine, _) = engine_of(source(vec![premium, only_times]));
    for (who, named, expected) in [
        ("nobody", &[][..], 2),
        ("a", &[("claim:plan", "premium")], 4),
        ("b", &[("claim:plan", " premium ")], 4),
        ("c", &[("vouched:x-plan", "premium")], 4),
        ("d", &[("claim:plan", "internal"), ("vouched:x-plan", "premium")], 20),
        // What is unknown is not said.
        ("e", &[("claim:plan", "gold"), ("vouched:x-plan", "premium")], 4),
        ("f", &[("claim:plan", "Premium")], 2),
        ("g", &[("claim:plan", "")], 2),
        // What anybody can write says nothing.
        ("h", &[("header:x-plan", "premium")], 2),
        ("listed", &[("claim:plan", "internal")], 4),
        ("unsaid", &[("claim:plan", "premium")], 4),
    ] {
        let ask = Ask { named: named.to_vec(), ..ask(who) };
        assert_eq!(passing(&engine, &ask), expected, "{who} {named:?}");
    }
}

#[test]
fn a_caller_who_changes_tier_keeps_what_was_counted() {
    let (engine, _) = engine_of(source(Vec::new()));
    let on = |plan: &'static str| Ask { named: vec![("claim:plan", plan)], ..ask("alice") };
    assert_eq!(passing(&engine, &on("free")), 2);
    assert_eq!(passing(&engine, &on("premium")), 2, "two of the four are used");
    assert_eq!(passing(&engine, &on("free")), 0);
    assert_eq!(passing(&engine, &on("internal")), 20);
    assert_eq!(passing(&engine, &on("premium")), 0);
}

#[test]
fn two_tiers_with_other_windows_do_not_wipe_each_other_out() {
    let hour = Limit::fixed_window(2, MINUTE * 60).unwrap();
    let minute = Limit::fixed_window(3, MINUTE).unwrap();
    let tiers = vec![tier("slow", Some(hour)), tier("fast", Some(minute))];
    let plans =
        PlansSource { tiers, from: vec![PlanFrom::Claim("plan".to_owned())], default: "slow".to_owned() };
    let rules = vec![by_plan("r", &["user"])];
    let (engine, clock) = engine_of(PolicySource { plans, rules, ..PolicySource::default() });
    clock.set(Timestamp::from_micros(1_760_000_400_000_000));
    let on = |plan: &'static str| Ask { named: vec![("claim:plan", plan)], ..ask("alice") };
    let mut passed = 0;
    for _ in 0..10 {
        passed += usize::from(passes(&engine, &on("slow"))) + usize::from(passes(&engine, &on("fast")));
    }
    assert_eq!(passed, 5, "no more than both together");
}

#[test]
fn a_rule_may_have_numbers_of_its_own() {
    let rules = vec![by_plan("tiered", &["user"]), rule("own", &["user"], 3)];
    let (engine, _) = engine_of(PolicySource { plans: plans(), rules, ..PolicySource::default() });
    let on = |who, plan| Ask { named: vec![("claim:plan", plan)], ..ask(who) };
    assert_eq!(passing(&engine, &on("a", "free")), 2);
    assert_eq!(passing(&engine, &on("b", "premium")), 3);
    assert_eq!(passing(&engine, &on("c", "internal")), 3, "the own limit holds for everybody");
}

#[test]
fn times_multiplies_what_a_caller_may() {
    let five = CallerSource { times: 5, ..user("five") };
    let three = CallerSource { times: 3, plan: Some("premium".to_owned()), ..user("three") };
    let also_five = CallerSource { times: 5, ..user("also-five") };
    let mut source = source(vec![five, three, also_five]);
    source.rules.push(rule("all", &["global"], 4));
    source.rules[1].matches.path = Some("/all".to_owned());
    let (engine, _) = engine_of(source);
    for (who, expected) in [("other", 2), ("five", 10), ("three", 12), ("also-five", 10)] {
        assert_eq!(passing(&engine, &ask(who)), expected, "{who}");
    }
    // Of a counter that all share, each may fill it as far as is his.
    let at_all = |who| Ask { path: Some("/all"), ..ask(who) };
    assert_eq!(passing(&engine, &at_all("third")), 2);
    assert_eq!(passing(&engine, &at_all("fourth")), 2);
    assert_eq!(passing(&engine, &at_all("fifth")), 0, "the four are used");
}

#[test]
fn blocked_callers_are_refused_and_unlimited_ones_pass_uncounted() {
    let blocked = CallerSource { blocked: true, plan: Some("internal".to_owned()), ..user("mallory") };
    let free = CallerSource { unlimited: true, ..user("monitor") };
    let mut source = source(vec![blocked, free]);
    // Neither is asked for what it lacks.
    source.rules.push(RuleSource { on_missing: OnMissing::Deny, ..rule("host", &["host"], 1) });
    let (engine, _) = engine_of(source);

    let outcome = ready(engine.decide(&ask("mallory"))).unwrap();
    assert!(!outcome.is_admitted() && outcome.retry_after().is_none() && outcome.lacks().is_none());
    assert_eq!(outcome.settled(), Some(&Settled::Blocked(Entry::Caller("callers[0]".into()))));
    assert_eq!((outcome.decisions().count(), outcome.binding().is_none()), (0, true));

    let monitor = Ask { host: Some("h"), ..ask("monitor") };
    for _ in 0..20 {
        let outcome = ready(engine.decide(&monitor)).unwrap();
        assert_eq!(outcome.settled(), Some(&Settled::Allowed(Entry::Caller("callers[1]".into()))));
        assert!(outcome.is_admitted() && outcome.decisions().count() == 0);
    }
    let other = Ask { host: Some("h"), ..ask("other") };
    let outcome = ready(engine.decide(&other)).unwrap();
    assert!(outcome.is_admitted() && outcome.settled().is_none(), "nothing was counted for others");
}

#[test]
fn the_key_counts_before_the_user_and_the_user_before_the_address() {
    let hash = Policy::compile(source(Vec::new())).unwrap().hash_api_key(b"k-1").unwrap();
    let by_key = CallerSource { times: 2, ..CallerSource::new(Who::ApiKey(hash)) };
    let by_user = CallerSource { times: 3, ..user("alice") };
    let network =
        |text: &str, times| CallerSource { times, ..CallerSource::new(Who::Network(text.parse().unwrap())) };
    let (engine, _) =
        engine_of(source(vec![network("192.0.2.0/24", 4), by_user, by_key, network("192.0.2.7/32", 5)]));
    let from = |address: &str, api_key, user| Ask { api_key, user, ..Ask::from(address) };
    for (ask, expected) in [
        (from("192.0.2.7", Some("k-1"), Some("alice")), 4),
        // A key that nobody knows is no way around what is said of the user.
        (from("192.0.2.7", Some("made-up"), Some("alice")), 6),
        (from("192.0.2.7", Some("k-2"), Some("bob")), 10),
        (from("192.0.2.8", None, None), 8),
        (from("198.51.100.1", None, None), 2),
    ] {
        assert_eq!(passing(&engine, &ask), expected, "{ask:?}");
    }
}

#[test]
fn keys_are_hashed_under_the_secret_everywhere() {
    let secret = Some(KeySecret::new(b"0123456789abcdef").unwrap());
    let plain = Policy::compile(source(Vec::new())).unwrap();
    let mut keyed = PolicySource { api_key_secret: secret, ..source(Vec::new()) };
    let hash = Policy::compile(keyed.clone()).unwrap().hash_api_key(b" k-1 ").unwrap();
    assert_ne!(Some(hash), plain.hash_api_key(b"k-1"));
    assert_eq!(plain.hash_api_key(b" "), None);
    keyed.callers = vec![CallerSource { times: 2, ..CallerSource::new(Who::ApiKey(hash)) }];
    keyed.rules.push(rule("cookie", &["cookie(session)"], 100));
    let shown = format!("{keyed:?}");
    assert!(!shown.contains("0123456789abcdef") && !shown.contains("48, 49, 50"), "{shown}");

    let (engine, _) = engine_of(keyed.clone());
    let with_key = Ask { api_key: Some("k-1"), named: vec![("cookie:session", "s")], ..Ask::default() };
    let outcome = ready(engine.decide(&with_key)).unwrap();
    let keys: Vec<_> = outcome.decisions().map(|ruling| ruling.key.clone()).collect();
    assert!(keys[0].as_bytes().ends_with(&hash.0), "the hash of the list is that of the counter");
    assert_eq!(passing(&engine, &with_key), 3);

    let (other, _) = engine_of(PolicySource { api_key_secret: None, ..keyed });
    let outcome = ready(other.decide(&with_key)).unwrap();
    let others: Vec<_> = outcome.decisions().map(|ruling| ruling.key.clone()).collect();
    assert!(keys.iter().zip(&others).all(|(one, other)| one != other), "{keys:?} {others:?}");
}

#[test]
fn shares_are_those_of_the_tier_and_of_the_caller() {
    let source = PolicySource {
        replicas: 2,
        callers: vec![CallerSource { times: 10, ..user("ten") }],
        ..source(Vec::new())
    };
    let mut source = source;
    source.rules[0].on_store_error = OnStoreError::Local;
    let engine = Engine::new(Policy::compile(source).unwrap(), Gone)
        .with_clock(ManualClock::at(Timestamp::from_micros(1_760_000_000_000_000)))
        .with_fallback(Arc::new(ReferenceStore::default()));
    let on = |who, plan| Ask { named: vec![("claim:plan", plan)], ..ask(who) };
    for (ask, expected) in
        [(on("a", "free"), 1), (on("b", "premium"), 2), (on("c", "internal"), 20), (on("ten", "free"), 10)]
    {
        let passed = (0..20).filter(|_| ready(engine.decide(&ask)).unwrap().is_admitted()).count();
        assert_eq!(passed, expected, "{ask:?}");
    }
}

#[test]
fn a_policy_without_plans_tells_none_and_one_with_plans_all() {
    let plain = crate::support::policy([rule("r", &["ip"], 3)]);
    assert_eq!((plain.tiers().count(), plain.default_tier(), plain.callers()), (0, None, 0));
    assert!(plain.plan_from().is_empty() && !plain.rules()[0].is_by_tier());
    assert_eq!(plain.rules()[0].limits().collect::<Vec<_>>(), [Some(&log(3))]);

    let policy = Policy::compile(source(vec![CallerSource { times: 7, ..user("a") }])).unwrap();
    assert_eq!(policy.tiers().collect::<Vec<_>>(), ["free", "premium", "internal"]);
    assert_eq!((policy.default_tier(), policy.callers()), (Some("free"), 1));
    assert_eq!(policy.plan_from(), plans().from);
    let rule = &policy.rules()[0];
    assert!(rule.is_by_tier());
    assert_eq!(rule.limits().collect::<Vec<_>>(), [Some(&log(2)), Some(&log(4)), None]);
    assert_eq!(rule.shares().len(), 3);
}

#[test]
fn what_is_wrong_is_told_where_it_is() {
    let told = |change: &dyn Fn(&mut PolicySource)| {
        let mut source = source(vec![user("a"), user("b")]);
        change(&mut source);
        problems(source)
    };
    let one = |change: &dyn Fn(&mut PolicySource)| match told(change).as_slice() {
        [(path, problem)] => (path.clone(), problem.clone()),
        several => panic!("{several:?}"),
    };
    let (path, problem) = one(&|s| s.plans.default = "gold".to_owned());
    assert!(path == "plan.default" && matches!(problem, Problem::UnknownPlan { .. }));
    let (path, problem) = one(&|s| s.plans.tiers[1].numbers.clear());
    assert_eq!(path, "plans.premium.requests");
    assert!(
        matches!(problem, Problem::TierLacks { tier, number, .. } if tier == "premium" && number == "requests")
    );
    let (path, problem) = one(&|s| s.rules[0].limit = LimitSource::Plan("burst".to_owned()));
    assert!(path == "rules[0].limit.plan" && matches!(problem, Problem::UnknownNumber { .. }));
    let (path, problem) = one(&|s| s.callers[1].times = 1 << 53);
    assert!(path == "callers[1].times" && matches!(problem, Problem::Times { .. }), "{path} {problem}");
    let (path, problem) = one(&|s| s.callers[1].times = 0);
    assert_eq!((path.as_str(), problem), ("callers[1].times", Problem::ZeroTimes));
    let (path, problem) = one(&|s| s.callers[1] = CallerSource { times: 2, ..user("a") });
    assert_eq!((path.as_str(), problem), ("callers[1]", Problem::CallerTwice { first: 0 }));
    let (path, problem) = one(&|s| s.callers[1].plan = Some("gold".to_owned()));
    assert!(path == "callers[1].plan" && matches!(problem, Problem::UnknownPlan { .. }));
    let (path, problem) = one(&|s| {
        s.plans.from.remove(0);
        s.callers[0].plan = Some("free".to_owned());
    });
    assert_eq!((path.as_str(), problem), ("callers[0].plan", Problem::CallersNotAsked));
    let (path, problem) = one(&|s| {
        (s.callers[0].blocked, s.callers[0].unlimited) = (true, true);
    });
    assert_eq!((path.as_str(), problem), ("callers[0].unlimited", Problem::BlockedAndUnlimited));
    assert_eq!(one(&|s| s.callers[0] = user("")).1, Problem::EmptyUser);
    let (path, problem) = one(&|s| s.plans.tiers[1].name = "a.b".to_owned());
    assert_eq!((path.as_str(), problem), ("plans.a.b", Problem::PlanName("a.b".to_owned())));
    let (path, problem) = one(&|s| s.plans.from.push(PlanFrom::Header("X-Plan".to_owned())));
    assert!(path == "plan.from[3]" && matches!(problem, Problem::HeaderName(_)));
    assert_eq!(one(&|s| s.plans.from.push(PlanFrom::Claim(String::new()))).1, Problem::EmptyClaim);
    let (path, problem) = one(&|s| s.rules[0].cost = 3.into());
    assert_eq!((path.as_str(), problem), ("rules[0].cost", Problem::CostAboveQuota { cost: 3, quota: 2 }));
    let (path, problem) = one(&|s| s.rules[0].action = Action::Delay);
    assert_eq!((path.as_str(), problem), ("rules[0].action", Problem::DelayWithoutSlots));
    let (path, problem) = one(&|s| {
        s.plans = PlansSource { tiers: Vec::new(), ..plans() };
        s.rules[0].limit = log(1).into();
    });
    assert_eq!((path.as_str(), problem), ("plan", Problem::NoPlans));
    let many = (2..102).map(|times| CallerSource { times, ..user(&format!("u{times}")) }).collect::<Vec<_>>();
    assert_eq!(one(&|s| s.callers.clone_from(&many)).1, Problem::ManyTimes { most: 100 });
    assert!(Policy::compile(source(many[..99].to_vec())).is_ok());
}

#[test]
fn a_share_or_a_product_out_of_range_is_told_once() {
    let rate = Rate::new(1, Duration::from_secs(86_400 * 20_000));
    let bucket = Limit::token_bucket(1, rate).unwrap();
    let mut source = source(vec![CallerSource { times: 1 << 40, ..user("a") }]);
    source.plans.tiers[0].numbers[0].1 = Some(bucket);
    for name in ["b", "c"] {
        source.rules.push(by_plan(name, &["ip"]));
    }
    let times = problems(source.clone());
    assert!(
        matches!(times.as_slice(), [(path, Problem::Times { .. })] if path == "callers[0].times"),
        "{times:?}"
    );
    source.callers.clear();
    source.replicas = 100_000;
    source.rules.iter_mut().for_each(|rule| rule.on_store_error = OnStoreError::Local);
    let shares = problems(source);
    assert!(
        matches!(shares.as_slice(), [(path, Problem::Share(_))] if path == "plans.free.requests"),
        "{shares:?}"
    );
}

#[test]
fn rules_may_be_for_the_callers_of_a_plan() {
    let on = |names: &[&str]| MatchSource {
        plans: names.iter().map(ToString::to_string).collect(),
        ..MatchSource::default()
    };
    let only = |name: &str, matches| RuleSource { matches, ..rule(name, &["global"], 1_000) };
    let rules = vec![
        only("paying", on(&["premium", "internal"])),
        only("free", on(&["free"])),
        only("not-free", MatchSource { not: vec![on(&["free"])], ..MatchSource::default() }),
    ];
    let callers = vec![CallerSource { plan: Some("premium".to_owned()), ..user("ada") }];
    let (engine, _) = engine_of(PolicySource { plans: plans(), callers, rules, ..PolicySource::default() });
    let said = engine.policy().rules()[0].describe_match();
    assert_eq!(said, "every request on the plan premium or internal");
    let met = |ask: &Ask| {
        let outcome = ready(engine.decide(ask)).unwrap();
        outcome.decisions().map(|ruling| ruling.rule.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(met(&ask("ada")), ["paying", "not-free"]);
    assert_eq!(met(&ask("bob")), ["free"], "the default plan");
    let wrong = |plans, matches| {
        let rules = vec![only("r", matches)];
        let source = PolicySource { plans, rules, ..PolicySource::default() };
        Policy::compile(source).unwrap_err().0.remove(0)
    };
    let unknown = wrong(plans(), on(&["free", "Premium"]));
    assert_eq!(unknown.path, "rules[0].match.plan[1]");
    assert!(matches!(unknown.problem, Problem::UnknownPlan { name, .. } if name == "Premium"));
    assert_eq!(wrong(PlansSource::default(), on(&["free"])).problem, Problem::NoPlans);
}

/// A count that is too large for microseconds is counted in milliseconds; so are then the smaller ones beside it.
#[test]
fn callers_with_several_multipliers_share_a_key_whatever_its_ticks() {
    let days = |days: u64| Duration::from_secs(86_400 * days);
    for (count, window) in [(100, days(100)), (100, days(1_000)), (100, days(2_000))] {
        let limit = Limit::sliding_window_counter(count, window).unwrap();
        let triple = CallerSource { times: 3, ..user("big") };
        let rules = vec![RuleSource::new("all", key(&["global"]), limit)];
        let (engine, _) = engine_of(PolicySource { callers: vec![triple], rules, ..PolicySource::default() });
        let used = |who| (0..400).filter(|_| passes(&engine, &ask(who))).count();
        assert_eq!(used("small"), 100, "{window:?}");
        assert_eq!(used("big"), 200, "{window:?}: a hundred are used");
        assert_eq!(used("small"), 0, "{window:?}");
    }
    // One of these is in milliseconds by itself, and the other is not.
    let (one, three) =
        (Limit::sliding_window_counter(100, days(1_000)), Limit::sliding_window_counter(300, days(1_000)));
    assert_ne!(one.unwrap().resolution(), three.unwrap().resolution());
}
