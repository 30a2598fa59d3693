//! Paths of which nobody knows how the upstream reads them.

use std::fmt::Write as _;

use crate::client::Client;
use crate::process::{Gateway, PolicyFile};
use crate::upstream;

/// Requests for `/TO` to one server, and for something below `/FROM` to another.
const SPELLINGS: [&str; 17] = [
    "/FROM/..;/TO",
    "/FROM/..;a=b/TO",
    "/FROM/..%3b/TO",
    "/FROM/..%2fTO",
    "/FROM/..%2FTO",
    "/FROM%2f..%2fTO",
    "/FROM/..\\TO",
    "/FROM\\..\\TO",
    "/FROM/..%5cTO",
    "/FROM/..%5CTO",
    "/FROM/%2e%2e/TO",
    "/FROM/%2E%2e/TO",
    "/FROM/.%2e/TO",
    "/FROM/x/../../TO",
    "/FROM/x/%2e%2e/..;/TO",
    "/FROM//..//../TO",
    "/FROM/../TO",
];

fn spellings(from: &str, to: &str) -> impl Iterator<Item = String> {
    SPELLINGS.into_iter().map(move |spelling| spelling.replace("FROM", from).replace("TO", to))
}

fn gateway(text: &str) -> Gateway {
    Gateway::with_policy(&PolicyFile::new(text), upstream::ok())
}

#[test]
fn no_doubtful_path_gets_past_a_rule_through_what_is_allowed() {
    let gateway = gateway(
        "allow: [{ name: health, path: /healthz }, { name: assets, path: \"/assets/**\" }]
rules:
  - { name: admin, match: { path: \"/admin/**\" }, key: ip, limit: 1/1000d }
  - { name: all, key: ip, limit: 100000/1000d }
",
    );
    let mut client = Client::new(gateway.address);
    assert_eq!(client.get("/admin").status, 200);
    assert_eq!(client.get("/admin/x").status, 429);
    for target in spellings("admin", "healthz").chain(spellings("admin", "assets/a")) {
        assert_eq!(client.get(&target).status, 429, "{target} evades");
    }
    for target in
        ["/healthz;x", "/healthz%3bx", "/x%2f..%2fhealthz", "/x/..;/healthz", "/healthz/%2e", "/assets/../x"]
    {
        let response = client.get(target);
        assert!(response.header("ratelimit-policy").is_some(), "{target} is allowed: {response:?}");
    }
    // However it is read it is allowed.
    for target in [
        "/healthz",
        "/healthz/",
        "//healthz",
        "/%68ealthz",
        "/assets/a%2fb",
        "/assets/a;v=1/b",
        "/assets//./a",
    ] {
        let response = client.get(target);
        assert!(response.header("ratelimit-policy").is_none(), "{target} is not allowed: {response:?}");
    }
}

#[test]
fn no_doubtful_path_gets_past_the_block_list() {
    let gateway = gateway(
        "block: [{ name: old, path: \"/v1/**\" }]
allow: [{ name: health, path: \"/healthz/**\" }]
rules: [{ name: all, key: ip, limit: 100000/1000d }]
",
    );
    let mut client = Client::new(gateway.address);
    let both = spellings("v1", "healthz").chain(spellings("healthz", "v1")).chain(spellings("v1", "x"));
    for target in both.chain(["/v1%2fa", "/v1;a/b", "/a/%2e%2e/../v1", "/v1%3bx"].map(str::to_owned)) {
        assert_eq!(client.get(&target).status, 403, "{target} gets through");
    }
    for target in ["/v2%2fa", "/v2/..;/x", "/x;v1", "/v1x/../y"] {
        assert_eq!(client.get(target).status, 200, "{target}");
    }
}

#[test]
fn no_doubtful_path_gets_into_what_is_left_out_or_stops_what_comes_after() {
    let gateway = gateway(
        "rules:
  - { name: free, match: { path: \"/free/**\" }, stop: true, key: global, limit: 100000/1000d }
  - { name: rest, match: { not: { path: \"/free/**\" } }, key: ip, limit: 1/1000d }
",
    );
    let mut client = Client::new(gateway.address);
    assert_eq!(client.get("/x").status, 200);
    let both = spellings("x", "free").chain(spellings("free", "x"));
    for target in both {
        assert_eq!(client.get(&target).status, 429, "{target} evades");
    }
    for target in ["/free", "/free/a%2fb", "/free;a/b;c/..%2e", "//free/./x"] {
        let status = client.get(target).status;
        assert_eq!(status, if target.contains(';') { 429 } else { 200 }, "{target}");
    }
}

#[test]
fn a_doubtful_path_invents_no_route() {
    let mut text = "rules:\n".to_owned();
    for (name, path) in [("admin", "/admin/**"), ("user", "/users/{id}")] {
        writeln!(
            text,
            "  - {{ name: {name}, match: {{ path: \"{path}\" }}, key: [ip, route], limit: 2/1000d }}"
        )
        .unwrap();
    }
    let gateway = gateway(&text);
    let mut client = Client::new(gateway.address);
    for prefix in ["/admin", "/users"] {
        let statuses = ["a", "b", "c", "d"].map(|name| client.get(&format!("{prefix}/..%2f{name}")).status);
        assert_eq!(statuses, [200, 200, 429, 429], "{prefix}");
    }
}
