//! What would become of a request: the law that it is what becomes of it, and what is said of single rules.

use std::sync::Arc;
use std::time::Duration;

use cupo_core::{
    Action, Bearing, CallerSource, Clock as _, Engine, Entry, ExemptionSource, ExemptionsSource, Explanation,
    HeaderSource, HeaderTest, Limit, LimitSource, ManualClock, MatchSource, OnMissing, OnStoreError, Outcome,
    PlanFrom, PlansSource, Policy, PolicySource, Rate, RuleSource, Settled, StoreError, TierSource,
    Timestamp, Verdict, Who,
};
use cupo_testkit::conformance::ReferenceStore;
use cupo_testkit::strategy::config;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any};
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use proptest::{prop_assert, prop_assert_eq, prop_assume, prop_oneof};

use crate::support::{Ask, MINUTE, engine, key, ready, rule};

const START: Timestamp = Timestamp::from_micros(1_760_000_000_000_000);

fn limits() -> impl Strategy<Value = Limit> {
    let rate = Rate::new(2, Duration::from_secs(10));
    let all = [
        Limit::sliding_window_log(2, MINUTE),
        Limit::sliding_window_counter(3, MINUTE),
        Limit::fixed_window(2, MINUTE),
        Limit::fixed_window_from_first(1, MINUTE),
        Limit::token_bucket(3, rate),
        Limit::leaky_bucket(rate, 2),
        Limit::fixed_window(0, MINUTE),
    ];
    select(all.map(Result::unwrap).to_vec())
}

fn one_of<T: Clone + std::fmt::Debug + 'static>(items: &[T]) -> impl Strategy<Value = Vec<T>> + use<T> {
    prop_oneof![3 => Just(Vec::new()), 2 => select(items.to_vec()).prop_map(|one| vec![one])]
}

fn header() -> impl Strategy<Value = HeaderSource> {
    let tests =
        [HeaderTest::Present, HeaderTest::Equals("a".to_owned()), HeaderTest::Regex("^[ab]$".to_owned())];
    select(tests.to_vec()).prop_map(|test| HeaderSource { name: "x-kind".to_owned(), test })
}

fn plain_matches() -> impl Strategy<Value = MatchSource> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let paths = texts(&["/a", "/a/**", "/a/{id}", "/b", "/b/{x}/c"]);
    let headers = prop_oneof![4 => Just(Vec::new()), 1 => header().prop_map(|header| vec![header])];
    (
        one_of(&texts(&["GET", "POST"])),
        option::of(select(paths)),
        one_of(&texts(&["one.example", "*.example"])),
        headers,
        one_of(&["10.0.0.0/8".parse().unwrap(), "192.0.2.1/32".parse().unwrap()]),
        one_of(&texts(&["free", "gold"])),
    )
        .prop_map(|(methods, path, hosts, headers, clients, plans)| MatchSource {
            methods,
            path,
            hosts,
            headers,
            clients,
            plans,
            not: Vec::new(),
        })
}

fn matches() -> impl Strategy<Value = MatchSource> {
    let not = prop_oneof![3 => Just(Vec::new()), 1 => plain_matches().prop_map(|not| vec![not])];
    let sparse = prop_oneof![2 => Just(MatchSource::default()), 3 => plain_matches()];
    (sparse, not).prop_map(|(matches, not)| MatchSource { not, ..matches })
}

fn rules() -> impl Strategy<Value = Vec<RuleSource>> {
    let keys: Vec<Vec<&str>> = vec![
        vec!["global"],
        vec!["ip"],
        vec!["api_key | ip"],
        vec!["user", "route"],
        vec!["header(x-kind)"],
        vec!["api_key"],
    ];
    let limit = prop_oneof![
        4 => limits().prop_map(LimitSource::Own),
        1 => Just(LimitSource::Plan("requests".to_owned())),
    ];
    let rule = (
        (matches(), any::<bool>(), select(keys), limit),
        (1..3_u64, select(vec![Action::Deny, Action::Deny, Action::Delay, Action::Shadow])),
        select(vec![OnMissing::Skip, OnMissing::Shared, OnMissing::Shared, OnMissing::Deny]),
    );
    let rule = rule.prop_map(|((matches, stop, parts, limit), (cost, action), on_missing)| {
        let delays = matches!(&limit, LimitSource::Own(own) if own.delays());
        let action = if action == Action::Delay && !delays { Action::Deny } else { action };
        let source = RuleSource::new("rule", key(&parts), limit);
        RuleSource { matches, stop, cost: cost.into(), action, on_missing, ..source }
    });
    vec(rule, 1..6).prop_map(|rules| {
        let named =
            rules.into_iter().enumerate().map(|(n, rule)| RuleSource { name: format!("rule-{n}"), ..rule });
        named.collect()
    })
}

trait Delays {
    fn delays(&self) -> bool;
}

impl Delays for Limit {
    fn delays(&self) -> bool {
        self.algorithm() == cupo_core::Algorithm::LeakyBucket
    }
}

fn policies() -> impl Strategy<Value = PolicySource> {
    let tier = |name: &str, limit| TierSource {
        name: name.to_owned(),
        numbers: vec![("requests".to_owned(), limit)],
    };
    let three = Limit::sliding_window_log(3, MINUTE).unwrap();
    let plans = PlansSource {
        tiers: vec![tier("free", Some(three)), tier("gold", None)],
        from: vec![PlanFrom::Callers, PlanFrom::Claim("plan".to_owned())],
        default: "free".to_owned(),
    };
    let caller = |name: &str| CallerSource::new(Who::User(name.to_owned()));
    let callers = vec![
        CallerSource { plan: Some("gold".to_owned()), times: 2, ..caller("ada") },
        CallerSource { blocked: true, ..caller("mallory") },
        CallerSource { unlimited: true, ..caller("root") },
    ];
    let entries = |name: &'static str| {
        let entry = plain_matches().prop_map(move |matches| ExemptionSource {
            name: name.to_owned(),
            matches: MatchSource { path: Some("/b".to_owned()), ..matches },
            ..ExemptionSource::default()
        });
        prop_oneof![3 => Just(Vec::new()), 1 => entry.prop_map(|entry| vec![entry])]
    };
    (rules(), entries("allowed"), entries("blocked")).prop_map(move |(rules, allow, block)| PolicySource {
        rules,
        plans: plans.clone(),
        callers: callers.clone(),
        exemptions: ExemptionsSource { allow, block },
        ..PolicySource::default()
    })
}

fn asks() -> impl Strategy<Value = Ask> {
    let maybe = |values: &'static [&'static str]| option::of(select(values));
    let named = vec(
        select(vec![
            ("header:x-kind", "a"),
            ("header:x-kind", "z"),
            ("claim:plan", "gold"),
            ("claim:plan", "none"),
        ]),
        0..3,
    );
    let who = (
        maybe(&["10.1.1.1", "192.0.2.1", "2001:db8::1"]),
        maybe(&["k1", "k2"]),
        maybe(&["ada", "bob", "mallory", "root"]),
    );
    let what = (
        maybe(&["GET", "POST", "HEAD"]),
        maybe(&["one.example", "two.example:80"]),
        maybe(&["/a", "/a/1", "/b", "/b/2/c", "/a/..;/b", "/c"]),
    );
    (who, what, named, option::of(0..3_u64), proptest::bool::weighted(0.1)).prop_map(
        |((client, api_key, user), (method, host, path), named, cost, bad_credentials)| Ask {
            client: client.map(|client| client.parse().unwrap()),
            api_key,
            user,
            method,
            host,
            path,
            named,
            cost,
            bad_credentials,
            ..Ask::default()
        },
    )
}

/// All that callers can learn of an outcome.
fn told(outcome: Result<&Outcome, &StoreError>) -> String {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return format!("{error:?}"),
    };
    let ruling =
        |ruling: cupo_core::Ruling<'_>| (ruling.rule.name().to_owned(), ruling.key.clone(), ruling.decision);
    let decisions: Vec<_> = outcome.decisions().map(ruling).collect();
    let shadow: Vec<_> = outcome.shadow_decisions().map(ruling).collect();
    let binding = outcome.binding().map(ruling);
    let (at, verdict, delay) = (outcome.at(), outcome.verdict(), outcome.delay());
    let settled = (outcome.settled(), outcome.lacks().map(cupo_core::Rule::name), outcome.store_error());
    format!("{at:?} {verdict:?} {delay:?} {settled:?} {binding:?}\n{decisions:?}\n{shadow:?}")
}

/// Whether a rule by itself would count or refuse the request.
fn bears_alone(source: &PolicySource, rule: &RuleSource, ask: &Ask) -> bool {
    let rules = vec![RuleSource { stop: false, ..rule.clone() }];
    let callers = source.callers.iter().map(|caller| CallerSource {
        blocked: false,
        unlimited: false,
        ..caller.clone()
    });
    let alone = PolicySource {
        rules,
        exemptions: ExemptionsSource::default(),
        callers: callers.collect(),
        ..source.clone()
    };
    let engine = Engine::new(Policy::compile(alone).unwrap(), ReferenceStore::default());
    let outcome = ready(engine.decide(ask)).unwrap();
    let counted = outcome.decisions().count() + outcome.shadow_decisions().count();
    counted > 0 || outcome.lacks().is_some()
}

/// What is said of each rule is so.
fn bearings_hold(source: &PolicySource, ask: &Ask, explanation: &Explanation) -> Result<(), String> {
    let outcome = explanation.outcome().unwrap();
    let names = |rulings: Vec<cupo_core::Ruling<'_>>| -> Vec<String> {
        rulings.iter().map(|ruling| ruling.rule.name().to_owned()).collect()
    };
    let enforced = names(outcome.decisions().collect());
    let watched = names(outcome.shadow_decisions().collect());
    let settled = outcome.settled().is_some_and(|settled| *settled != Settled::BadCredentials);
    let mut stopped = false;
    for (one, rule) in explanation.rules().zip(&source.rules) {
        let name = one.rule.name().to_owned();
        let holds = match one.bearing {
            _ if stopped && !matches!(one.bearing, Bearing::Unmet(_)) => {
                matches!(one.bearing, Bearing::Stopped(_)) && !enforced.contains(&name)
            }
            Bearing::Enforced => settled || enforced.contains(&name),
            Bearing::Watched => settled || !outcome.is_admitted() || watched.contains(&name),
            Bearing::Unmet(_) | Bearing::Unlimited | Bearing::Lacks(_) => {
                !enforced.contains(&name) && !watched.contains(&name) && !bears_alone(source, rule, ask)
            }
            Bearing::Refuses(_) => outcome.lacks().is_some_and(|lacks| lacks.name() == name),
            Bearing::Settled => settled,
            _ => false,
        };
        if !holds {
            return Err(format!("{name}: {:?}, and {}", one.bearing, told(Ok(outcome))));
        }
        stopped |= one.stops;
    }
    Ok(())
}

/// What explain says would happen is what decide does right after, and having asked changes nothing.
#[test]
fn an_explanation_is_what_happens_and_changes_nothing() {
    let steps = vec((0..50_000_000_u64, asks()), 1..12);
    let test = |(source, steps): (PolicySource, Vec<(u64, Ask)>)| {
        let policy = Policy::compile(source.clone());
        prop_assume!(policy.is_ok(), "a policy without contradictions");
        let policy = policy.unwrap();
        let clock = ManualClock::at(START);
        let engine = |policy| Engine::new(policy, ReferenceStore::default()).with_clock(clock.clone());
        let (asked, unasked) = (engine(Arc::clone(&policy)), engine(policy));
        for (wait, ask) in steps {
            clock.set(clock.now().after(Duration::from_micros(wait)));
            let explanation = ready(asked.explain(&ask));
            prop_assert_eq!(bearings_hold(&source, &ask, &explanation), Ok(()), "{:?}", ask);
            let keys = asked.store().keys();
            let again = ready(asked.explain(&ask));
            prop_assert_eq!(told(explanation.outcome()), told(again.outcome()));
            prop_assert_eq!(asked.store().keys(), keys);
            let outcome = ready(asked.decide(&ask));
            prop_assert_eq!(told(explanation.outcome()), told(outcome.as_ref()), "{:?}", ask);
            let unasked = ready(unasked.decide(&ask));
            prop_assert_eq!(told(outcome.as_ref()), told(unasked.as_ref()), "{:?}", ask);
            prop_assert!(explanation.rules().count() == source.rules.len());
        }
        Ok(())
    };
    TestRunner::new(config(400)).run(&(policies(), steps), test).unwrap_or_else(|e| panic!("{e}"));
}

fn unmet(matches: MatchSource, ask: &Ask) -> String {
    let (engine, _) = engine(vec![RuleSource { matches, ..rule("one", &["global"], 1) }]);
    let explanation = ready(engine.explain(ask));
    let seen = explanation.rules().next().unwrap();
    match seen.bearing {
        Bearing::Unmet(unmet) => unmet.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn the_first_condition_that_fails_is_said_in_words() {
    let text = |text: &str| text.to_owned();
    let all = MatchSource::default;
    let with = |test| MatchSource { headers: vec![HeaderSource { name: text("X-Kind"), test }], ..all() };
    let ask = Ask {
        method: Some("GET"),
        path: Some("/a/./b"),
        host: Some("Api.Example:8080"),
        client: Some("192.0.2.7".parse().unwrap()),
        named: vec![
            ("header:x-kind", "  big\tone  "),
            ("header:x-kind", "b"),
            ("header:authorization", "secret"),
        ],
        ..Ask::default()
    };
    let methods = MatchSource { methods: vec![text("POST"), text("PUT")], ..all() };
    assert_eq!(unmet(methods.clone(), &ask), "is for the method POST or PUT, and this is GET");
    assert_eq!(unmet(methods, &Ask::default()), "is for the method POST or PUT, and none is known");
    let path = MatchSource { path: Some(text("/x/{id}")), ..all() };
    assert_eq!(unmet(path, &ask), "is for the path /x/{id}, and this is /a/./b, read as /a/b");
    let hosts = MatchSource { hosts: vec![text("*.example.org")], ..all() };
    assert_eq!(unmet(hosts, &ask), "is for the host *.example.org, and this is api.example");
    let clients = MatchSource { clients: vec!["10.0.0.0/8".parse().unwrap()], ..all() };
    assert_eq!(unmet(clients, &ask), "is for the client 10.0.0.0/8, and this is 192.0.2.7");
    assert_eq!(
        unmet(with(HeaderTest::Equals(text("small"))), &ask),
        "asks for the header x-kind equal to `small`, which is `big\\tone` and `b`"
    );
    assert_eq!(
        unmet(with(HeaderTest::Present), &Ask::default()),
        "asks for the header x-kind, and there is none"
    );
    let not = MatchSource { not: vec![MatchSource { methods: vec![text("GET")], ..all() }], ..all() };
    assert_eq!(unmet(not, &ask), "`not` leaves it out: GET requests");
    let headers = vec![HeaderSource { name: text("authorization"), test: HeaderTest::Equals(text("a")) }];
    let secret = unmet(MatchSource { headers, ..all() }, &ask);
    assert_eq!(secret, "asks for the header authorization equal to `a`, which is sha256:2bb80d537b1da3e3");
}

#[test]
fn rules_say_what_they_count_what_is_left_and_what_they_would_say() {
    let (engine, _) = engine(vec![
        RuleSource { cost: 2.into(), ..rule("one", &["ip"], 3) },
        RuleSource { action: Action::Shadow, ..rule("watches", &["global"], 1) },
        RuleSource { on_missing: OnMissing::Skip, ..rule("by-key", &["ip", "api_key | user"], 3) },
        rule("last", &["global"], 9),
    ]);
    let ask = Ask::from("192.0.2.7");
    assert!(ready(engine.decide(&ask)).unwrap().is_admitted());
    let explanation = ready(engine.explain(&ask));
    let seen: Vec<_> = explanation.rules().collect();
    assert_eq!(seen[0].bearing, &Bearing::Enforced);
    assert_eq!(seen[0].counted.unwrap().key.to_string(), "one ip=192.0.2.7");
    assert_eq!((seen[0].counted.unwrap().cost, seen[0].balance.unwrap().remaining), (2, 1));
    assert_eq!(seen[0].decision.unwrap().verdict, Verdict::Deny { retry_after: MINUTE });
    assert_eq!(seen[1].bearing, &Bearing::Watched);
    assert_eq!((seen[1].balance.unwrap().remaining, seen[1].decision), (0, None), "nothing is counted there");
    assert_eq!(seen[2].bearing, &Bearing::Lacks("api_key | user".into()));
    assert_eq!(seen[3].decision.unwrap().remaining, 8, "as it is, since another refuses");
    assert_eq!(explanation.outcome().unwrap().binding().unwrap().rule.name(), "one");
}

#[test]
fn the_caller_is_said_with_the_plan_and_where_it_came_from() {
    let source = PolicySource {
        plans: PlansSource {
            tiers: vec![
                TierSource { name: "free".to_owned(), numbers: Vec::new() },
                TierSource { name: "gold".to_owned(), numbers: Vec::new() },
            ],
            from: vec![PlanFrom::Claim("plan".to_owned()), PlanFrom::Callers],
            default: "free".to_owned(),
        },
        callers: vec![
            CallerSource { blocked: true, ..CallerSource::new(Who::User("eve".to_owned())) },
            CallerSource {
                plan: Some("gold".to_owned()),
                times: 7,
                ..CallerSource::new(Who::User("ada".to_owned()))
            },
        ],
        rules: vec![rule("one", &["ip"], 3)],
        ..PolicySource::default()
    };
    let policy = Policy::compile(source).unwrap();
    let engine = Engine::new(Arc::clone(&policy), ReferenceStore::default());
    let explain = |ask: Ask| ready(engine.explain(&ask));
    let explanation = explain(Ask { user: Some("ada"), api_key: Some("k"), ..Ask::default() });
    let ada = explanation.caller();
    assert_eq!((ada.plan.as_deref(), &ada.plan_from), (Some("gold"), &Some(PlanFrom::Callers)));
    assert_eq!((ada.entry.as_deref(), ada.times), (Some("callers[1]"), 7));
    assert_eq!(ada.api_key, policy.hash_api_key(b"k"));
    let explanation = explain(Ask { named: vec![("claim:plan", "gold")], ..Ask::from("192.0.2.1") });
    assert_eq!(explanation.caller().plan_from, Some(PlanFrom::Claim("plan".to_owned())));
    let explanation = explain(Ask { user: Some("eve"), ..Ask::default() });
    assert_eq!(
        (explanation.caller().plan.as_deref(), &explanation.caller().plan_from),
        (Some("free"), &None)
    );
    let by = Entry::Caller("callers[0]".into());
    assert_eq!(explanation.outcome().unwrap().settled(), Some(&Settled::Blocked(by)));
    assert_eq!(explanation.rules().next().unwrap().bearing, &Bearing::Settled);
}

#[test]
fn without_the_store_each_rule_says_what_it_does_then() {
    let local = RuleSource { on_store_error: OnStoreError::Local, ..rule("local", &["global"], 4) };
    let deny = RuleSource { on_store_error: OnStoreError::Deny, ..rule("deny", &["ip"], 4) };
    let engine = |rules: Vec<RuleSource>| {
        let policy = Policy::compile(PolicySource { rules, replicas: 2, ..PolicySource::default() }).unwrap();
        let engine = Engine::new(policy, crate::plans::Gone).with_clock(ManualClock::at(START));
        engine.with_fallback(Arc::new(ReferenceStore::default()))
    };
    let ask = Ask::from("192.0.2.1");
    let two = engine(vec![local.clone(), rule("allow", &["ip"], 1)]);
    for left in [1, 0] {
        let explanation = ready(two.explain(&ask));
        assert_eq!(told(explanation.outcome()), told(ready(two.explain(&ask)).outcome()));
        let seen: Vec<_> = explanation.rules().collect();
        assert_eq!(seen[0].decision.unwrap().remaining, left);
        assert_eq!((seen[0].counted.unwrap().limit.quota(), seen[1].decision), (2, None));
        let outcome = ready(two.decide(&ask)).unwrap();
        assert_eq!(outcome.decisions().count(), explanation.outcome().unwrap().decisions().count());
        assert!(outcome.is_admitted());
    }
    assert!(!ready(two.explain(&ask)).outcome().unwrap().is_admitted());
    let refusing = engine(vec![local, deny]);
    assert!(matches!(ready(refusing.explain(&ask)).outcome(), Err(StoreError::Timeout)));
}
