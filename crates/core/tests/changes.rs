//! What tells two policies apart, and what becomes of what is counted.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use std::sync::Arc;
use std::time::Duration;

use cupo_core::{
    Action, CallerSource, Changes, ChargeSource, CounterChange, ExemptionSource, Fate, Fresh, KeySecret,
    KeySpec, Limit, LimitSource, MatchSource, OnStoreError, PlanFrom, PlansSource, Policy, PolicySource,
    Rate, RuleChange, RuleChangeKind, RuleSource, TierSource, Trust, Who,
};

const MINUTE: Duration = Duration::from_secs(60);

fn counter(count: u64, window: Duration) -> Limit {
    Limit::sliding_window_counter(count, window).unwrap()
}

fn rule(name: &str, limit: impl Into<LimitSource>) -> RuleSource {
    RuleSource::new(name, KeySpec::parse(&["ip"]).unwrap(), limit)
}

fn of(rules: Vec<RuleSource>) -> PolicySource {
    PolicySource { rules, ..PolicySource::default() }
}

fn compile(source: PolicySource) -> Arc<Policy> {
    Policy::compile(source).unwrap()
}

fn changes(old: PolicySource, new: PolicySource) -> Changes {
    compile(old).changes(&compile(new))
}

/// `field: before -> after` of each.
fn fields(rule: &RuleChange) -> Vec<String> {
    let or = |text: &Option<Box<str>>| text.as_deref().unwrap_or("-").to_owned();
    rule.fields.iter().map(|f| format!("{}: {} -> {}", f.field, or(&f.before), or(&f.after))).collect()
}

fn fates(counters: &[CounterChange]) -> Vec<(Option<&str>, &Fate)> {
    counters.iter().map(|one| (one.tier.as_deref(), &one.fate)).collect()
}

/// What becomes of the counters of a rule whose limit changes.
fn fate(before: Limit, after: Limit) -> Fate {
    let found = changes(of(vec![rule("r", before)]), of(vec![rule("r", after)]));
    let [one] = &found.rules[..] else { panic!("{found:?}") };
    assert_eq!(one.kind, RuleChangeKind::Changed);
    assert_eq!(one.fields[0].field.as_ref(), "limit");
    let [counter] = &one.counters[..] else { panic!("{found:?}") };
    counter.fate.clone()
}

#[test]
fn a_policy_is_like_itself() {
    let source = || of(vec![rule("a", counter(1, MINUTE)), rule("b", counter(2, MINUTE))]);
    let found = changes(source(), source());
    assert!(found.is_empty());
    assert_eq!(found.unchanged, 2);
}

#[test]
fn every_way_that_a_limit_changes_has_its_fate() {
    let rate = |count| Rate::new(count, MINUTE);
    let bucket = |capacity, count| Limit::token_bucket(capacity, rate(count)).unwrap();
    let leaky = |count, queue| Limit::leaky_bucket(rate(count), queue).unwrap();
    let fixed = |count, window| Limit::fixed_window(count, window).unwrap();
    let log = |count, window| Limit::sliding_window_log(count, window).unwrap();
    let carried = |from: Limit| Fate::Carried { from: from.to_string().into() };
    for (before, count, window) in [
        (counter(5, MINUTE), counter(50, MINUTE), counter(5, MINUTE * 2)),
        (fixed(5, MINUTE), fixed(50, MINUTE), fixed(5, MINUTE * 2)),
        (log(5, MINUTE), log(50, MINUTE), log(5, MINUTE * 2)),
        (bucket(5, 1), bucket(50, 1), bucket(5, 7)),
        (leaky(1, 5), leaky(1, 50), leaky(7, 5)),
        (fixed(5, MINUTE), fixed(4, MINUTE), Limit::fixed_window_from_first(5, MINUTE).unwrap()),
    ] {
        assert_eq!(fate(before, count), Fate::Keeps, "{before}, then {count}");
        assert_eq!(fate(before, window), carried(before), "{before}, then {window}");
    }
    // So much more that it is counted in other ticks.
    let day = Duration::from_secs(86_400);
    assert_eq!(fate(counter(5, day), counter(1_000_000, day)), carried(counter(5, day)));
    assert_eq!(fate(counter(5, MINUTE), bucket(5, 1)), Fate::Fresh(Fresh::Algorithm));
}

#[test]
fn everything_that_a_rule_says_is_compared() {
    let before = rule("r", counter(10, MINUTE));
    let after = RuleSource {
        matches: MatchSource {
            methods: vec!["GET".into()],
            path: Some("/a".into()),
            ..MatchSource::default()
        },
        stop: true,
        key: KeySpec::parse(&["user"]).unwrap(),
        cost: 2.into(),
        charge: ChargeSource::OnResponse([401..=401, 500..=599].into_iter().collect()),
        action: Action::Shadow,
        on_missing: cupo_core::OnMissing::Skip,
        on_store_error: OnStoreError::Deny,
        ..rule("r", counter(20, MINUTE))
    };
    let found = changes(of(vec![before]), of(vec![after]));
    assert_eq!(
        fields(&found.rules[0]),
        [
            "match: every request -> GET /a",
            "stop: false -> true",
            "key: ip -> user",
            "limit: sliding_window_counter, 10 per 1m -> sliding_window_counter, 20 per 1m",
            "cost: 1 -> 2",
            "charge: every request -> responses of status 401, 5xx",
            "action: deny -> shadow",
            "on_missing: shared -> skip",
            "on_store_error: allow -> deny",
        ]
    );
    assert_eq!(fates(&found.rules[0].counters), [(None, &Fate::Fresh(Fresh::Key))]);
}

/// Words show the first few of many; what is compared is all of it.
#[test]
fn conditions_that_look_alike_are_told_apart() {
    let hosts = |n: u32| {
        let hosts = (0..n).map(|n| format!("h{n}.example")).collect();
        let matches = MatchSource { hosts, ..MatchSource::default() };
        of(vec![RuleSource { matches, ..rule("r", counter(1, MINUTE)) }])
    };
    assert!(changes(hosts(20), hosts(20)).is_empty());
    assert_eq!(changes(hosts(20), hosts(21)).rules[0].fields[0].field.as_ref(), "match");
}

#[test]
fn rules_come_go_and_are_renamed() {
    let found = changes(
        of(vec![rule("kept", counter(1, MINUTE)), rule("old", counter(2, MINUTE))]),
        of(vec![rule("new", counter(2, MINUTE)), rule("kept", counter(1, MINUTE))]),
    );
    let names: Vec<_> = found.rules.iter().map(|rule| (&*rule.name, &rule.kind)).collect();
    let like = RuleChangeKind::Added { looks_like: Some("kept".into()) };
    let added = RuleChangeKind::Added { looks_like: Some("old".into()) };
    assert_ne!(added, like);
    assert_eq!(names, [("new", &added), ("old", &RuleChangeKind::Removed)]);
    assert_eq!((found.unchanged, found.order.is_empty()), (1, true));
    assert_eq!(fields(&found.rules[0])[0], "match: - -> every request");
}

#[test]
fn the_order_matters_where_a_rule_stops_others() {
    let stops = || {
        let matches = MatchSource { path: Some("/a".into()), ..MatchSource::default() };
        RuleSource { stop: true, matches, ..rule("s", counter(1, MINUTE)) }
    };
    let [a, b] = ["a", "b"].map(|name| move || rule(name, counter(1, MINUTE)));
    assert!(changes(of(vec![a(), b()]), of(vec![b(), a()])).is_empty(), "nothing stops");
    assert!(changes(of(vec![stops(), a(), b()]), of(vec![stops(), b(), a()])).is_empty());
    let found = changes(of(vec![a(), stops(), b()]), of(vec![b(), stops(), a()]));
    let order = &found.order[0];
    assert_eq!((&*order.rule, order.hides.join(","), order.reveals.join(",")), ("s", "a".into(), "b".into()));
}

fn planned(tiers: &[(&str, Option<Limit>)], default: &str) -> PolicySource {
    let tier = |(name, limit): &(&str, Option<Limit>)| TierSource {
        name: (*name).to_owned(),
        numbers: vec![("requests".to_owned(), *limit)],
    };
    let plans = PlansSource {
        tiers: tiers.iter().map(tier).collect(),
        from: vec![PlanFrom::Callers, PlanFrom::Claim("plan".into())],
        default: default.to_owned(),
    };
    PolicySource { plans, ..of(vec![rule("r", LimitSource::Plan("requests".to_owned()))]) }
}

#[test]
fn tiers_are_told_one_by_one() {
    let before = planned(
        &[("free", Some(counter(5, MINUTE))), ("pro", Some(counter(50, MINUTE))), ("gold", None)],
        "free",
    );
    let after = [
        ("free", Some(counter(6, MINUTE))),
        ("pro", Some(counter(50, MINUTE * 2))),
        ("gold", Some(Limit::sliding_window_log(9, MINUTE).unwrap())),
    ];
    let found = changes(before.clone(), planned(&after, "pro"));
    assert_eq!(
        fields(&found.rules[0]),
        [
            "limit of free: sliding_window_counter, 5 per 1m -> sliding_window_counter, 6 per 1m",
            "limit of pro: sliding_window_counter, 50 per 1m -> sliding_window_counter, 50 per 2m",
            "limit of gold: unlimited -> sliding_window_log, 9 per 1m",
        ]
    );
    let from = counter(50, MINUTE).to_string().into();
    assert_eq!(
        fates(&found.rules[0].counters),
        [
            (Some("free"), &Fate::Keeps),
            (Some("pro"), &Fate::Carried { from }),
            (Some("gold"), &Fate::Fresh(Fresh::Algorithm)),
        ]
    );
    let settings: Vec<_> = found.settings.iter().map(|field| &*field.field).collect();
    assert_eq!(settings, ["plan.default"]);
    // A new tier takes over from the default one.
    let new = [
        ("free", Some(counter(5, MINUTE))),
        ("pro", Some(counter(50, MINUTE))),
        ("gold", None),
        ("silver", Some(counter(9, MINUTE * 2))),
    ];
    let found = changes(before.clone(), planned(&new, "free"));
    let from = counter(5, MINUTE).to_string().into();
    assert_eq!(
        fates(&found.rules[0].counters),
        [
            (Some("free"), &Fate::Keeps),
            (Some("pro"), &Fate::Keeps),
            (Some("silver"), &Fate::Carried { from })
        ]
    );
    // From a plan to a limit of its own.
    let found = changes(before, of(vec![rule("r", counter(5, MINUTE))]));
    assert_eq!(fates(&found.rules[0].counters), [(None, &Fate::Keeps)]);
    let settings: Vec<_> = found.settings.iter().map(|field| &*field.field).collect();
    assert_eq!(settings, ["plans", "plan.from", "plan.default"]);
}

#[test]
fn whom_the_policy_believes_and_lists_is_compared() {
    let trust = |ipv6_prefix| Trust { ipv6_prefix, ..Trust::default() };
    let entry = |name: &str, path: &str| ExemptionSource {
        name: name.to_owned(),
        matches: MatchSource { path: Some(path.to_owned()), ..MatchSource::default() },
        ..ExemptionSource::default()
    };
    let mut before = of(vec![rule("r", counter(5, MINUTE))]);
    before.exemptions.allow = vec![entry("health", "/health"), entry("gone", "/gone")];
    before.callers = vec![CallerSource::new(Who::User("a".into())), CallerSource::new(Who::User("b".into()))];
    let mut after = PolicySource { trust: trust(48), ..before.clone() };
    after.exemptions.allow = vec![entry("health", "/healthz")];
    after.exemptions.block = vec![entry("bad", "/bad")];
    after.callers[0].blocked = true;
    after.callers[1] = CallerSource::new(Who::Network("10.0.0.0/8".parse().unwrap()));
    after.api_key_secret = Some(KeySecret::new(b"0123456789abcdef0123456789abcdef").unwrap());
    let found = changes(before, after);
    let told: Vec<_> = found
        .settings
        .iter()
        .map(|f| format!("{} {:?} {:?}", f.field, f.before.as_deref(), f.after.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            r#"ipv6_prefix Some("64") Some("48")"#,
            r#"api_key_secret_env None Some("another secret")"#,
            r#"allow[health] Some("/health") Some("/healthz")"#,
            r#"allow[gone] Some("/gone") None"#,
            r#"block[bad] None Some("/bad")"#,
            r#"callers Some("2") Some("2 (1 new, 1 gone, 1 changed)")"#,
        ]
    );
    // The rule and the status endpoint say the same, and count IPv6 clients anew.
    let [one, _status] = &found.rules[..] else { panic!("{found:?}") };
    assert!(one.fields.is_empty() && one.counters[0].ipv6_starts_fresh);
    assert_eq!(one.counters[0].fate, Fate::Keeps);
}

#[test]
fn what_is_hashed_under_another_secret_starts_fresh() {
    let source = |secret: &[u8]| PolicySource {
        api_key_secret: Some(KeySecret::new(secret).unwrap()),
        ..of(vec![
            RuleSource::new("r", KeySpec::parse(&["api_key | ip"]).unwrap(), counter(5, MINUTE)),
            rule("ip", counter(5, MINUTE)),
        ])
    };
    let found = changes(source(&[b'a'; 32]), source(&[b'b'; 32]));
    assert_eq!(found.rules.len(), 1, "the other counts nothing that is hashed");
    assert_eq!(fates(&found.rules[0].counters), [(None, &Fate::Fresh(Fresh::Secret))]);
    assert!(changes(source(&[b'a'; 32]), source(&[b'a'; 32])).is_empty());
}

#[test]
fn the_status_endpoint_has_a_limit_too() {
    let source =
        |count| PolicySource { status: counter(count, MINUTE), ..of(vec![rule("r", counter(5, MINUTE))]) };
    let found = changes(source(60), source(6));
    assert_eq!((&*found.rules[0].name, found.unchanged), (cupo_core::STATUS_RULE, 1));
}

#[test]
fn a_share_changes_with_the_replicas() {
    let local = |on_store_error, replicas| {
        let rule = RuleSource { on_store_error, ..rule("r", counter(10, MINUTE)) };
        PolicySource { replicas, ..of(vec![rule]) }
    };
    let found = changes(local(OnStoreError::Local, 1), local(OnStoreError::Local, 5));
    assert_eq!(
        fields(&found.rules[0]),
        ["share of each node: sliding_window_counter, 10 per 1m -> sliding_window_counter, 2 per 1m"]
    );
    assert!(changes(local(OnStoreError::Allow, 1), local(OnStoreError::Allow, 5)).is_empty());
}
