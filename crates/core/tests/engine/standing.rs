//! How callers stand: every limit that could apply to them, and nothing taken by asking.

use cupo_core::{
    Entry, ExemptionSource, ExemptionsSource, MatchSource, OnMissing, Outcome, Policy, PolicySource, Problem,
    RuleSource, STATUS_RULE, Settled, Standing,
};

use crate::support::{Ask, TestEngine, engine, ready, rule};

fn at(method: &str, path: &str) -> MatchSource {
    let methods = if method.is_empty() { Vec::new() } else { vec![method.to_owned()] };
    MatchSource { methods, path: (!path.is_empty()).then(|| path.to_owned()), ..MatchSource::default() }
}

fn ask(engine: &TestEngine, ask: &Ask, about: Option<(&str, &str)>) -> Result<Standing, Box<Outcome>> {
    ready(engine.standing(ask, about)).unwrap()
}

/// `name endpoint remaining/limit` of each line.
fn lines(standing: &Standing) -> Vec<String> {
    let lines = standing.places().map(|place| {
        let left = place.decision.map_or_else(|| "-".to_owned(), |d| d.remaining.to_string());
        let endpoint = place.endpoint.map_or_else(|| "*".to_owned(), ToString::to_string);
        format!("{} {endpoint} {left}/{}", place.rule.name(), place.limit.quota())
    });
    lines.collect()
}

fn caller() -> Ask {
    Ask { user: Some("ana"), ..Ask { client: Some([192, 0, 2, 1].into()), ..Ask::get("/rate-limit-status") } }
}

#[test]
fn every_limit_that_could_apply_is_listed_with_its_balance() {
    let rules = [
        rule("all", &["global"], 100),
        RuleSource { matches: at("POST", "/orders/**"), ..rule("orders", &["user"], 5) },
        RuleSource { matches: at("", "/reports"), ..rule("reports", &["ip"], 3) },
        RuleSource {
            matches: MatchSource { clients: vec!["10.0.0.0/8".parse().unwrap()], ..at("", "") },
            ..rule("inside", &["ip"], 7)
        },
        RuleSource { action: cupo_core::Action::Shadow, ..rule("watched", &["ip"], 1) },
        RuleSource { on_missing: OnMissing::Skip, ..rule("keyed", &["api_key"], 9) },
    ];
    let (engine, _) = engine(rules);
    let order = Ask { method: Some("POST"), path: Some("/orders/7"), ..caller() };
    for _ in 0..2 {
        assert!(ready(engine.decide(&order)).unwrap().is_admitted());
    }
    let expected = ["all * 98/100", "orders POST /orders/** 3/5", "reports /reports 3/3"];
    for _ in 0..3 {
        let standing = ask(&engine, &caller(), None).unwrap();
        assert_eq!(lines(&standing), expected, "asking takes nothing");
        assert!(standing.settled().is_none() && !standing.is_truncated());
    }
    // Somebody else stands otherwise, by what only they have used.
    let other = Ask { user: Some("eva"), ..caller() };
    assert_eq!(lines(&ask(&engine, &other, None).unwrap())[1], "orders POST /orders/** 5/5");
}

#[test]
fn limits_by_route_are_listed_for_each_route_that_the_policy_names() {
    let rules = [
        RuleSource { matches: at("GET", "/users/**"), ..rule("users", &["user", "route"], 10) },
        RuleSource { matches: at("", "/users/{id}"), ..rule("profile", &["global"], 50) },
        rule("each", &["ip", "route"], 20),
    ];
    let (engine, _) = engine(rules);
    let profile = Ask { path: Some("/users/7"), ..caller() };
    assert!(ready(engine.decide(&profile)).unwrap().is_admitted());
    let all = lines(&ask(&engine, &caller(), None).unwrap());
    for line in [
        "users GET /users/** 10/10",
        "users GET /users/{id} 9/10",
        // What the policy does not name counts by itself, and there is no telling which.
        "users GET /users/** -/10",
        "profile /users/{id} 49/50",
        "each /users/{id} -/20",
        "each every request -/20",
    ] {
        assert!(all.contains(&line.to_owned()), "{line} is not in {all:?}");
    }
    // Who asks about an endpoint is told what holds there, and only that.
    let there = lines(&ask(&engine, &caller(), Some(("GET", "/users//7"))).unwrap());
    assert_eq!(there, ["users GET /users/** 9/10", "profile /users/{id} 49/50", "each * 19/20"]);
    let elsewhere = lines(&ask(&engine, &caller(), Some(("POST", "/other"))).unwrap());
    assert_eq!(elsewhere, ["each * 20/20"]);
}

#[test]
fn what_stops_every_request_ends_the_list() {
    let inside = MatchSource { clients: vec!["192.0.2.0/24".parse().unwrap()], ..at("", "") };
    let first = RuleSource { matches: inside, stop: true, ..rule("inside", &["ip"], 7) };
    let (stopped, _) = engine([first.clone(), rule("rest", &["global"], 9)]);
    assert_eq!(lines(&ask(&stopped, &caller(), None).unwrap()), ["inside * 7/7"]);
    // One that stops some requests does not.
    let some = RuleSource { matches: at("POST", ""), ..first };
    let (engine, _) = engine([some, rule("rest", &["global"], 9)]);
    assert_eq!(lines(&ask(&engine, &caller(), None).unwrap()), ["inside POST 7/7", "rest * 9/9"]);
}

#[test]
fn asking_has_a_limit_of_its_own() {
    let (engine, clock) = engine([rule("all", &["global"], 1)]);
    for _ in 0..60 {
        assert!(ask(&engine, &caller(), None).is_ok());
    }
    let refused = ask(&engine, &caller(), None).unwrap_err();
    assert_eq!(refused.binding().unwrap().rule.name(), STATUS_RULE);
    let wait = refused.retry_after().unwrap();
    assert!(ask(&engine, &Ask { client: Some([192, 0, 2, 2].into()), ..caller() }, None).is_ok());
    clock.advance(wait);
    assert!(ask(&engine, &caller(), None).is_ok());
    // Being refused there costs nothing elsewhere.
    assert!(ready(engine.decide(&caller())).unwrap().is_admitted());
}

#[test]
fn callers_on_a_list_are_told_so() {
    let entry = |name: &str, matches: MatchSource| ExemptionSource {
        name: name.to_owned(),
        matches,
        ..ExemptionSource::default()
    };
    let from = |network: &str| MatchSource { clients: vec![network.parse().unwrap()], ..at("", "") };
    let exemptions = ExemptionsSource {
        allow: vec![entry("office", from("198.51.100.0/24")), entry("health", at("", "/healthz"))],
        block: vec![entry("abuser", from("203.0.113.0/24"))],
    };
    let rules = vec![rule("all", &["global"], 5)];
    let policy = Policy::compile(PolicySource { exemptions, rules, ..PolicySource::default() }).unwrap();
    let (engine, _) = engine([rule("unused", &["global"], 1)]);
    engine.swap_policy(policy);
    let of = |address: [u8; 4], about| ask(&engine, &Ask { client: Some(address.into()), ..caller() }, about);
    let office = of([198, 51, 100, 1], None).unwrap();
    assert_eq!(office.settled(), Some(&Settled::Allowed(Entry::Listed("office".into()))));
    assert_eq!(office.places().count(), 0);
    assert!(matches!(of([203, 0, 113, 1], None).unwrap_err().settled(), Some(Settled::Blocked(_))));
    // An entry for some requests says nothing of all, but of those.
    assert_eq!(lines(&of([192, 0, 2, 1], None).unwrap()), ["all * 5/5"]);
    let health = of([192, 0, 2, 1], Some(("GET", "/healthz"))).unwrap();
    assert!(matches!(health.settled(), Some(Settled::Allowed(_))));
    let bad = Ask { bad_credentials: true, ..caller() };
    assert_eq!(ask(&engine, &bad, None).unwrap_err().settled(), Some(&Settled::BadCredentials));
}

#[test]
fn the_list_ends_somewhere() {
    let rules: Vec<RuleSource> = (0..300).map(|i| rule(&format!("r{i}"), &["ip"], 1)).collect();
    let (engine, _) = engine(rules);
    let standing = ask(&engine, &caller(), None).unwrap();
    assert_eq!(standing.places().count(), 256);
    assert!(standing.is_truncated());
}

#[test]
fn the_name_of_its_limit_is_taken() {
    let rules = vec![rule(STATUS_RULE, &["ip"], 1)];
    let errors = Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap_err();
    assert_eq!(errors.0.len(), 1);
    assert!(matches!(errors.0[0].problem, Problem::ReservedName(_)));
}
