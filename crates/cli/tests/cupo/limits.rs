//! A bucket of ten admits exactly ten of twenty, however they come, and says so on every response.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;

use crate::client::{Client, Response, get};
use crate::process::{Gateway, PolicyFile, run_to_end};
use crate::upstream;

/// Ten of each algorithm, and nothing more for years: what the clock does between two requests does not matter.
const TEN: [(&str, &str); 6] = [
    ("fixed_window", "{ algorithm: fixed_window, count: 10, window: 1000d }"),
    ("first_request", "{ algorithm: fixed_window, count: 10, window: 1000d, anchor: first_request }"),
    ("sliding_window_log", "{ algorithm: sliding_window_log, count: 10, window: 1000d }"),
    ("sliding_window_counter", "{ algorithm: sliding_window_counter, count: 10, window: 1000d }"),
    ("token_bucket", "{ algorithm: token_bucket, capacity: 10, refill: 10/1000d }"),
    ("leaky_bucket", "{ algorithm: leaky_bucket, rate: 10/1000d, queue: 9 }"),
];

fn ten(limit: &str) -> Gateway {
    let policy = PolicyFile::new(&format!("rules:\n  - {{ name: ten, key: ip, limit: {limit} }}\n"));
    Gateway::with_policy(&policy, upstream::ok())
}

fn statuses(responses: &[Response]) -> (usize, usize) {
    let count = |status| responses.iter().filter(|response| response.status == status).count();
    (count(200), count(429))
}

/// What every response of a limited request says, whatever the algorithm.
fn headers_are_right(response: &Response) {
    assert_eq!(response.number("x-ratelimit-limit"), Some(10), "{response:?}");
    assert!(response.number("x-ratelimit-reset").unwrap() > 1_700_000_000, "{response:?}");
    assert_eq!(response.of_rules("q").into_iter().collect::<Vec<_>>(), [("ten".to_owned(), 10)]);
    assert_eq!(response.of_rules("r").get("ten"), Some(&response.remaining()), "{response:?}");
    assert!(response.of_rules("t")["ten"] > 0, "{response:?}");
    if response.status == 429 {
        assert!(response.number("retry-after").unwrap() >= 1, "{response:?}");
        assert_eq!(response.remaining(), 0);
        assert_eq!(response.header("content-type"), Some("application/problem+json"));
        assert_eq!(response.json()["status"], 429);
        assert_eq!(response.json()["violated-policies"][0], "ten");
    } else {
        assert_eq!(response.header("retry-after"), None, "{response:?}");
        assert_eq!(response.body, "ok");
    }
}

#[test]
fn one_after_another_on_one_connection() {
    for (name, limit) in TEN {
        let gateway = ten(limit);
        let mut client = Client::new(gateway.address);
        for asked in 0..20 {
            let response = client.get("/");
            assert_eq!(response.status, if asked < 10 { 200 } else { 429 }, "{name}, request {asked}");
            assert_eq!(response.remaining(), 9_u64.saturating_sub(asked), "{name}");
            headers_are_right(&response);
        }
    }
}

#[test]
fn one_after_another_on_twenty_connections() {
    for (name, limit) in TEN {
        let gateway = ten(limit);
        let responses: Vec<Response> = (0..20).map(|_| get(gateway.address, "/")).collect();
        assert!(responses[..10].iter().all(|response| response.status == 200), "{name}");
        assert!(responses[10..].iter().all(|response| response.status == 429), "{name}");
        responses.iter().for_each(headers_are_right);
    }
}

#[test]
fn all_at_once_on_twenty_connections() {
    for (name, limit) in TEN {
        for _ in 0..3 {
            let gateway = ten(limit);
            let start = Arc::new(Barrier::new(20));
            let clients: Vec<_> = (0..20)
                .map(|_| {
                    let (mut client, start) = (Client::new(gateway.address), Arc::clone(&start));
                    thread::spawn(move || {
                        start.wait();
                        client.get("/")
                    })
                })
                .collect();
            let responses: Vec<Response> = clients.into_iter().map(|client| client.join().unwrap()).collect();
            assert_eq!(statuses(&responses), (10, 10), "{name}");
            responses.iter().for_each(headers_are_right);
            // Each admitted one took another unit.
            let admitted = responses.iter().filter(|response| response.status == 200);
            let left: BTreeSet<u64> = admitted.map(Response::remaining).collect();
            assert_eq!(left, (0..10).collect(), "{name}");
        }
    }
}

#[test]
fn the_line_of_the_readme_with_a_real_client() {
    let options = ["--upstream", "demo", "--limit", "10/1000d", "--algorithm", "token_bucket"];
    let mut gateway = Gateway::start(&options);
    let line = gateway.line(|line| line.contains("for i in $(seq 20)"));
    let mut shell = Command::new("sh");
    shell.args(["-c", line.trim()]);
    let ran = run_to_end(shell, "");
    assert_eq!(ran.out, "200\n".repeat(10) + &"429\n".repeat(10), "{ran:?}");
}

#[test]
fn several_rules_are_charged_all_or_nothing() {
    let policy = PolicyFile::new(
        "rules:
  - { name: wide, key: global, limit: 100/1000d }
  - { name: narrow, match: { path: /narrow }, key: ip, limit: { algorithm: token_bucket, capacity: 3, refill: 1/1000d } }
  - { name: dear, match: { path: /narrow }, key: ip, limit: { algorithm: fixed_window, count: 50, window: 1000d }, cost: 5 }
",
    );
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    for (asked, left) in [(0, 2), (1, 1), (2, 0)] {
        let response = client.get("/narrow");
        assert_eq!((response.status, response.remaining()), (200, left));
        let all = response.of_rules("r");
        assert_eq!((all["wide"], all["narrow"], all["dear"]), (99 - asked, left, 45 - asked * 5));
    }
    for _ in 0..4 {
        let response = client.get("/narrow");
        assert_eq!((response.status, response.remaining()), (429, 0));
        assert_eq!(response.json()["violated-policies"], serde_json::json!(["narrow"]));
        // The real balances, which the denial did not touch.
        let all = response.of_rules("r");
        assert_eq!((all["wide"], all["narrow"], all["dear"]), (97, 0, 35));
    }
    let response = client.get("/elsewhere");
    assert_eq!(
        (response.status, response.number("x-ratelimit-limit"), response.remaining()),
        (200, Some(100), 96)
    );
}

#[test]
fn a_limit_of_nothing_admits_nothing() {
    for options in [
        ["--limit", "0/minute", "--algorithm", "fixed_window"],
        ["--limit", "0/minute", "--algorithm", "token_bucket"],
    ] {
        let gateway = Gateway::start(&[&["--upstream", "demo"], options.as_slice()].concat());
        let response = get(gateway.address, "/");
        assert_eq!((response.status, response.remaining()), (429, 0));
        assert_eq!(response.header("retry-after"), None, "waiting does not help: {response:?}");
    }
}
