//! What several answers amount to.

use std::time::Duration;

use cupo_core::{Action, Calendar, Limit, Policy, PolicySource, Problem, Rate, RuleSource, Verdict};

use crate::support::{Ask, MINUTE, engine, key, passes, policy, ready, rule, shaped};

#[test]
fn one_denial_and_nobody_is_charged() {
    let (engine, _) = engine([rule("all", &["global"], 10), rule("client", &["ip"], 1)]);
    let ask = Ask::from("192.0.2.1");
    assert!(passes(&engine, &ask));
    for _ in 0..5 {
        let outcome = ready(engine.decide(&ask)).unwrap();
        assert_eq!(outcome.binding().unwrap().rule.name(), "client");
        let all = outcome.decisions().next().unwrap();
        assert_eq!(
            (all.rule.name(), all.decision.verdict, all.decision.remaining),
            ("all", Verdict::Admit, 9)
        );
    }
}

#[test]
fn the_wait_of_a_request_is_the_longest_of_its_rules() {
    let short =
        RuleSource::new("short", key(&["global"]), Limit::sliding_window_log(1, MINUTE / 60).unwrap());
    let (engine, clock) = engine([short, rule("long", &["global"], 1)]);
    let ask = Ask::default();
    assert!(passes(&engine, &ask));
    let outcome = ready(engine.decide(&ask)).unwrap();
    assert_eq!(outcome.binding().unwrap().rule.name(), "long");
    let wait = outcome.retry_after().unwrap();
    assert_eq!(wait, MINUTE);
    clock.advance(wait - Duration::from_micros(1));
    assert!(!passes(&engine, &ask));
    clock.advance(Duration::from_micros(1));
    assert!(passes(&engine, &ask));
}

#[test]
fn the_rule_with_the_least_left_binds() {
    let (engine, _) = engine([rule("wide", &["global"], 10), rule("narrow", &["ip"], 3)]);
    let outcome = ready(engine.decide(&Ask::from("192.0.2.1"))).unwrap();
    assert_eq!(outcome.binding().unwrap().rule.name(), "narrow");
    // Five left at five each are fewer requests than three at one.
    let dear = RuleSource { cost: 5.into(), ..rule("dear", &["global"], 10) };
    let (engine, _) = crate::support::engine([rule("cheap", &["ip"], 3), dear]);
    let outcome = ready(engine.decide(&Ask::from("192.0.2.1"))).unwrap();
    assert_eq!(outcome.binding().unwrap().rule.name(), "dear");
}

#[test]
fn what_can_never_fit_is_not_a_wait() {
    let (engine, _) = engine([rule("one", &["global"], 1), rule("ten", &["global"], 10)]);
    assert!(passes(&engine, &Ask::default()));
    let outcome = ready(engine.decide(&Ask { cost: Some(11), ..Ask::default() })).unwrap();
    assert_eq!((outcome.verdict(), outcome.retry_after()), (Verdict::Impossible, None));
    let huge = ready(engine.decide(&Ask { cost: Some(u64::MAX), ..Ask::default() })).unwrap();
    assert_eq!(huge.verdict(), Verdict::Impossible);
}

#[test]
fn a_peek_sees_and_leaves_everything() {
    let (engine, _) = engine([rule("r", &["global"], 1)]);
    let peek = Ask { cost: Some(0), ..Ask::default() };
    for _ in 0..3 {
        let outcome = ready(engine.decide(&peek)).unwrap();
        assert!(outcome.is_admitted());
        assert_eq!(outcome.binding().unwrap().decision.remaining, 1);
    }
    assert_eq!(engine.store().keys(), 0);
    assert!(passes(&engine, &Ask::default()));
    assert_eq!(ready(engine.decide(&peek)).unwrap().binding().unwrap().decision.remaining, 0);
}

#[test]
fn a_shadow_rule_counts_and_never_denies() {
    let watching = RuleSource { action: Action::Shadow, ..rule("watching", &["ip"], 1) };
    let (engine, _) = engine([watching, rule("real", &["ip"], 3)]);
    let ask = Ask::from("192.0.2.1");
    let verdicts: Vec<bool> = (0..3)
        .map(|_| {
            let outcome = ready(engine.decide(&ask)).unwrap();
            assert!(outcome.is_admitted());
            assert_eq!(outcome.decisions().count(), 1);
            let mut shadow = outcome.shadow_decisions();
            let seen = shadow.next().unwrap();
            assert_eq!(seen.rule.name(), "watching");
            seen.decision.is_admitted()
        })
        .collect();
    assert_eq!(verdicts, [true, false, false], "it says what it would have done");
    let denied = ready(engine.decide(&ask)).unwrap();
    assert!(!denied.is_admitted());
    assert_eq!(denied.shadow_decisions().count(), 0, "what is denied never reached it");
}

#[test]
fn only_a_rule_that_says_delay_delays() {
    let paced = Limit::leaky_bucket(Rate::new(1, Duration::from_secs(1)), 5).unwrap();
    let denies = RuleSource::new("denies", key(&["global"]), paced);
    let (engine, _) = engine([denies]);
    assert!((0..6).all(|_| ready(engine.decide(&Ask::default())).unwrap().delay().is_zero()));
    assert!(!passes(&engine, &Ask::default()));

    let (engine, _) = crate::support::engine([shaped("delays", 5)]);
    let delays: Vec<u64> =
        (0..6).map(|_| ready(engine.decide(&Ask::default())).unwrap().delay().as_secs()).collect();
    assert_eq!(delays, [0, 1, 2, 3, 4, 5]);
    assert_eq!(ready(engine.decide(&Ask::default())).unwrap().retry_after(), Some(Duration::from_secs(1)));
}

#[test]
fn a_cancelled_wait_gives_its_place_to_the_next() {
    let (engine, clock) = engine([shaped("delays", 2)]);
    let decide = || ready(engine.decide(&Ask::default())).unwrap();
    let (first, second, third) = (decide(), decide(), decide());
    assert_eq!(third.delay(), Duration::from_secs(2));
    assert!(!decide().is_admitted(), "the queue is full");

    ready(engine.cancel(&second));
    assert!(!decide().is_admitted(), "somebody has queued behind the second");
    ready(engine.cancel(&third));
    assert_eq!(decide().delay(), Duration::from_secs(2), "the last place was free again");

    clock.advance(Duration::from_secs(10));
    ready(engine.cancel(&first));
    assert!(decide().delay().is_zero(), "a slot that has passed is not given back");
}

#[test]
fn a_swapped_policy_keeps_the_counters_of_its_names() {
    let (engine, _) = engine([rule("kept", &["ip"], 2)]);
    let ask = Ask::from("192.0.2.1");
    assert!(passes(&engine, &ask) && passes(&engine, &ask) && !passes(&engine, &ask));
    engine.swap_policy(policy([rule("kept", &["ip"], 3)]));
    assert!(passes(&engine, &ask), "a raised limit gives the difference");
    assert!(!passes(&engine, &ask));
    engine.swap_policy(policy([rule("renamed", &["ip"], 3)]));
    assert!(passes(&engine, &ask), "another name is another counter");
}

#[test]
fn a_bucket_at_another_rate_is_not_misread() {
    let bucket = |refill| {
        let limit = Limit::token_bucket(5, refill).unwrap();
        policy([RuleSource::new("r", key(&["global"]), limit)])
    };
    let (engine, _) = engine([rule("other", &["global"], 1)]);
    let mut left = Vec::new();
    for refill in [Rate::new(1, MINUTE * 60), Rate::new(10, MINUTE / 60), Rate::new(1, MINUTE * 60)] {
        engine.swap_policy(bucket(refill));
        left.push(ready(engine.decide(&Ask::default())).unwrap().binding().unwrap().decision.remaining);
    }
    assert_eq!(left, [4, 3, 2], "what was taken stays taken, and is not read in the parts of another rate");
}

/// A window that goes on to the end of the month would lock out a client whose rule is now by the day.
#[test]
fn a_window_by_other_edges_is_not_misread() {
    let hour = 3_600_000_000;
    let calendar = |name: &str, hours: u64| {
        let edges = (1..1_000_000 / hours).map(|n| n * hours * hour);
        &*Box::leak(Box::new(Calendar::from_edges(name, edges).unwrap()))
    };
    let of = |count, calendar| Limit::fixed_window_of(count, calendar).unwrap();
    let first = |hours| Limit::fixed_window_from_first(5, MINUTE * 60 * hours).unwrap();
    let (month, day) = (calendar("month", 720), calendar("day", 24));
    let (engine, _) = engine([rule("other", &["global"], 1)]);
    let mut left = Vec::new();
    let aligned = Limit::fixed_window(5, MINUTE).unwrap();
    for limit in [of(5, month), of(5, day), first(720), first(24), aligned, of(5, month), of(7, month)] {
        engine.swap_policy(policy([RuleSource::new("same", key(&["global"]), limit)]));
        left.push(ready(engine.decide(&Ask::default())).unwrap().binding().unwrap().decision.remaining);
    }
    assert_eq!(left, [4, 3, 2, 1, 0, 0, 1], "what was consumed is charged to the window of the new limit");
}

#[test]
fn no_rule_that_matches_is_no_limit() {
    let mut only_post = rule("posts", &["global"], 0);
    only_post.matches.methods = vec!["POST".into()];
    let (engine, _) = engine([only_post]);
    let outcome = ready(engine.decide(&Ask::get("/"))).unwrap();
    assert!(outcome.is_admitted() && outcome.binding().is_none());
    assert!(
        !passes(&engine, &Ask { method: Some("POST"), ..Ask::default() }),
        "a limit of 0 blocks everything"
    );
}

#[test]
fn everything_wrong_with_a_policy_is_told_at_once() {
    let mut bad = rule("bad name", &["ip"], 3);
    bad.cost = 4.into();
    bad.action = Action::Delay;
    bad.matches.methods = vec!["get".into()];
    bad.matches.path = Some("login".into());
    let rules = vec![
        rule("a", &["ip"], 1),
        bad,
        rule("a", &["ip"], 1),
        RuleSource { cost: 0.into(), ..rule("z", &["ip"], 1) },
    ];
    let mut source = PolicySource { rules, replicas: 0, ..PolicySource::default() };
    source.trust.ipv6_prefix = 0;
    source.trust.user_header = "X-User".into();
    let errors = Policy::compile(source).unwrap_err();
    let places: Vec<&str> = errors.0.iter().map(|e| e.path.as_str()).collect();
    for place in [
        "ipv6_prefix",
        "user_header",
        "replicas",
        "rules[1].name",
        "rules[1].cost",
        "rules[1].action",
        "rules[1].match.method",
        "rules[1].match.path",
        "rules[2].name",
        "rules[3].cost",
    ] {
        assert!(places.contains(&place), "{place} is in {places:?}");
    }
    assert_eq!(places.len(), 10, "{errors}");
    let empty = Policy::compile(PolicySource::default()).unwrap_err();
    assert_eq!(empty.0[0].problem, Problem::NoRules);
}
