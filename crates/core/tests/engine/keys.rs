//! Whom a rule counts together, and whom apart.

use cupo_core::{KeySpec, KeySpecError, OnMissing, RuleSource};

use crate::support::{Ask, engine, passes, ready, rule};

/// Whether a rule that lets one request pass counts both together.
fn together(parts: &[&str], one: &Ask, other: &Ask) -> bool {
    let (engine, _) = engine([rule("r", parts, 1)]);
    assert!(passes(&engine, one), "the first of a key passes");
    !passes(&engine, other)
}

fn named(name: &'static str, value: &'static str) -> Ask {
    Ask { named: vec![(name, value)], ..Ask::default() }
}

#[test]
fn each_kind_tells_its_own_values_apart() {
    let user = |user| Ask { user: Some(user), ..Ask::default() };
    let api_key = |api_key| Ask { api_key: Some(api_key), ..Ask::default() };
    let method = |method| Ask { method: Some(method), ..Ask::default() };
    let host = |host| Ask { host: Some(host), ..Ask::default() };
    for (part, one, other) in [
        ("ip", Ask::from("192.0.2.1"), Ask::from("192.0.2.2")),
        ("user", user("a"), user("b")),
        ("api_key", api_key("a"), api_key("b")),
        ("method", method("GET"), method("POST")),
        ("host", host("a.example"), host("b.example")),
        ("route", Ask::get("/a"), Ask::get("/b")),
        ("header(x-a)", named("header:x-a", "1"), named("header:x-a", "2")),
        ("query(a)", named("query:a", "1"), named("query:a", "2")),
        ("cookie(a)", named("cookie:a", "1"), named("cookie:a", "2")),
        ("descriptor(a)", named("descriptor:a", "1"), named("descriptor:a", "2")),
    ] {
        assert!(together(&[part], &one, &one), "{part}: the same value is one key");
        assert!(!together(&[part], &one, &other), "{part}: other values are other keys");
    }
    assert!(together(&["global"], &Ask::from("192.0.2.1"), &Ask::from("192.0.2.2")));
}

#[test]
fn spellings_of_one_thing_are_one_key() {
    let host = |host| Ask { host: Some(host), ..Ask::default() };
    assert!(together(&["host"], &host("Api.Example."), &host("api.example")));
    let api_key = |api_key| Ask { api_key: Some(api_key), ..Ask::default() };
    assert!(together(&["api_key"], &api_key(" k1"), &api_key("k1 ")));
    assert!(together(&["ip"], &Ask::from("::ffff:192.0.2.1"), &Ask::from("192.0.2.1")));
    assert!(together(&["ip"], &Ask::from("2001:db8::1"), &Ask::from("2001:db8::ffff:2")));
    assert!(together(&["route"], &Ask::get("/a//b/./c/"), &Ask::get("/a/b/c")));
    assert!(together(&["route"], &Ask::get("/users/1"), &Ask::get("/users/2")));
    let head = Ask { method: Some("HEAD"), ..Ask::get("/a") };
    assert!(together(&["route"], &head, &Ask::get("/a")));
    assert!(together(&["header(X-A)"], &named("header:x-a", "1"), &named("header:x-a", "1")));
}

#[test]
fn a_template_of_the_policy_names_the_route() {
    let mut by_name = rule("named", &["route"], 1);
    by_name.matches.path = Some("/files/{name}".into());
    let (engine, _) = engine([by_name]);
    assert!(passes(&engine, &Ask::get("/files/a")));
    assert!(!passes(&engine, &Ask::get("/files/b")), "one template, one route");
    assert!(passes(&engine, &Ask::get("/other/b")), "what does not match is not counted");
}

#[test]
fn long_values_keep_keys_short_and_apart() {
    let long: &'static str = Box::leak("u".repeat(10_000).into_boxed_str());
    let longer: &'static str = Box::leak("u".repeat(10_001).into_boxed_str());
    let user = |user| Ask { user: Some(user), ..Ask::default() };
    assert!(together(&["user"], &user(long), &user(long)));
    assert!(!together(&["user"], &user(long), &user(longer)));
    let (engine, _) = engine([rule("r", &["user"], 1)]);
    let outcome = ready(engine.decide(&user(long))).unwrap();
    assert!(outcome.binding().unwrap().key.as_bytes().len() < 100);
}

#[test]
fn secrets_do_not_show_in_keys() {
    let ask = Ask {
        api_key: Some("hunter2-key"),
        named: vec![
            ("header:authorization", "Bearer hunter2"),
            ("cookie:sid", "hunter2"),
            ("query:token", "hunter2"),
        ],
        ..Ask::default()
    };
    let parts = ["api_key", "header(authorization)", "cookie(sid)", "query(token)"];
    let (engine, _) = engine([rule("r", &parts, 1)]);
    let outcome = ready(engine.decide(&ask)).unwrap();
    let key = outcome.binding().unwrap().key;
    assert!(!key.as_bytes().windows(7).any(|w| w == b"hunter2"));
    let shown = key.to_string();
    assert!(!shown.contains("hunter2") && shown.matches("=sha256:").count() == 4, "{shown}");
}

#[test]
fn the_first_alternative_that_is_present_counts() {
    let parts = ["api_key | ip"];
    let keyed = |address, api_key| Ask { api_key: Some(api_key), ..Ask::from(address) };
    assert!(together(&parts, &keyed("192.0.2.1", "k"), &keyed("192.0.2.2", "k")));
    assert!(!together(&parts, &keyed("192.0.2.1", "k"), &Ask::from("192.0.2.1")), "kinds do not mix");
    assert!(together(&parts, &keyed("192.0.2.1", " "), &Ask::from("192.0.2.1")), "a blank key is no key");
}

#[test]
fn composites_count_each_combination() {
    let ask = |user, path| Ask { user: Some(user), ..Ask::get(path) };
    let parts = ["user", "route"];
    assert!(together(&parts, &ask("a", "/x"), &ask("a", "/x")));
    assert!(!together(&parts, &ask("a", "/x"), &ask("a", "/y")));
    assert!(!together(&parts, &ask("a", "/x"), &ask("b", "/x")));
}

#[test]
fn what_is_missing_is_the_rules_to_answer() {
    let answer = |on_missing| engine([RuleSource { on_missing, ..rule("r", &["user"], 1) }]).0;
    let nobody = Ask::from("192.0.2.1");

    let skip = answer(OnMissing::Skip);
    assert!((0..5).all(|_| passes(&skip, &nobody)), "the rule does not apply");

    let shared = answer(OnMissing::Shared);
    assert!(passes(&shared, &nobody));
    assert!(!passes(&shared, &Ask::from("192.0.2.2")), "all that lack it share one counter");
    assert!(passes(&shared, &Ask { user: Some("a"), ..nobody.clone() }), "those that have it do not");

    let deny = answer(OnMissing::Deny);
    let outcome = ready(deny.decide(&nobody)).unwrap();
    assert!(!outcome.is_admitted());
    assert_eq!(outcome.lacks().map(cupo_core::Rule::name), Some("r"));
    assert_eq!(outcome.retry_after(), None, "waiting does not help");
    assert!(outcome.binding().is_none());
}

#[test]
fn keys_are_shown_to_people() {
    let ask = Ask { user: Some("ada"), host: Some("A.example"), ..Ask::get("/users/7/posts") };
    let ask = Ask { client: Some("2001:db8::1".parse().unwrap()), ..ask };
    let shown = |parts: &[&str]| {
        let (engine, _) = engine([RuleSource { on_missing: OnMissing::Shared, ..rule("r", parts, 1) }]);
        ready(engine.decide(&ask)).unwrap().binding().unwrap().key.to_string()
    };
    assert_eq!(shown(&["global"]), "r global");
    assert_eq!(shown(&["ip"]), "r ip=2001:db8::");
    assert_eq!(shown(&["user", "route"]), "r user=ada route=GET:/users/{id}/posts");
    assert_eq!(shown(&["host", "descriptor(plan)"]), "r host=a.example missing");
}

#[test]
fn a_bad_key_says_what_may_be_written() {
    let message = |parts: &[&str]| KeySpec::parse(parts).unwrap_err().to_string();
    assert!(message(&[]).contains("api_key"));
    assert!(message(&["ip", " "]).contains("header(NAME)"));
    assert!(message(&["ipp"]).contains("`ipp`"));
    assert!(message(&["header"]).contains("`header`"));
    assert!(message(&["header("]).contains("`header(`"));
    assert!(message(&["header()"]).contains("needs a name"));
    assert!(message(&["header(a b)"]).contains("needs a name"));
    assert!(message(&["ip(x)"]).contains("`ip(x)`"));
    assert!(matches!(KeySpec::parse(&["ip | ip"]), Err(KeySpecError::Twice { .. })));
    assert!(matches!(KeySpec::parse(&["user | ip", "ip"]), Err(KeySpecError::Twice { .. })));
    assert!(matches!(KeySpec::parse(&["global | ip"]), Err(KeySpecError::NeverReached { .. })));
}

#[test]
fn nobody_makes_up_a_counter_by_a_method() {
    for parts in [&["ip", "route"][..], &["ip", "method"]] {
        let (engine, _) = engine([rule("one", parts, 1)]);
        let ask = |method| {
            let ask = Ask { method: Some(method), path: Some("/o/7"), ..Ask::from("192.0.2.1") };
            ready(engine.decide(&ask)).unwrap().is_admitted()
        };
        assert!(ask("GET"));
        assert!(!ask("get") && !ask("Get"), "{parts:?}");
        assert!(ask("A1"));
        assert!(!ask("A2") && !ask("b3") && !ask("OTHER"), "{parts:?}");
        assert!(ask("PROPFIND"), "{parts:?}");
    }
}
