//! Keys, users and secrets that come several times: no companion takes a block or a plan away, and none gains anything.

use cupo_core::{
    CallerSource, ExemptionSource, ExemptionsSource, HeaderSecret, Limit, LimitSource, PlanFrom, PlansSource,
    PolicySource, RuleSource, TierSource, Who,
};

use crate::support::{Ask, MINUTE, engine_of, key, passes, policy, rule};

const SECRET: &str = "an-open-secret-of-32-characters.";

fn hash(key: &str) -> cupo_core::ApiKeyHash {
    policy([rule("any", &["global"], 1)]).hash_api_key(key.as_bytes()).unwrap()
}

fn of_key(key: &str) -> CallerSource {
    CallerSource::new(Who::ApiKey(hash(key)))
}

fn of_user(name: &str) -> CallerSource {
    CallerSource::new(Who::User(name.to_owned()))
}

fn plan(caller: CallerSource, plan: &str) -> CallerSource {
    CallerSource { plan: Some(plan.to_owned()), ..caller }
}

fn blocked(caller: CallerSource) -> CallerSource {
    CallerSource { blocked: true, ..caller }
}

fn keys(first: &'static str, more: &[&'static str]) -> Ask {
    Ask { api_key: Some(first), more_keys: more.to_vec(), ..Ask::from("192.0.2.1") }
}

fn users(first: &'static str, more: &[&'static str]) -> Ask {
    Ask { user: Some(first), more_users: more.to_vec(), ..Ask::from("192.0.2.1") }
}

/// How many of thirty requests pass: trial has 2, free 5, big 9.
fn passing(callers: &[CallerSource], exemptions: &ExemptionsSource, ask: &Ask) -> usize {
    let tier = |name: &str, count| TierSource {
        name: name.to_owned(),
        numbers: vec![("r".to_owned(), Some(Limit::sliding_window_log(count, MINUTE).unwrap()))],
    };
    let plans = PlansSource {
        tiers: vec![tier("trial", 2), tier("free", 5), tier("big", 9)],
        from: vec![PlanFrom::Callers],
        default: "free".to_owned(),
    };
    let rules = vec![RuleSource::new("r", key(&["api_key | user | ip"]), LimitSource::Plan("r".to_owned()))];
    let (callers, exemptions) = (callers.to_vec(), exemptions.clone());
    let (engine, _) =
        engine_of(PolicySource { plans, callers, rules, exemptions, ..PolicySource::default() });
    (0..30).filter(|_| passes(&engine, ask)).count()
}

#[test]
fn one_blocked_line_is_enough() {
    let callers = [blocked(of_key("bad")), blocked(of_user("mallory")), of_key("good"), of_user("alice")];
    let nothing = ExemptionsSource::default();
    for ask in [
        keys("bad", &[]),
        keys("bad", &["bad"]),
        keys("bad", &[""]),
        keys("", &["bad"]),
        keys("good", &["x", "bad"]),
        users("mallory", &[]),
        users("mallory", &["mallory"]),
        users("alice", &["mallory"]),
        Ask { user: Some("mallory"), ..keys("x", &["y"]) },
    ] {
        assert_eq!(passing(&callers, &nothing, &ask), 0, "{ask:?}");
    }
    for ask in [keys("good", &["x"]), users("alice", &["x"]), keys("several", &[])] {
        assert_eq!(passing(&callers, &nothing, &ask), 5, "{ask:?}");
    }
}

#[test]
fn repeating_gains_no_plan_and_nothing_that_is_said_in_favour() {
    let times = CallerSource { times: 2, ..plan(of_key("times"), "big") };
    let unlimited = CallerSource { unlimited: true, ..of_key("unlimited") };
    let callers = [
        plan(of_key("trial"), "trial"),
        times,
        unlimited,
        plan(of_user("tom"), "trial"),
        CallerSource { unlimited: true, ..of_user("root") },
    ];
    let nothing = ExemptionsSource::default();
    for (ask, expected) in [
        (keys("trial", &[]), 2),
        (keys("trial", &["trial"]), 2),
        (keys("trial", &[""]), 2),
        (keys("x", &["trial"]), 2),
        (keys("trial", &["times"]), 2),
        (keys("times", &[]), 18),
        (keys("times", &["times"]), 9),
        (keys("unlimited", &[]), 30),
        (keys("unlimited", &["unlimited"]), 5),
        (keys("unlimited", &["trial"]), 2),
        (keys("x", &["y"]), 5),
        (users("tom", &["tom"]), 2),
        (users("x", &["tom"]), 2),
        (users("root", &[]), 30),
        (users("root", &["root"]), 5),
        (Ask { user: Some("tom"), ..keys("x", &["y"]) }, 2),
    ] {
        assert_eq!(passing(&callers, &nothing, &ask), expected, "{ask:?}");
    }
}

#[test]
fn lists_block_by_any_line_and_allow_by_a_single_key() {
    let entry = |name: &str, key: Option<&str>| ExemptionSource {
        name: name.to_owned(),
        api_keys: key.map(|key| hash(key).0).into_iter().collect(),
        secret: key.is_none().then(|| HeaderSecret::new("x-secret", SECRET.as_bytes()).unwrap()),
        ..ExemptionSource::default()
    };
    let lists =
        ExemptionsSource { allow: vec![entry("a", Some("ok"))], block: vec![entry("b", Some("bad"))] };
    // The second list of callers makes the key's hash known beforehand.
    for callers in [vec![], vec![plan(of_key("other"), "free")]] {
        for (ask, expected) in [
            (keys("bad", &[]), 0),
            (keys("bad", &["bad"]), 0),
            (keys("bad", &[""]), 0),
            (keys("ok", &["bad"]), 0),
            (keys("ok", &[]), 30),
            (keys("ok", &["ok"]), 5),
            (keys("ok", &["x"]), 5),
            (keys("x", &["y"]), 5),
        ] {
            assert_eq!(passing(&callers, &lists, &ask), expected, "{ask:?}");
        }
    }
    let secrets = |lines: &[&'static str]| Ask {
        named: lines.iter().map(|line| ("header:x-secret", *line)).collect(),
        ..Ask::from("192.0.2.1")
    };
    let (block, allow) = (vec![entry("s", None)], vec![entry("s", None)]);
    let (block, allow) = (
        ExemptionsSource { block, ..ExemptionsSource::default() },
        ExemptionsSource { allow, ..ExemptionsSource::default() },
    );
    for (lines, blocks, allows) in [
        (&[SECRET][..], 0, 30),
        (&[SECRET, SECRET], 0, 30),
        (&["x", SECRET], 0, 5),
        (&["x"], 5, 5),
        (&[], 5, 5),
    ] {
        assert_eq!(passing(&[], &block, &secrets(lines)), blocks, "{lines:?}");
        assert_eq!(passing(&[], &allow, &secrets(lines)), allows, "{lines:?}");
    }
}
