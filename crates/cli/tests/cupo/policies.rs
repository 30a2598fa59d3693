//! Large policies, and rules that only watch.

use std::fmt::Write as _;

use crate::client::Client;
use crate::process::{Gateway, PolicyFile, run};
use crate::upstream;

const MIB: usize = 1 << 20;

#[test]
fn a_file_of_1_mib_is_taken_and_a_byte_more_is_not() {
    let rule = "rules:\n  - { name: r, key: ip, limit: 2/1000d }\n";
    let filler = format!("# {}\n", "x".repeat(97)).repeat(MIB / 100 + 1);
    let filled = |length: usize| format!("{}{}\n{rule}", &filler[..length - rule.len() - 4], "\n# ");
    let largest = PolicyFile::new(&filled(MIB));
    assert_eq!(std::fs::metadata(largest.path()).unwrap().len(), 1 << 20);
    assert_eq!(run(&["check", &largest.path()], "").code, Some(0));
    let gateway = Gateway::with_policy(&largest, upstream::ok());
    let mut client = Client::new(gateway.address);
    assert_eq!([200, 200, 429], [(); 3].map(|()| client.get("/").status));

    let larger = PolicyFile::new(&filled(MIB + 1));
    for command in [vec!["check"], vec!["replay"], vec!["serve", "--upstream", "demo", "-c"]] {
        let ran = run(&[command.as_slice(), &[&larger.path()]].concat(), "");
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{command:?}");
        assert!(ran.err.contains("1 MiB") || ran.err.contains("1048576"), "{}", ran.err);
        assert!(ran.err.contains("hint: "), "{}", ran.err);
    }
}

#[test]
fn two_thousand_rules_are_served() {
    let mut text = "rules:\n".to_owned();
    for number in 0..2_000 {
        writeln!(
            text,
            "  - {{ name: r{number}, match: {{ path: /r/{number} }}, key: ip, limit: {}/1000d }}",
            number % 7 + 1
        )
        .unwrap();
    }
    // And a request that meets a hundred of them.
    for number in 0..100 {
        writeln!(
            text,
            "  - {{ name: all{number}, match: {{ path: /all }}, key: ip, limit: {}/1000d }}",
            number + 3
        )
        .unwrap();
    }
    let policy = PolicyFile::new(&text);
    let ran = run(&["check", &policy.path()], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out.matches("\nrule ").count(), 2_100);
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    for number in [0, 1, 999, 1_999] {
        let limit = number % 7 + 1;
        for asked in 0..limit + 1 {
            let response = client.get(&format!("/r/{number}"));
            assert_eq!(response.status, if asked < limit { 200 } else { 429 });
            assert_eq!(response.of_rules("r").into_keys().collect::<Vec<_>>(), [format!("r{number}")]);
        }
    }
    for status in [200, 200, 200, 429] {
        let response = client.get("/all");
        assert_eq!((response.status, response.of_rules("q").len()), (status, 100));
    }
}

#[test]
fn a_shadow_rule_never_denies() {
    let policy = PolicyFile::new(
        "rules:
  - { name: trial, key: ip, limit: 1/1000d, action: shadow }
  - { name: closed, key: ip, limit: 0/1000d, action: shadow }
  - { name: keyed, key: api_key, limit: 5/1000d, action: shadow, on_missing: deny }
  - { name: real, match: { path: /real }, key: ip, limit: 3/1000d }
",
    );
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    for _ in 0..10 {
        let response = client.get("/");
        assert_eq!(
            (response.status, response.header("ratelimit"), response.header("retry-after")),
            (200, None, None)
        );
    }
    for status in [200, 200, 200, 429] {
        let response = client.get("/real");
        // Nor does it speak.
        assert_eq!(
            (response.status, response.of_rules("r").into_keys().collect()),
            (status, vec!["real".to_owned()])
        );
    }
    // In a replay it shows.
    let ran = run(&["replay", &policy.path()], "{\"t_us\":0}\n{\"t_us\":0}\n");
    let last: serde_json::Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["allowed"], &last["binding"]), (&true.into(), &serde_json::Value::Null));
    let trial = &last["decisions"][0];
    assert_eq!(
        (&trial["rule"], &trial["verdict"], &trial["shadow"]),
        (&"trial".into(), &"deny".into(), &true.into())
    );
}
