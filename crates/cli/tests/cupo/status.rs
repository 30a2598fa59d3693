//! The status endpoint: callers are told every limit that applies to them, and asking takes nothing.

use std::net::SocketAddr;

use cupo_testkit::redis::RedisServer;
use serde_json::Value;

use crate::client::{Client, Response, get, request};
use crate::process::{Gateway, PolicyFile, Stream};
use crate::upstream;

const RULES: &str = "rules:
  - { name: global, key: global, limit: { algorithm: fixed_window, rate: 1000/1000d } }
  - { name: keyed, key: api_key, limit: 20/1000d, on_missing: skip }
  - { name: orders, match: { method: POST, path: '/orders/{id}' }, key: [api_key, route], limit: 5/1000d }
  - { name: bucket, key: ip, limit: { algorithm: token_bucket, capacity: 50, refill: 1/1000d } }
  - { name: log, key: ip, limit: { algorithm: sliding_window_log, rate: 40/1h } }
  - { name: queue, match: { path: /slow }, key: ip, limit: { algorithm: leaky_bucket, rate: 1/1000d, queue: 3 } }
";

fn line(response: &Response, name: &str) -> Value {
    let json = response.json();
    let lines = json["limits"].as_array().unwrap();
    lines.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("no {name} in {json}")).clone()
}

fn status(address: SocketAddr, query: &str) -> Response {
    let response = request(address, "GET", &format!("/rate-limit-status{query}"), &["X-API-Key: k1"]);
    assert_eq!(response.status, 200, "{response:?}");
    response
}

/// The same on every store.
fn tells(gateway: &Gateway) {
    let address = gateway.address;
    for path in ["/orders/7", "/orders/8", "/"] {
        let method = if path == "/" { "GET" } else { "POST" };
        assert_eq!(request(address, method, path, &["X-API-Key: k1", "Content-Length: 0"]).status, 200);
    }
    let before = status(address, "");
    for _ in 0..5 {
        let again = status(address, "");
        for (name, left) in
            [("global", 997), ("keyed", 17), ("orders", 3), ("bucket", 47), ("log", 37), ("queue", 4)]
        {
            assert_eq!(line(&again, name)["remaining"], left, "{name}: {again:?}");
        }
    }
    assert_eq!(line(&before, "global")["limit"], 1000);
    assert_eq!(line(&before, "global")["scope"], "global");
    assert_eq!(line(&before, "global")["window"], "1000d");
    assert_eq!(line(&before, "log")["window"], "1h");
    assert_eq!(line(&before, "orders")["endpoint"], "POST /orders/{id}");
    assert_eq!(line(&before, "orders")["scope"], "api_key, route");
    assert_eq!(line(&before, "queue")["endpoint"], "/slow");
    // It says what the fields of a response say.
    let next = request(address, "GET", "/", &["X-API-Key: k1"]);
    assert_eq!(line(&status(address, ""), "keyed")["remaining"], next.remaining());
    assert_eq!(line(&status(address, ""), "keyed")["reset"], next.number("x-ratelimit-reset").unwrap());
    // About one endpoint only what counts there, in any spelling.
    let there = status(address, "?method=post&path=/orders//9");
    assert_eq!(line(&there, "orders")["remaining"], 3);
    assert!(there.json()["limits"].as_array().unwrap().iter().all(|line| line["name"] != "queue"));
    // Another key stands by itself; a caller without one is told of no limit of keys.
    let other = request(address, "GET", "/rate-limit-status", &["X-API-Key: k2"]);
    assert_eq!(line(&other, "keyed")["remaining"], 20);
    let none = get(address, "/rate-limit-status").json();
    assert!(none["limits"].as_array().unwrap().iter().all(|line| line["name"] != "keyed"), "{none}");
    assert_eq!(before.header("cache-control"), Some("no-store"));
}

#[test]
fn callers_are_told_their_limits_from_memory() {
    tells(&Gateway::with_policy(&PolicyFile::new(RULES), upstream::ok()));
}

#[test]
fn callers_are_told_their_limits_from_redis() {
    let server = RedisServer::standalone().start();
    let policy = format!("store: {{ redis: {{ url: {} }} }}\n{RULES}", server.url());
    let gateway = Gateway::with_policy(&PolicyFile::new(&policy), upstream::ok());
    cupo_testkit::redis::until("the store decides", || {
        get(gateway.address, "/rate-limit-status").json()["limits"].is_array().then_some(())
    });
    tells(&gateway);
    let shared = Gateway::with_policy(&PolicyFile::new(&policy), upstream::ok());
    cupo_testkit::redis::until("the other gateway tells the same", || {
        let response = request(shared.address, "GET", "/rate-limit-status", &["X-API-Key: k1"]);
        (response.status == 200 && line(&response, "orders")["remaining"] == 3).then_some(())
    });
    server.assert_every_key_has_a_ttl();
}

#[test]
fn asking_too_often_is_refused_and_costs_nothing_else() {
    let policy = PolicyFile::new(
        "status: { path: /limits, limit: 3/1000d }\naccess_log: true\nrules: [{ name: all, key: ip, limit: 9/1000d }]\n",
    );
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    for spelling in ["/limits", "/limits/", "//limits?path=x"] {
        assert_eq!(client.get(spelling).status, 200, "{spelling}");
    }
    let refused = client.get("/limits");
    assert_eq!((refused.status, refused.header("x-ratelimit-limit")), (429, Some("3")));
    assert!(refused.number("retry-after").unwrap() > 0);
    assert_eq!(client.get("/").remaining(), 8);
    assert_eq!(client.request("POST", "/limits", &["Content-Length: 0"]).status, 405);
    let logged = gateway.line(|line| line.contains("\"/limits\""));
    assert!(logged.contains("status"), "{logged}");
    let (_, said) = {
        gateway.signal(rustix::process::Signal::TERM);
        gateway.end()
    };
    assert!(said.iter().any(|(stream, line)| *stream == Stream::Out && line.contains("deny")), "{said:?}");
}

#[test]
fn it_can_be_switched_off() {
    let policy = PolicyFile::new("status: none\nrules: [{ name: all, key: ip, limit: 9/1000d }]\n");
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let passed = get(gateway.address, "/rate-limit-status");
    assert_eq!((passed.status, passed.remaining()), (200, 8), "it is a path like any other");
}

#[test]
fn without_the_store_it_says_unavailable() {
    let mut server = RedisServer::standalone().start();
    let policy = format!("store: {{ redis: {{ url: {} }} }}\n{RULES}", server.url());
    let gateway = Gateway::with_policy(&PolicyFile::new(&policy), upstream::ok());
    server.kill9();
    let response = get(gateway.address, "/rate-limit-status");
    assert_eq!((response.status, response.header("retry-after")), (503, Some("1")), "{response:?}");
}
