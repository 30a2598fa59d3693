//! `cupo explain` on the policy alone.

use std::io::{BufReader, Read as _, Write as _};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::administrator::administered;
use crate::client::request;
use crate::process::{PolicyFile, Ran, cupo, root, run, run_to_end};
use crate::{tokens, upstream};

fn explain(policy: &PolicyFile, arguments: &[&str], stdin: &str) -> Ran {
    run(&[&["explain", "-c", &policy.path()], arguments].concat(), stdin)
}

pub(crate) fn explained(policy: &PolicyFile, arguments: &[&str]) -> Value {
    let ran = explain(policy, &[arguments, &["--json"]].concat(), "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

/// Without what depends on the instant.
fn timeless(text: &str) -> String {
    let parts = text.split_inclusive(|c: char| !c.is_ascii_digit());
    let mut before = String::new();
    for part in parts {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        if digits.len() >= 10 || (before.ends_with(";t=") && !digits.is_empty()) {
            before.push('N');
            before.push_str(&part[digits.len()..]);
        } else {
            before.push_str(part);
        }
    }
    before
}

#[test]
fn the_document_shows_what_it_prints() {
    let text = std::fs::read_to_string(root().join("docs/explain.md")).unwrap();
    let block =
        text.split("```").find(|block| block.starts_with("console\n$ cupo explain -c examples/cupo.yaml "));
    let (command, output) =
        block.unwrap().strip_prefix("console\n$ cupo ").unwrap().split_once('\n').unwrap();
    let arguments: Vec<String> = command
        .split(' ')
        .map(|word| word.replace("examples/", &format!("{}/examples/", root().display())))
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = run(&arguments, "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(timeless(&ran.out), timeless(output));
}

const POLICY: &str = r#"
trusted_proxies: [10.0.0.0/8]
plans:
  free: { calls: 2/minute }
  gold: { calls: unlimited }
plan: { from: [callers, header(x-plan)], default: free }
callers: callers.yaml
allow:
  - { name: health, path: /healthz }
block:
  - { name: gone, path: "/v1/**" }
rules:
  - { name: beta, match: { header: { x-beta: present }, not: { path: /beta/out } }, key: ip, limit: 9/minute, stop: true }
  - { name: plan, key: "user | ip", limit: { plan: calls } }
  - { name: closed, match: { path: /closed }, key: ip, limit: { algorithm: fixed_window, rate: 0/minute }, response: { status: 503, body: closed } }
  - { name: writes, match: { method: [POST, PUT] }, key: [api_key, route], limit: 3/minute, on_missing: deny, action: deny }
  - { name: watch, key: ip, limit: 1/minute, action: shadow }
"#;

fn policy() -> PolicyFile {
    let policy = PolicyFile::new(POLICY);
    policy.beside(
        "callers.yaml",
        "callers:\n  - { user: ada, plan: gold, times: 3 }\n  - { user: eve, blocked: true }\n",
    );
    policy
}

pub(crate) fn rule<'a>(explained: &'a Value, name: &str) -> &'a Value {
    let rules = explained["rules"].as_array().unwrap();
    rules.iter().find(|rule| rule["name"] == name).unwrap()
}

#[test]
fn every_rule_says_whether_it_applies_and_why_not() {
    let explained = explained(&policy(), &["--path", "/orders/7?token=s3cret", "--host", "api.example:80"]);
    assert_eq!((&explained["verdict"], &explained["binding"]), (&json!("admit"), &json!("plan")));
    assert_eq!((&explained["path"], &explained["host"]), (&json!("/orders/7"), &json!("api.example")));
    assert!(!explained.to_string().contains("s3cret"), "{explained}");
    let bearings: Vec<&str> =
        explained["rules"].as_array().unwrap().iter().map(|rule| rule["bearing"].as_str().unwrap()).collect();
    assert_eq!(bearings, ["unmet", "enforced", "unmet", "unmet", "watched"]);
    assert_eq!(rule(&explained, "beta")["unmet"], json!({ "condition": "header", "wants": "x-beta" }));
    assert_eq!(
        rule(&explained, "writes")["unmet"],
        json!({ "condition": "method", "wants": "POST or PUT", "has": "GET" })
    );
    assert_eq!(rule(&explained, "plan")["key"], "plan ip=127.0.0.1");
    assert_eq!(
        (&rule(&explained, "plan")["remaining"], &rule(&explained, "plan")["would"]["remaining"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(rule(&explained, "watch")["would"]["verdict"], "admit");
    assert_eq!(explained["caller"]["plan_by"], "default");
}

#[test]
fn what_settles_a_request_comes_first() {
    let policy = policy();
    let proxied = ["--peer", "10.0.0.1", "-H", "X-Forwarded-For: 198.51.100.2"];
    let user = |name: &'static str| [&proxied[..], &["-H", name]].concat();
    for (arguments, verdict, by, status) in [
        (vec!["--path", "/healthz"], "admit", "allow", Value::Null),
        (vec!["--path", "/v1/x"], "refuse", "block", json!(403)),
        ([&["--path", "/"][..], &user("x-user: eve")].concat(), "refuse", "block", json!(403)),
        (vec!["--path", "/", "-X", "PUT"], "refuse", "missing", json!(403)),
        (
            vec![
                "--path",
                "/",
                "-X",
                "OPTIONS",
                "-H",
                "origin: https://a.example",
                "-H",
                "access-control-request-method: PUT",
            ],
            "admit",
            "uncounted",
            Value::Null,
        ),
    ] {
        let explained = explained(&policy, &arguments);
        assert_eq!(
            (&explained["verdict"], &explained["settled"]["by"]),
            (&json!(verdict), &json!(by)),
            "{arguments:?}"
        );
        assert_eq!(explained["response"]["status"], status, "{arguments:?}");
    }
    // A preflight has no body.
    let preflight = [
        "--path",
        "/",
        "-X",
        "OPTIONS",
        "-H",
        "origin: https://a.example",
        "-H",
        "access-control-request-method: PUT",
    ];
    let counted = explained(&policy, &[&preflight[..], &["--body-bytes", "1"]].concat());
    assert_eq!(counted["binding"], "plan");
    let ada = explained(&policy, &[&["--path", "/"][..], &user("x-user: ada")].concat());
    let caller = &ada["caller"];
    assert_eq!(
        (&caller["plan"], &caller["plan_by"], &caller["times"]),
        (&json!("gold"), &json!("callers"), &json!(3))
    );
    assert_eq!((&caller["client"], &caller["entry"]), (&json!("198.51.100.2"), &json!("callers[0]")));
    assert_eq!(rule(&ada, "plan")["bearing"], "unlimited");
    assert_eq!(ada["response"]["headers"], json!([]), "no rule is enforced");
}

#[test]
fn a_refusal_is_shown_at_a_glance_with_what_the_caller_sees() {
    let policy = policy();
    let ran = explain(
        &policy,
        &["--path", "/closed", "--peer", "192.0.2.1", "-H", "x-user: ada", "-H", "x-beta: 1"],
        "",
    );
    let expected = "\
GET /closed

ADMITTED: beta has room for the fewest more

client       192.0.2.1: the address of the connection
plan         free, the default
CUPO-T002    a peer that is not in trusted_proxies sent the user header: it does not count and is not passed on

rules
  beta    admit  9 of 9 left, costs 1: 8 after it
                 stops the rules after it
          key    ip=192.0.2.1
          limit  sliding_window_counter, 9 per 1m
  plan    no     is not looked at: beta says stop
  closed  no     is not looked at: beta says stop
  writes  no     is for the method POST or PUT, and this is GET
  watch   no     is not looked at: beta says stop

answer
  the upstream's, with
  x-ratelimit-limit: 9
  x-ratelimit-remaining: 8
  x-ratelimit-reset: N
  ratelimit-policy: \"beta\";q=9;w=60
  ratelimit: \"beta\";r=8;t=N
";
    assert_eq!(timeless(&ran.out), expected);
    let ran = explain(&policy, &["--path", "/closed", "-H", "@-"], "x-api-key: k1\n\nx-other: a\n");
    let expected = "\
GET /closed

REFUSED with 503 by the rule closed: it never fits, however long one waits

client       127.0.0.1: the address of the connection
api key      sha256:6ab9f1eb8f7d3388f4f9d586f66e99fd54080df2c446f0e58668b09c08a16dd0
plan         free, the default

rules
  beta    no     asks for the header x-beta, and there is none
  plan    admit  2 of 2 left, costs 1
          key    ip=127.0.0.1, by user | ip
          limit  sliding_window_counter, 2 per 1m
  closed  never  0 of 0 left, costs 1: more than it ever holds
          key    ip=127.0.0.1
          limit  fixed_window, 0 per 1m
  writes  no     is for the method POST or PUT, and this is GET
  watch   watch  1 of 1 left, costs 1
                 only watches
          key    ip=127.0.0.1
          limit  sliding_window_counter, 1 per 1m

answer
  503 Service Unavailable
  content-type: text/plain; charset=utf-8
  x-ratelimit-limit: 0
  x-ratelimit-remaining: 0
  x-ratelimit-reset: N
  ratelimit-policy: \"plan\";q=2;w=60, \"closed\";q=0;w=60
  ratelimit: \"plan\";r=2;t=N, \"closed\";r=0;t=N

  closed
";
    assert_eq!(timeless(&ran.out), expected);
}

#[test]
fn tokens_are_verified_as_the_gateway_does() {
    let policy = tokens::policy("refuse", "");
    let good = tokens::bearer(1, &json!({ "sub": "ada", "org": { "tenant": "acme" } }));
    let known = explained(&policy, &["--path", "/", "-H", &good]);
    assert_eq!(known["caller"]["user"], "ada");
    assert_eq!(rule(&known, "users")["key"], "users user=ada");
    assert_eq!(rule(&known, "tenants")["key"], "tenants claim(org.tenant)=acme");
    let forged = tokens::bearer(2, &json!({ "sub": "ada" }));
    let refused = explained(&policy, &["--path", "/", "-H", &forged]);
    assert_eq!(
        (&refused["settled"]["by"], &refused["response"]["status"]),
        (&json!("bad_credentials"), &json!(401))
    );
    assert_eq!(rule(&refused, "users")["would"]["verdict"], "admit", "it is counted before it is refused");
}

#[test]
fn what_is_no_request_is_told() {
    let policy = policy();
    for (arguments, code, says) in [
        (vec![], 2, "--path <PATH>"),
        (vec!["--path", "orders"], 2, "error: `orders` is no path"),
        (vec!["--path", "/", "-X", "GE T"], 2, "error: `GE T` is no method"),
        (vec!["--path", "/", "--peer", "nobody"], 2, "error: `nobody` is no peer"),
        (vec!["--path", "/", "-H", "x-key"], 2, "error: --header: write a name, a colon and a value"),
        (vec!["--path", "/", "-H", "@/nowhere/at/all"], 1, "error: `/nowhere/at/all` cannot be read"),
        (
            vec!["--path", "/", "--connect"],
            2,
            "error: --connect: the policy keeps its counters in the memory",
        ),
        (vec!["--path", "/", "--store", "redis://127.0.0.1:1"], 3, "error: the store cannot be reached"),
        (vec!["--path", "/", "--store", "nosql"], 2, "error: store.redis"),
    ] {
        let ran = explain(&policy, &arguments, "");
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(says), "{arguments:?}: {}", ran.err);
    }
    let bad = PolicyFile::new("rules: []\n");
    let ran = explain(&bad, &["--path", "/"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

/// An admin API that answers with this, and what it was asked.
fn answering(status: &'static str, body: String) -> (String, Receiver<(String, String)>) {
    let (sender, asked) = channel();
    let address = upstream::serving(move |stream| {
        let mut reader = BufReader::new(stream);
        let head = upstream::read_head(&mut reader).unwrap();
        let length = head
            .to_ascii_lowercase()
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut question = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut question).unwrap();
        let head_and_body = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        reader.get_mut().write_all(head_and_body.as_bytes()).unwrap();
        sender.send((head, String::from_utf8(question).unwrap())).unwrap();
    });
    (format!("http://{address}"), asked)
}

fn remotely(url: &str, arguments: &[&str], token: Option<&str>) -> Ran {
    let mut command = cupo();
    command.args(["explain", "--admin", url, "--path", "/orders?page=2"]).args(arguments);
    if let Some(token) = token {
        command.args(["--token-env", "CUPO_TEST_ADMIN_TOKEN"]).env("CUPO_TEST_ADMIN_TOKEN", token);
    }
    run_to_end(command, "")
}

#[test]
fn a_gateway_that_runs_is_asked_by_its_admin_api() {
    let policy = policy();
    let said = explain(&policy, &["--path", "/orders", "--json"], "").out;
    let (url, asked) = answering("200 OK", said.clone());
    let arguments =
        ["-X", "PUT", "-H", "X-Api-Key: k1", "-H", "x-a: 1", "-H", "x-a: 2", "--peer", "192.0.2.1"];
    let ran = remotely(&url, &arguments, Some("t0ken"));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(timeless(&ran.out), timeless(&explain(&policy, &["--path", "/orders"], "").out));
    let (head, question) = asked.recv_timeout(crate::process::BOUND).unwrap();
    assert!(head.starts_with("POST /v1/explain HTTP/1.1\r\n"), "{head}");
    assert!(head.to_ascii_lowercase().contains("authorization: bearer t0ken\r\n"), "{head}");
    let expected = json!({
        "method": "PUT", "path": "/orders?page=2", "peer": "192.0.2.1",
        "headers": { "x-api-key": "k1", "x-a": ["1", "2"] },
    });
    assert_eq!(serde_json::from_str::<Value>(&question).unwrap(), expected);
    assert_eq!(remotely(&url, &["--json"], None).out, said);
    let (head, _) = asked.recv_timeout(crate::process::BOUND).unwrap();
    assert!(!head.to_ascii_lowercase().contains("authorization"), "{head}");
}

#[test]
fn what_a_gateway_refuses_is_told() {
    let problem = r#"{"title":"Unauthorized","detail":"there is no such token","status":401}"#.to_owned();
    let (unauthorized, _kept) = answering("401 Unauthorized", problem);
    let (nonsense, _also_kept) = answering("200 OK", "{}".to_owned());
    for (url, token, code, says) in [
        (unauthorized.as_str(), Some("wr0ng"), 1, "there is no such token"),
        (&nonsense, None, 1, "its answer is not understood"),
        ("http://127.0.0.1:1", None, 3, "the admin API at http://127.0.0.1:1 cannot be reached"),
        ("unix:/nowhere/at/all.sock", None, 3, "cannot be reached"),
        ("https://127.0.0.1:1", None, 2, "--ca-file"),
        ("127.0.0.1:1", None, 2, "is not where an admin API listens"),
        ("http://127.0.0.1:1", Some(""), 2, "the environment has no token in the variable"),
    ] {
        let ran = remotely(url, &[], token);
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{url}: {ran:?}");
        assert!(ran.err.contains(says), "{url}: {}", ran.err);
        assert!(!ran.err.contains("wr0ng"), "{}", ran.err);
    }
    let both = run(&["explain", "--admin", "http://127.0.0.1:1", "-c", "x.yaml", "--path", "/"], "");
    assert_eq!(both.code, Some(2), "{both:?}");
    assert_eq!(run(&["explain", "--path", "/"], "").code, Some(2));
}

#[test]
fn the_memory_of_a_gateway_is_seen_through_its_admin_api_and_left_alone() {
    let policy = PolicyFile::new(
        "admin: { listen: 127.0.0.1:0 }\nrules:\n  - { name: two, key: ip, limit: { algorithm: sliding_window_log, rate: 2/1000d } }\n",
    );
    let upstream = format!("http://{}", upstream::ok());
    let (gateway, admin) = administered(&["-c", &policy.path(), "--upstream", &upstream]);
    let url = format!("http://{}", admin.address());
    for remaining in [2, 1, 0] {
        for _ in 0..3 {
            let ran = run(&["explain", "--admin", &url, "--path", "/", "--json"], "");
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
            let explained: Value = serde_json::from_str(&ran.out).unwrap();
            assert_eq!(rule(&explained, "two")["remaining"], json!(remaining), "{explained}");
            let status = if remaining == 0 { json!(429) } else { Value::Null };
            assert_eq!(explained["response"]["status"], status, "{explained}");
        }
        let expected = if remaining == 0 { 429 } else { 200 };
        assert_eq!(request(gateway.address, "GET", "/", &[]).status, expected);
    }
    let shown = run(&["explain", "--admin", &url, "--path", "/"], "").out;
    assert!(shown.contains("\nREFUSED with 429 by the rule two: there is room again in "), "{shown}");
}

#[test]
fn a_cost_that_the_response_settles_is_said_to_be_reserved() {
    let policy = PolicyFile::new(
        "rules:
  - { name: tokens, key: ip, limit: { algorithm: token_bucket, capacity: 50, refill: 1/second }, cost: { header: x-cost, reserve: 10 } }
  - { name: guesses, key: ip, limit: { algorithm: fixed_window, rate: 5/1000d }, charge: { on: response, when: { status: [401, 403] } } }
  - { name: bytes, key: ip, limit: 100/1000d, cost: { body: 1KiB, max: 8 } }
",
    );
    let explained = explained(&policy, &["--path", "/", "--body-bytes", "2049"]);
    let of = |name: &str| (rule(&explained, name)["cost"].clone(), rule(&explained, name)["settles"].clone());
    assert_eq!(of("tokens"), (json!(10), json!("reserved until the response says its cost in x-cost")));
    assert_eq!(of("guesses"), (json!(1), json!("given back unless the response has status 401, 403")));
    assert_eq!(of("bytes"), (json!(3), Value::Null));
}
