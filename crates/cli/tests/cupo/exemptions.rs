//! The allow-list and the block-list, on both stores.

use cupo_testkit::redis::RedisServer;

use crate::client::{Response, request};
use crate::process::{Gateway, PolicyFile, cupo, run, run_to_end};

const SECRET: &str = "0f5a1c2d3e4b5a69788796a5b4c3d2e1";

// printf %s key-of-ada | sha256sum
const POLICY: &str = "access_log: true
trusted_proxies: [127.0.0.1]
allow:
  - { name: health, path: /healthz }
  - { name: office, client: 192.0.2.0/24 }
  - { name: ada, api_key_hash: 5532e44183f47ed1fc146851b96d585c24da5bd5fe31a885cebc357261ed8f7f }
  - { name: probe, method: GET, secret_header: { name: X-Probe, env: PROBE_SECRET } }
block:
  - { name: abuser, client: [198.51.100.7, 192.0.2.66] }
  - { name: old, path: '/v1/**', not: { client: 192.0.2.1 } }
rules:
  - { name: one, key: global, limit: 1/1000d }
";

/// Redis has time: a busy machine is not what is tried here.
fn each_store(test: impl Fn(&mut Gateway)) {
    let redis = RedisServer::standalone().start();
    let in_redis =
        format!("store: {{ redis: {{ url: \"redis://127.0.0.1:{}\", deadline: 10s }} }}", redis.port());
    for store in ["store: memory", &in_redis] {
        let policy = PolicyFile::new(&format!("{store}\n{POLICY}"));
        let mut command = cupo();
        command.env("PROBE_SECRET", SECRET);
        test(&mut Gateway::start_as(command, &["-c", &policy.path(), "--upstream", "demo"]));
    }
}

/// The response, and what the access log says of the request.
fn ask(gateway: &mut Gateway, method: &str, path: &str, fields: &[&str]) -> (Response, serde_json::Value) {
    let response = request(gateway.address, method, path, fields);
    let line = gateway.line(|line| line.starts_with('{'));
    (response, serde_json::from_str(&line).unwrap())
}

#[test]
fn what_is_allowed_passes_before_any_counting() {
    each_store(|gateway| {
        let secret = format!("x-probe: {SECRET}");
        for (path, field, entry) in [
            ("/healthz", "X-A: b", "health"),
            ("//healthz/", "X-A: b", "health"),
            ("/", "X-Forwarded-For: 192.0.2.9", "office"),
            ("/", "X-API-Key: key-of-ada", "ada"),
            ("/", secret.as_str(), "probe"),
        ] {
            for _ in 0..3 {
                let (response, line) = ask(gateway, "GET", path, &[field]);
                assert_eq!(response.status, 200, "{entry}");
                assert_eq!(response.header("ratelimit"), None, "{entry}");
                assert_eq!(response.header("x-ratelimit-limit"), None, "{entry}");
                assert_eq!((line["verdict"].as_str(), line["entry"].as_str()), (Some("allow"), Some(entry)));
                assert_eq!(line.get("rule"), None);
                assert!(!line.to_string().contains(SECRET));
            }
        }
        // All that time nothing was counted.
        let (response, line) = ask(gateway, "GET", "/", &[]);
        assert_eq!((response.status, response.remaining()), (200, 0));
        assert_eq!((line["verdict"].as_str(), line.get("entry")), (Some("admit"), None));
        let close = format!("X-Probe: {}0", &SECRET[..31]);
        let post = format!("X-Probe: {SECRET}");
        for (method, field) in [
            ("GET", close.as_str()),
            ("GET", "X-Probe: "),
            ("DELETE", post.as_str()),
            ("GET", "X-API-Key: key-of-bob"),
            ("GET", "X-Forwarded-For: 192.0.3.9"),
            ("GET", "X-Forwarded-For: 192.0.2.9, 203.0.113.1"),
        ] {
            assert_eq!(ask(gateway, method, "/", &[field]).0.status, 429, "{method} {field}");
        }
    });
}

#[test]
fn what_is_blocked_is_refused_and_never_told_to_wait() {
    each_store(|gateway| {
        for (path, address, entry) in [
            ("/", "198.51.100.7", "abuser"),
            ("/healthz", "198.51.100.7", "abuser"),
            ("/", "192.0.2.66", "abuser"),
            ("/v1/users", "203.0.113.1", "old"),
            ("/x/../V1/../v1", "203.0.113.1", "old"),
        ] {
            let (response, line) = ask(gateway, "GET", path, &[&format!("X-Forwarded-For: {address}")]);
            assert_eq!(response.status, 403, "{path} {address}");
            assert_eq!(response.json()["type"], "urn:cupo:problem:blocked");
            assert!(!response.body.contains(entry), "{response:?}");
            assert_eq!((response.header("retry-after"), response.header("ratelimit")), (None, None));
            assert_eq!((line["verdict"].as_str(), line["entry"].as_str()), (Some("block"), Some(entry)));
        }
        // Whom the entry leaves out is in the other list.
        assert_eq!(ask(gateway, "GET", "/v1/users", &["X-Forwarded-For: 192.0.2.1"]).0.status, 200);
        let (response, _) = ask(gateway, "GET", "/", &[]);
        assert_eq!((response.status, response.remaining()), (200, 0), "nothing was counted");
    });
}

#[test]
fn a_secret_that_is_missing_or_short_is_an_error() {
    let policy = PolicyFile::new(POLICY);
    let ran = run(&["check", &policy.path()], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("`PROBE_SECRET`") && ran.err.contains("allow[3].secret_header.env"), "{ran:?}");
    let mut command = cupo();
    command.env("PROBE_SECRET", "fifteen-bytes-x").args(["check", &policy.path()]);
    let ran = run_to_end(command, "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("15 bytes") && !ran.err.contains("fifteen"), "{ran:?}");
}

#[test]
fn a_replay_tells_the_entry() {
    let policy = PolicyFile::new(
        "allow: [{ name: health, path: /healthz }]
block: [{ name: abuser, client: 198.51.100.7 }]
rules: [{ name: one, key: global, limit: 1/1000d }]
",
    );
    let events = r#"{"t_us":0,"peer":"192.0.2.1","path":"/healthz"}
{"t_us":1,"peer":"198.51.100.7","path":"/healthz"}
{"t_us":2,"peer":"192.0.2.1","path":"/"}
"#;
    let ran = run(&["replay", &policy.path()], events);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(
        lines[0].contains(r#""allowed":true,"binding":null,"listed":"allow","entry":"health""#),
        "{lines:?}"
    );
    assert!(
        lines[1].contains(r#""allowed":false,"binding":null,"listed":"block","entry":"abuser""#),
        "{lines:?}"
    );
    assert!(lines[2].contains(r#""allowed":true"#) && !lines[2].contains("listed"), "{lines:?}");
}
