//! `cupo explain` on what is the gateway's own: its endpoints, and the headers in which it reads secrets.

use serde_json::{Value, json};

use crate::administrator::administered;
use crate::client::request;
use crate::explain::{explained, rule};
use crate::process::{PolicyFile, run};
use crate::upstream;

const RULE: &str = "rules:\n  - { name: all, key: ip, limit: 5/minute }\n";

/// What `explained` says of the rule and of the answer, where the health endpoint answers.
fn assert_is_health(explained: &Value) {
    assert_eq!(explained["verdict"], "health", "{explained}");
    assert_eq!(rule(explained, "all")["applies"], false, "{explained}");
    assert_eq!(explained["response"]["headers"], json!([]), "{explained}");
}

#[test]
fn the_health_endpoint_is_counted_by_no_rule() {
    let policy = PolicyFile::new(RULE);
    for path in ["/.cupo/health", "/%2Ecupo//health/?probe=1"] {
        assert_is_health(&explained(&policy, &["--path", path]));
    }
    let elsewhere = PolicyFile::new(&format!("health_path: /up\n{RULE}"));
    assert_is_health(&explained(&elsewhere, &["--path", "/up", "-X", "POST"]));
    assert_eq!(explained(&elsewhere, &["--path", "/.cupo/health"])["verdict"], "admit");
    let none = PolicyFile::new(&format!("health_path: none\n{RULE}"));
    assert_eq!(explained(&none, &["--path", "/.cupo/health"])["verdict"], "admit");
    let shown = run(&["explain", "-c", &policy.path(), "--path", "/.cupo/health"], "").out;
    assert!(shown.contains("\nANSWERED here: the health endpoint tells how the gateway does"), "{shown}");
    assert!(shown.contains("\n  how the gateway does, as JSON\n"), "{shown}");
}

#[test]
fn a_gateway_that_runs_tells_its_health_endpoint_as_it_answers() {
    let policy = PolicyFile::new(&format!("admin: {{ listen: 127.0.0.1:0 }}\nhealth_path: /up\n{RULE}"));
    let upstream = format!("http://{}", upstream::ok());
    let (gateway, admin) = administered(&["-c", &policy.path(), "--upstream", &upstream]);
    let url = format!("http://{}", admin.address());
    let asked = |path| -> Value {
        let ran = run(&["explain", "--admin", &url, "--path", path, "--json"], "");
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
        serde_json::from_str(&ran.out).unwrap()
    };
    assert_is_health(&asked("/up"));
    // Another path waits for a restart.
    std::fs::write(policy.path(), format!("admin: {{ listen: 127.0.0.1:0 }}\nhealth_path: /health\n{RULE}"))
        .unwrap();
    assert_eq!(admin.send("POST", "/v1/reload", &[], "").status, 200);
    assert_eq!(request(gateway.address, "GET", "/up", &[]).header("x-ratelimit-limit"), None);
    assert_is_health(&asked("/up"));
    assert_eq!(asked("/health")["verdict"], "admit");
}

#[test]
fn who_is_blocked_is_refused_by_the_status_endpoint_too() {
    let policy = PolicyFile::new(&format!("block: [{{ name: gone, client: 192.0.2.0/24 }}]\n{RULE}"));
    let asked =
        |peer, method| explained(&policy, &["--path", "/rate-limit-status", "--peer", peer, "-X", method]);
    let blocked = asked("192.0.2.7", "GET");
    assert_eq!(blocked["settled"]["entry"], "gone", "{blocked}");
    assert_eq!(blocked["response"]["status"], 403, "{blocked}");
    assert_eq!(asked("192.0.2.7", "POST")["verdict"], "status", "whoever asks so is told how to ask");
    assert_eq!(asked("198.51.100.7", "GET")["verdict"], "status");
}

#[test]
fn headers_with_secrets_are_hashed_wherever_a_condition_asks_for_them() {
    let policy = PolicyFile::new(
        r#"
jwt: { secret_env: CUPO_EXPLAIN_JWT, algorithms: HS256, header: X-Token }
allow:
  - { name: probe, path: /probe, secret_header: { name: X-Probe, env: CUPO_EXPLAIN_PROBE } }
rules:
  - { name: token, key: ip, limit: 5/minute, match: { header: { X-Token: other } } }
  - { name: probed, key: ip, limit: 5/minute, match: { header: { x-probe: other } } }
  - { name: plain, key: ip, limit: 5/minute, match: { header: { x-plain: other } } }
"#,
    );
    let headers = ["-H", "x-token: SECRETTOKEN", "-H", "x-probe: SECRETPROBE", "-H", "x-plain: shown"];
    let mut command = crate::process::cupo();
    command.args(["explain", "-c", &policy.path(), "--path", "/"]).args(headers);
    command.env("CUPO_EXPLAIN_JWT", "0".repeat(32)).env("CUPO_EXPLAIN_PROBE", "1".repeat(16));
    let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(out.contains("which is `shown`"), "{out}");
    assert!(!out.contains("SECRET"), "{out}");
    assert_eq!(out.matches("which is sha256:").count(), 2, "{out}");
}
