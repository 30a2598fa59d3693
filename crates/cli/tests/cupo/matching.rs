//! Which rules a request meets, by every condition and in every spelling.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use cupo_testkit::redis::RedisServer;

use crate::client::Client;
use crate::process::{Gateway, PolicyFile, run};
use crate::upstream;

/// A gateway whose rules, which are given as name and match, never refuse, and say by their fields that they were met.
fn gateway(rules: &[(&str, &str)], first_lines: &str) -> Gateway {
    let mut text = format!("{first_lines}\nrules:\n");
    for (name, matches) in rules {
        writeln!(text, "  - {{ name: {name}, match: {matches}, key: global, limit: 1000/1000d }}").unwrap();
    }
    Gateway::with_policy(&PolicyFile::new(&text), upstream::ok())
}

/// The rules that decided about a request, in the order in which the field names them.
fn met(client: &mut Client, method: &str, target: &str, fields: &[&str]) -> Vec<String> {
    let response = client.request(method, target, fields);
    assert_eq!(response.status, 200, "{method} {target} {fields:?}: {response:?}");
    let field = response.header("ratelimit-policy").unwrap_or_default();
    let names = field.split(", ").filter(|item| !item.is_empty());
    names.map(|item| item.split(';').next().unwrap().trim_matches('"').to_owned()).collect()
}

#[test]
fn a_request_meets_every_rule_that_it_matches_and_no_other() {
    let gateway = gateway(
        &[
            ("all", "{}"),
            ("get", "{ method: GET }"),
            ("post", "{ method: [POST, PUT] }"),
            ("posts", "{ path: \"/users/{id}/posts/**\" }"),
            ("users", "{ path: \"/users/**\" }"),
            ("me", "{ path: /users/me }"),
            ("api", "{ host: api.example.com }"),
            ("below", "{ host: [a.test, \"*.example.org\"] }"),
            ("beta", "{ header: { X-Beta: present } }"),
            ("batch", "{ header: { x-kind: batch job } }"),
            ("two", "{ header: { x-version: { regex: '^2\\.\\d+$' } } }"),
            ("local", "{ client: 127.0.0.0/8 }"),
            ("others", "{ client: [10.0.0.0/8, \"2001:db8::/32\"] }"),
            (
                "not-me",
                "{ path: \"/users/**\", not: [{ path: /users/me }, { header: { x-probe: present } }] }",
            ),
        ],
        "trusted_proxies: [127.0.0.1]",
    );
    let mut client = Client::new(gateway.address);
    let all = ["all", "get", "local"];
    for (method, target, fields, expected) in [
        ("GET", "/", vec![], all.to_vec()),
        ("HEAD", "/", vec![], all.to_vec()),
        ("PUT", "/", vec![], vec!["all", "post", "local"]),
        ("DELETE", "/users", vec![], vec!["all", "users", "local", "not-me"]),
        ("DELETE", "/users/7", vec![], vec!["all", "users", "local", "not-me"]),
        ("DELETE", "/users/7/posts", vec![], vec!["all", "posts", "users", "local", "not-me"]),
        ("DELETE", "/users/7/posts/1/2", vec![], vec!["all", "posts", "users", "local", "not-me"]),
        ("DELETE", "/users/me", vec![], vec!["all", "users", "me", "local"]),
        ("DELETE", "/users/7", vec!["X-Probe: 1"], vec!["all", "users", "local"]),
        ("GET", "/", vec!["Host: api.example.com"], vec!["all", "get", "api", "local"]),
        ("GET", "/", vec!["Host: a.b.example.org"], vec!["all", "get", "below", "local"]),
        ("GET", "/", vec!["Host: example.org"], all.to_vec()),
        ("GET", "/", vec!["x-BETA:"], vec!["all", "get", "beta", "local"]),
        ("GET", "/", vec!["x-kind:  batch job "], vec!["all", "get", "batch", "local"]),
        ("GET", "/", vec!["x-kind: batch"], all.to_vec()),
        ("GET", "/", vec!["x-kind: one", "x-kind: batch job"], vec!["all", "get", "batch", "local"]),
        ("GET", "/", vec!["x-version: 2.15"], vec!["all", "get", "two", "local"]),
        ("GET", "/", vec!["x-version: 12.0"], all.to_vec()),
        ("GET", "/", vec!["x-version: 2.\u{663}"], all.to_vec()),
        ("GET", "/", vec!["X-Forwarded-For: 10.1.2.3"], vec!["all", "get", "others"]),
        ("GET", "/", vec!["X-Forwarded-For: ::ffff:10.1.2.3"], vec!["all", "get", "others"]),
        ("GET", "/", vec!["X-Forwarded-For: 2001:db8::1"], vec!["all", "get", "others"]),
        ("GET", "/", vec!["X-Forwarded-For: 11.0.0.1"], vec!["all", "get"]),
    ] {
        assert_eq!(met(&mut client, method, target, &fields), expected, "{method} {target} {fields:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_matched_as_bytes() {
    let gateway = gateway(
        &[
            ("any", "{ header: { x-raw: { regex: '^.b$' } } }"),
            ("high", r#"{ header: { x-raw: { regex: '^\xff' } } }"#),
        ],
        "",
    );
    let mut client = Client::new(gateway.address);
    client.send(b"GET / HTTP/1.1\r\nHost: a\r\nX-Raw: \xffb\r\n\r\n");
    let response = client.read(true).unwrap();
    assert_eq!(response.of_rules("q").into_keys().collect::<Vec<_>>(), ["any", "high"], "{response:?}");
}

#[test]
fn no_spelling_of_a_host_evades_its_rule() {
    let gateway = gateway(
        &[
            ("api", "{ host: api.example.com }"),
            ("below", "{ host: \"*.example.com\" }"),
            ("v6", "{ host: \"[2001:DB8::1]\" }"),
        ],
        "",
    );
    let mut client = Client::new(gateway.address);
    for host in [
        "api.example.com",
        "API.EXAMPLE.COM",
        "Api.Example.Com.",
        "api.example.com..",
        "api.example.com:80",
        "api.example.com.:8080",
    ] {
        let host = format!("Host: {host}");
        assert_eq!(met(&mut client, "GET", "/", &[&host]), ["api", "below"], "{host}");
    }
    // The target names the host where it has one, and that is the one that is asked for.
    for target in ["http://API.example.com/", "http://api.example.com.:80/", "HTTP://api.example.com"] {
        assert_eq!(met(&mut client, "GET", target, &["Host: api.example.com"]), ["api", "below"], "{target}");
    }
    for host in ["[2001:db8::1]", "[2001:db8:0:0:0:0:0:1]:80", "[2001:0DB8::0001]"] {
        assert_eq!(met(&mut client, "GET", "/", &[&format!("Host: {host}")]), ["v6"], "{host}");
    }
    for host in ["example.com", "api.example.com.evil.test", "notexample.com", "[2001:db8::2]"] {
        assert!(met(&mut client, "GET", "/", &[&format!("Host: {host}")]).is_empty(), "{host}");
    }
}

/// Every spelling that a server may take for `/users/7/posts`, none of which a client that parses URLs would send.
const SPELLINGS: [&str; 24] = [
    "/users/7/posts",
    "/users/7/posts/",
    "/users/7/posts//",
    "//users/7/posts",
    "/users//7///posts",
    "/./users/./7/posts/.",
    "/users/x/../7/posts",
    "/users/7/posts/x/..",
    "/../users/7/posts",
    "/users/%37/posts",
    "/users/7/%70osts",
    "/users/7/%70%6F%73%74%73",
    "/users/7/%70%6f%73%74%73",
    "/users%2F7%2Fposts",
    "/users%2f7%2fposts",
    "/users/%2e/7/posts",
    "/users/%2E/7/%2e/posts",
    "/users/x/%2e%2e/7/posts",
    "/users/x/%2E./7/posts",
    "/users/7/posts;v=1",
    "/users;a/7;b=c/posts;",
    "/users/7/posts%3Bv=1",
    "/users/7/posts?page=2",
    "/users\\7\\posts",
];

#[test]
fn no_spelling_of_a_path_evades_its_rule_or_makes_another_key() {
    let rules = "rules:
  - { name: route, match: { path: \"/users/{id}/posts\" }, key: route, limit: 3/1000d }
  - { name: below, match: { path: \"/users/**\", not: { path: /users/7/public } }, key: global, limit: 1000/1000d }
";
    let server = RedisServer::standalone().start();
    let on_redis = format!("store: {{ redis: {{ url: {}, deadline: 30s }} }}\n{rules}", server.url());
    for policy in [rules, &on_redis] {
        let gateway = Gateway::with_policy(&PolicyFile::new(policy), upstream::ok());
        let mut client = Client::new(gateway.address);
        for status in [200, 200, 200, 429] {
            assert_eq!(client.get("/users/7/posts").status, status);
        }
        for target in SPELLINGS {
            let response = client.get(target);
            assert_eq!(response.status, 429, "{target} evades: {response:?}");
            let rules: BTreeSet<String> = response.of_rules("r").into_keys().collect();
            assert_eq!(rules, ["below", "route"].map(str::to_owned).into(), "{target}");
        }
        // Another id is the same route, and what is another resource is another.
        assert_eq!(client.get("/users/8/posts").status, 429);
        for target in
            ["/users/7/Posts", "/users/7/posts/1", "/users/7", "/users/7/posts%00", "/users/7/posts."]
        {
            assert_eq!(client.get(target).status, 200, "{target}");
        }
    }
}

#[test]
fn no_spelling_of_a_path_gets_into_what_is_left_out() {
    let gateway = gateway(&[("rest", "{ not: { path: /public/** } }")], "");
    let mut client = Client::new(gateway.address);
    for target in [
        "/public/../admin",
        "/public/%2e%2e/admin",
        "/public/..;/admin",
        "/public/..%2Fadmin",
        "/public%2f..%2fadmin",
        "/public/x/../../admin",
        "/Public/x",
        "/publicity",
        "/public%00/x",
    ] {
        assert_eq!(met(&mut client, "GET", target, &[]), ["rest"], "{target} gets out");
    }
    for target in ["/public", "/public/x", "//public/./x"] {
        assert!(met(&mut client, "GET", target, &[]).is_empty(), "{target}");
    }
}

#[test]
fn head_shares_the_budget_of_get_and_no_other() {
    let rules = "rules:
  - { name: route, match: { path: \"/files/{name}\" }, key: route, limit: 4/1000d }
  - { name: method, match: { path: \"/files/{name}\" }, key: method, limit: 3/1000d }
";
    let server = RedisServer::standalone().start();
    let on_redis = format!("store: {{ redis: {{ url: {}, deadline: 30s }} }}\n{rules}", server.url());
    for policy in [rules, &on_redis] {
        let gateway = Gateway::with_policy(&PolicyFile::new(policy), upstream::ok());
        let mut client = Client::new(gateway.address);
        let mut ask = |method: &str, target: &str| {
            let response = client.request(method, target, &[]);
            (response.status, response.of_rules("r")["route"], response.of_rules("r")["method"])
        };
        assert_eq!(ask("GET", "/files/a"), (200, 3, 2));
        assert_eq!(ask("HEAD", "/files/b"), (200, 2, 2), "one route, two methods");
        assert_eq!(ask("head", "/files/b"), (200, 1, 1), "in lower case as well");
        assert_eq!(ask("GET", "/files/a"), (200, 0, 1));
        assert_eq!(ask("HEAD", "/files/a").0, 429);
        assert_eq!(ask("GET", "/files/a").0, 429);
        assert_eq!(ask("POST", "/files/a"), (200, 3, 2));
    }
}

#[test]
fn a_host_is_one_key_in_every_spelling() {
    let policy = PolicyFile::new("rules:\n  - { name: host, key: host, limit: 2/1000d }\n");
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    let mut ask = |host: &str| client.request("GET", "/", &[&format!("Host: {host}")]).status;
    assert_eq!((ask("shop.example"), ask("SHOP.example.")), (200, 200));
    for spelling in ["shop.example", "Shop.Example:8080", "shop.example..", "shop.example.:1"] {
        assert_eq!(ask(spelling), 429, "{spelling} is a fresh key");
    }
    assert_eq!(ask("other.example"), 200);
}

#[test]
fn a_rule_that_stops_hides_those_after_it() {
    let policy = PolicyFile::new(
        "rules:
  - { name: first, key: global, limit: 1000/1000d }
  - { name: hooks, match: { path: /hooks/** }, stop: true, key: global, limit: 1000/1000d }
  - { name: users, match: { path: /users }, stop: true, key: user, on_missing: skip, limit: 1000/1000d }
  - { name: kind, match: { header: { x-kind: a } }, stop: true, key: global, limit: 1000/1000d }
  - { name: last, key: global, limit: 1000/1000d }
",
    );
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    let mut client = Client::new(gateway.address);
    assert_eq!(met(&mut client, "GET", "/hooks/7", &[]), ["first", "hooks"]);
    assert_eq!(met(&mut client, "GET", "//hooks/./7/", &[]), ["first", "hooks"]);
    assert_eq!(met(&mut client, "GET", "/other", &[]), ["first", "last"]);
    assert_eq!(
        met(&mut client, "GET", "/users", &[]),
        ["first", "last"],
        "what does not apply stops nothing"
    );
    assert_eq!(met(&mut client, "GET", "/", &["x-kind: a"]), ["first", "kind"]);
    assert_eq!(met(&mut client, "GET", "/", &["x-kind: a", "x-kind: b"]), ["first", "kind", "last"]);
    let said = run(&["check", &policy.path()], "").out;
    assert!(said.matches("  stops          the rules after it are not looked at").count() == 3, "{said}");
}

#[test]
fn a_rule_may_be_for_a_plan() {
    let gateway = gateway(
        &[
            ("free", "{ plan: free }"),
            ("paying", "{ plan: [pro, team] }"),
            ("not-free", "{ not: { plan: free } }"),
        ],
        "trusted_proxies: [10.0.0.0/8, 127.0.0.1]
plans: { free: { requests: 1/s }, pro: { requests: 2/s }, team: { requests: 3/s } }
plan: { from: [header(x-plan)], default: free }",
    );
    let mut client = Client::new(gateway.address);
    assert_eq!(met(&mut client, "GET", "/", &[]), ["free"]);
    assert_eq!(met(&mut client, "GET", "/", &["X-Plan: team"]), ["paying", "not-free"]);
    assert_eq!(met(&mut client, "GET", "/", &["X-Plan: nonsense"]), ["free"], "the default");
}

#[test]
fn check_says_the_conditions_in_words() {
    let policy = PolicyFile::new(
        "rules:
  - name: r
    match: { method: GET, path: /a, host: \"*.B.example\", header: { X-A: present }, client: 10.0.0.0/8, not: { path: /a/b } }
    key: ip
    limit: 1/second
",
    );
    let ran = run(&["check", &policy.path()], "");
    let expected = "GET /a on *.b.example from 10.0.0.0/8 with x-a, but not (/a/b)";
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains(expected), "{}", ran.out);
}
