//! The admin API of a gateway whose counters are in its memory.

use serde_json::{Value, json};

use crate::administrator::{Administrator, administered};
use crate::client::{Client, Response, get, request};
use crate::process::{Gateway, PolicyFile, Stream, cupo, run};
use crate::upstream;

const TOKEN: &str = "0123456789abcdef-ops";

const RULES: &str = "rules:
  - { name: per-client, key: ip, limit: 5/1000d }
  - { name: by-key, match: { header: { x-api-key: present } }, key: api_key, limit: 3/1000d }
  - { name: pairs, match: { path: /users/** }, key: [route, user | ip], limit: { algorithm: token_bucket, capacity: 4, refill: 1/1000d } }
";

fn local(more: &str) -> (Gateway, Administrator) {
    let policy = PolicyFile::new(&format!("admin: {{ listen: 127.0.0.1:0 }}\n{more}{RULES}"));
    administered(&["-c", &policy.path(), "--upstream", &format!("http://{}", upstream::ok())])
}

#[test]
fn what_a_key_has_used_is_told_and_forgotten() {
    let (mut gateway, admin) = local("");
    for left in [4, 3, 2] {
        assert_eq!(get(gateway.address, "/").remaining(), left);
    }
    let key = json!({ "rule": "per-client", "parts": ["127.0.0.1"] });
    for parts in [json!(["127.0.0.1"]), json!(["ip=127.0.0.1"]), json!(["ip=::ffff:127.0.0.1"])] {
        let state = admin.post("/v1/state", &json!({ "rule": "per-client", "parts": parts }));
        assert_eq!(state.status, 200, "{state:?}");
        let state = state.json();
        assert_eq!(state["key"], "per-client ip=127.0.0.1");
        assert_eq!(state["parts"], json!(["ip=127.0.0.1"]));
        let counter = &state["counters"][0];
        assert_eq!(
            (&counter["used"], &counter["remaining"], &counter["quota"]),
            (&json!(3), &json!(2), &json!(5))
        );
        assert_eq!(counter["limit"], "sliding_window_counter, 5 per 1000d");
    }
    let reset = admin.post("/v1/reset", &key);
    assert_eq!(reset.status, 200, "{reset:?}");
    let reset = reset.json();
    assert_eq!(
        (&reset["found"], &reset["before"][0]["used"], &reset["after"][0]["used"]),
        (&json!(true), &json!(3), &json!(0))
    );
    assert_eq!(get(gateway.address, "/").remaining(), 4);
    // It was logged by the name of who came in, though nothing but warnings is to be told.
    let line = gateway.line(|line| line.contains("an administrator changed something"));
    assert!(
        line.contains("cupo::admin") && line.contains("who=\"local\"") && line.contains("what=\"reset\""),
        "{line}"
    );
    let audit = admin.get("/v1/audit").json();
    let change = &audit["changes"][0];
    assert_eq!((&change["who"], &change["what"]), (&json!("local"), &json!("reset")));
    assert_eq!(change["target"], json!({ "rule": "per-client", "parts": ["ip=127.0.0.1"] }));
    assert_eq!((&change["before"], &change["after"]), (&json!({ "used": [3] }), &json!({ "used": [0] })));
}

#[test]
fn an_api_key_is_said_in_clear_or_by_its_hash_and_never_shown_in_clear() {
    let (mut gateway, admin) = local("");
    request(gateway.address, "GET", "/", &["X-Api-Key: s3cret-key"]);
    let state = |part: &str| {
        let state = admin.post("/v1/state", &json!({ "rule": "by-key", "parts": [part] }));
        assert_eq!(state.status, 200, "{state:?}");
        assert!(!state.body.contains("s3cret-key"), "{state:?}");
        state.json()
    };
    let clear = state("s3cret-key");
    assert_eq!(clear["counters"][0]["used"], 1);
    let hashed = clear["parts"][0].as_str().unwrap();
    assert!(hashed.starts_with("api_key=sha256:") && hashed.len() == 15 + 64, "{hashed}");
    assert_eq!(state(hashed)["counters"][0]["used"], 1);
    admin.post("/v1/reset", &json!({ "rule": "by-key", "parts": ["s3cret-key"] }));
    assert!(!admin.get("/v1/audit").body.contains("s3cret-key"));
    let line = gateway.line(|line| line.contains("an administrator changed something"));
    assert!(!line.contains("s3cret-key"), "{line}");
    assert_eq!(state("s3cret-key")["counters"][0]["used"], 0);
}

#[test]
fn a_key_of_several_parts_is_said_as_it_is_shown() {
    let (gateway, admin) = local("");
    get(gateway.address, "/users/42/posts");
    let state = |parts: Value| {
        let state = admin.post("/v1/state", &json!({ "rule": "pairs", "parts": parts }));
        assert_eq!(state.status, 200, "{state:?}");
        state.json()["counters"][0]["used"].clone()
    };
    assert_eq!(state(json!(["GET /users/**", "ip=127.0.0.1"])), 1);
    assert_eq!(state(json!(["route=GET /users/**", "ip=127.0.0.1"])), 1);
    assert_eq!(state(json!(["POST /users/**", "ip=127.0.0.1"])), 0);
    assert_eq!(state(json!(["GET /users/**", "user=127.0.0.1"])), 0);
    assert_eq!(state(json!(["GET /users/**", "missing"])), 0);
}

#[test]
fn what_makes_no_sense_is_a_problem_that_says_why() {
    let (_gateway, admin) = local("");
    let post = |path: &str, body: Value| admin.post(path, &body);
    let problem = |response: Response, status: u16, says: &str| {
        assert_eq!(response.status, status, "{response:?}");
        assert_eq!(response.header("content-type"), Some("application/problem+json"), "{response:?}");
        let problem = response.json();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
        assert!(problem["type"].as_str().unwrap().starts_with("urn:cupo:problem:"), "{problem}");
    };
    problem(post("/v1/state", json!({ "rule": "nobody", "parts": ["::1"] })), 404, "no rule");
    problem(
        post("/v1/state", json!({ "rule": "per-client", "parts": ["::1"], "tier": "gold" })),
        404,
        "no plan",
    );
    problem(post("/v1/state", json!({ "rule": "per-client", "parts": ["example.com"] })), 422, "IP address");
    problem(post("/v1/state", json!({ "rule": "per-client", "parts": [] })), 422, "has 1 parts");
    problem(post("/v1/state", json!({ "rule": "pairs", "parts": ["/a", "alice"] })), 422, "`user=`, `ip=`");
    problem(
        post("/v1/state", json!({ "rule": "per-client", "parts": ["::1"], "key": 1 })),
        400,
        "unknown field `key`",
    );
    problem(post("/v1/state", json!({ "parts": ["::1"] })), 400, "missing field `rule`");
    problem(post("/v1/state", json!([])), 400, "The body");
    problem(admin.send("POST", "/v1/state", &["Content-Type: application/json"], "{"), 400, "EOF");
    problem(admin.send("POST", "/v1/state", &["Content-Type: text/plain"], "{}"), 415, "application/json");
    problem(admin.send("POST", "/v1/state", &[], "{}"), 415, "application/json");
    let long = format!("{{\"rule\":\"{}\"}}", "x".repeat(70_000));
    problem(admin.send("POST", "/v1/state", &["Content-Type: application/json"], &long), 413, "65536");
    problem(admin.get("/v1/nothing"), 404, "openapi");
    problem(admin.get("/"), 404, "openapi");
    problem(admin.get("/v1/audit?n=0"), 400, "from 1 to 256");
    problem(admin.get("/v1/audit?m=1"), 400, "no parameter `m`");
    problem(admin.get("/v1/audit?n=1&n=2"), 400, "several times");
    let wrong = admin.send("DELETE", "/v1/state", &[], "");
    assert_eq!(wrong.header("allow"), Some("POST"));
    problem(wrong, 405, "POST");
}

#[test]
fn web_pages_reach_nothing() {
    let (_gateway, admin) = local("");
    let ask = |fields: &[&str]| admin.send("GET", "/v1/policy", fields, "").status;
    assert_eq!(ask(&[]), 200);
    assert_eq!(ask(&["Host: localhost:9090"]), 200);
    // A name that is made to stand for this machine.
    assert_eq!(ask(&["Host: rebound.example"]), 403);
    assert_eq!(ask(&["Origin: https://evil.example"]), 403);
    assert_eq!(ask(&["Origin: null"]), 403);
}

#[test]
fn a_bearer_may_what_the_policy_says() {
    let policy = PolicyFile::new(&format!(
        "admin:\n  listen: 127.0.0.1:0\n  tokens:\n    - {{ name: ops, token_env: OPS }}\n    \
         - {{ name: watch, token_env: WATCH, may: read }}\n{RULES}"
    ));
    let mut command = cupo();
    command.envs([("OPS", TOKEN), ("WATCH", "fedcba9876543210")]);
    let upstream = format!("http://{}", upstream::ok());
    let (_gateway, admin) = Administrator::of(command, &["-c", &policy.path(), "--upstream", &upstream]);
    let key = json!({ "rule": "per-client", "parts": ["127.0.0.1"] });
    let anybody = admin.get("/v1/policy");
    assert_eq!((anybody.status, anybody.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(admin.get("/v1/nothing").status, 401, "who is not known learns nothing");
    let watch = admin.with_token("fedcba9876543210");
    assert_eq!(watch.get("/v1/policy").status, 200);
    assert_eq!(watch.post("/v1/state", &key).status, 200);
    assert_eq!(watch.post("/v1/reset", &key).status, 403);
    let ops = admin.with_token(TOKEN);
    assert_eq!(ops.post("/v1/reset", &key).status, 200);
    assert_eq!(ops.get("/v1/audit").json()["changes"][0]["who"], "ops");
    assert_eq!(admin.with_token("0123456789abcdef-opt").get("/v1/policy").status, 401);
    // With a token a browser's name of this machine is no danger, and its pages still are.
    assert_eq!(ops.send("GET", "/v1/policy", &["Host: admin.example"], "").status, 200);
    assert_eq!(ops.send("GET", "/v1/policy", &["Origin: https://a.example"], "").status, 403);
}

#[test]
fn the_policy_in_force_is_shown_without_secrets() {
    let (_gateway, admin) = local("# redis://:s3cret@host\n");
    let policy = admin.get("/v1/policy");
    assert!(!policy.body.contains("s3cret"), "{policy:?}");
    let policy = policy.json();
    assert_eq!(policy["rules"][0]["name"], "per-client");
    assert_eq!(policy["rules"][0]["limits"][0]["quota"], 5);
    assert!(policy["source"]["text"].as_str().unwrap().contains("capacity: 4"), "{policy}");
}

#[test]
fn it_listens_on_a_unix_socket_for_its_owner_alone() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("admin.sock");
    let policy = PolicyFile::new(&format!("admin: {{ listen: \"unix:{}\" }}\n{RULES}", path.display()));
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    gateway.line(|line| line == format!("cupo answers administrators on unix:{}", path.display()));
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let mut stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
    use std::io::{Read, Write};
    write!(stream, "GET /v1/policy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    gateway.signal(rustix::process::Signal::TERM);
    assert_eq!(gateway.end().0.code(), Some(0));
    assert!(!path.exists(), "the file goes with the gateway");
}

#[test]
fn there_is_none_unless_the_policy_says_so_and_none_for_others_without_a_token() {
    let policy = PolicyFile::new(RULES);
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    assert!(!gateway.said.iter().any(|(_, line)| line.contains("administrators")), "{:?}", gateway.said);
    let open = PolicyFile::new(&format!("admin: {{ listen: 0.0.0.0:0 }}\n{RULES}"));
    for arguments in [vec!["check", &open.path()], vec!["serve", "-c", &open.path(), "--upstream", "demo"]] {
        let ran = run(&arguments, "");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("admin.listen") && ran.err.contains("asks for no token"), "{ran:?}");
    }
}

#[test]
fn a_slow_or_silent_administrator_does_not_stop_the_gateway() {
    let (gateway, admin) = local("");
    let silent: Vec<Client> = (0..10).map(|_| Client::new(admin.address())).collect();
    for client in &silent {
        client.send("POST /v1/state HTTP/1.1\r\nHost: localhost\r\n");
    }
    assert_eq!(get(gateway.address, "/").status, 200);
    assert_eq!(admin.get("/v1/policy").status, 200);
    gateway.signal(rustix::process::Signal::TERM);
    let (status, said) = gateway.end();
    assert_eq!(status.code(), Some(0), "{said:?}");
    assert!(said.iter().all(|(stream, line)| *stream == Stream::Out || !line.contains("ERROR")), "{said:?}");
}
