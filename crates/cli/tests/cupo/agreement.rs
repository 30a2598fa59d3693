//! The gateway and `replay` say the same of the same requests, for every algorithm and every kind of key.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::client::Client;
use crate::process::{Gateway, PolicyFile, root, run};
use crate::upstream;

fn example() -> String {
    std::fs::read_to_string(root().join("examples/every-algorithm-and-key.yaml")).unwrap()
}

/// The example with every span so long that nothing comes back during this test, and nobody held; each replacement must hit.
fn slowed() -> String {
    let mut text = example();
    for (from, to) in [
        ("/minute", "/1000d"),
        ("/second", "/1000d"),
        ("/500ms", "/1000d"),
        ("per 10s", "per 1000d"),
        ("window: 1h", "window: 1000d"),
        ("window: 10m", "window: 1000d"),
        ("action: delay", "action: deny"),
        // And so that each algorithm comes to refuse.
        ("count: 100,", "count: 40,"),
        ("count: 1000,", "count: 50,"),
        ("capacity: 50,", "capacity: 60,"),
        ("queue: 200 ", "queue: 80 "),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

struct Asked {
    method: &'static str,
    target: &'static str,
    headers: Vec<(&'static str, &'static str)>,
}

/// Requests of many kinds in an order that mixes them, the same at every run.
fn requests() -> Vec<Asked> {
    let targets = [
        ("GET", "/"),
        ("GET", "/account/settings"),
        ("POST", "/orders/17"),
        ("post", "/orders/17"),
        ("POST", "//orders/./18/"),
        ("GET", "/items/42?tenant=a"),
        ("GET", "/items/43?x=1&tenant=b%20c"),
        ("DELETE", "/%6frders/19?tenant=a&tenant=b"),
        ("GET", "/internal/x"),
        ("GET", "/items/../internal;v=1/x"),
        ("HEAD", "/items/3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
    ];
    let headers = [
        ("x-forwarded-for", "203.0.113.1"),
        ("x-forwarded-for", "6.6.6.6, 198.51.100.7:4711"),
        ("x-forwarded-for", "[2001:db8::1]:80"),
        ("x-forwarded-for", "unknown"),
        ("x-team", "red"),
        ("X-Team", "blue"),
        ("x-user", "alice"),
        ("x-user", "bob"),
        ("x-api-key", "k-1"),
        ("x-api-key", "k-2"),
        ("cookie", "a=1; session=s1"),
        ("cookie", "session=\"s2\"; session=s1"),
        ("host", "other.example:8080"),
    ];
    let mut random = 12_345_u64;
    let mut pick = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % below
    };
    (0..1_000)
        .map(|_| {
            let (method, target) = targets[pick(targets.len())];
            let mut chosen = vec![];
            for _ in 0..pick(6) {
                let (name, value) = headers[pick(headers.len())];
                // Of the host there is one.
                if name != "host" || !chosen.iter().any(|(other, _)| *other == "host") {
                    chosen.push((name, value));
                }
            }
            Asked { method, target, headers: chosen }
        })
        .collect()
}

fn event(asked: &Asked) -> Value {
    let mut headers: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    headers.insert("host".into(), vec!["shop.example"]);
    if asked.headers.iter().any(|(name, _)| *name == "host") {
        headers.remove("host");
    }
    for (name, value) in &asked.headers {
        headers.entry(name.to_ascii_lowercase()).or_default().push(value);
    }
    json!({
        "t_us": 1_795_986_000_000_000_u64, "peer": "127.0.0.1", "method": asked.method, "path": asked.target,
        "headers": headers,
    })
}

#[test]
fn the_same_requests_get_the_same_answers() {
    let policy = PolicyFile::new(&slowed());
    let asked = requests();
    let events: String = asked.iter().map(|asked| format!("{}\n", event(asked))).collect();
    let ran = run(&["replay", &policy.path()], events);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), asked.len());

    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    let (mut rules, mut refusers) = (BTreeSet::new(), BTreeSet::new());
    for (asked, answer) in asked.iter().zip(&answers) {
        let fields: Vec<String> =
            asked.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let response = client.request(asked.method, asked.target, &fields);
        let about = format!("{} {} {fields:?}\n{response:?}\n{answer}", asked.method, asked.target);

        let allowed = answer["allowed"].as_bool().unwrap();
        let lacks = answer["lacks"].as_str();
        let status = if allowed {
            200
        } else if lacks.is_some() {
            403
        } else {
            429
        };
        assert_eq!(response.status, status, "{about}");
        // Rule by rule, the enforced ones.
        let decisions = answer["decisions"].as_array().unwrap();
        let enforced = || decisions.iter().filter(|decision| decision["shadow"] != true);
        let numbers = |field: &str| -> BTreeMap<String, u64> {
            enforced().map(|d| (d["rule"].as_str().unwrap().to_owned(), d[field].as_u64().unwrap())).collect()
        };
        assert_eq!(response.of_rules("r"), numbers("remaining"), "{about}");
        assert_eq!(response.of_rules("q"), numbers("limit"), "{about}");
        // The rule that binds.
        if let (Some(binding), None) = (answer["binding"].as_str(), lacks) {
            assert_eq!(response.remaining(), numbers("remaining")[binding], "{about}");
            assert_eq!(response.number("x-ratelimit-limit"), Some(numbers("limit")[binding]), "{about}");
        }
        rules.extend(decisions.iter().map(|d| d["rule"].as_str().unwrap().to_owned()));
        let refusing = enforced().filter(|decision| decision["verdict"] != "admit");
        refusers.extend(refusing.map(|decision| decision["rule"].as_str().unwrap().to_owned()));
        refusers.extend(lacks.map(str::to_owned));
    }
    // It was a good mix: every rule but the one that no gateway can meet, and refusals by many.
    assert_eq!(rules.len(), 13, "{rules:?}");
    for rule in [
        "token-bucket",
        "sliding-window-log",
        "leaky-bucket",
        "fixed-window",
        "by-client-and-endpoint",
        "by-cookie",
        "closed",
    ] {
        assert!(refusers.contains(rule), "{refusers:?}");
    }
}

#[test]
fn the_example_itself_serves() {
    let policy = PolicyFile::new(&example());
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    for (target, fields, status) in [
        ("/", vec![], 200),
        ("/account/x", vec![], 403),
        ("/account/x", vec!["Cookie: session=1"], 200),
        ("/internal/x", vec![], 429),
        ("/search?tenant=1", vec!["X-User: alice", "X-Team: red", "X-API-Key: k"], 200),
    ] {
        assert_eq!(client.request("GET", target, &fields).status, status, "{target}");
    }
}
