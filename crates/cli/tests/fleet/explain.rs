//! `cupo explain` on the counters of gateways that run.

use cupo_testkit::redis::RedisServer;
use serde_json::Value;

use crate::client::request;
use crate::process::{Gateway, PolicyFile, Ran, run};
use crate::upstream;

fn policy(store: &str) -> PolicyFile {
    PolicyFile::new(&format!(
        "{store}
rules:
  - {{ name: window, match: {{ path: /w }}, key: ip, limit: {{ algorithm: fixed_window, rate: 2/1000d }} }}
  - {{ name: log, match: {{ path: /l }}, key: api_key | ip, limit: {{ algorithm: sliding_window_log, rate: 2/1000d }} }}
  - {{ name: counter, match: {{ path: /c }}, key: ip, limit: 2/1000d }}
  - {{ name: bucket, match: {{ path: /b }}, key: ip, limit: {{ algorithm: token_bucket, capacity: 2, refill: 1/1000d }} }}
  - {{ name: month, match: {{ path: /m }}, key: ip, limit: {{ algorithm: fixed_window, count: 2, calendar: month }} }}
  - {{ name: both, key: global, limit: {{ algorithm: sliding_window_log, rate: 100/1000d }} }}
"
    ))
}

/// Everything that the server keeps, and until when.
fn contents(server: &RedisServer) -> Vec<(String, String, String)> {
    let keys = server.command(&["KEYS", "*"]);
    let mut all: Vec<_> = keys
        .array()
        .iter()
        .map(|key| {
            let name = key.bytes().escape_ascii().to_string();
            let script = "return {redis.call('DUMP', KEYS[1]), tostring(redis.call('PEXPIRETIME', KEYS[1]))}";
            let words: [&[u8]; 4] = [b"EVAL", script.as_bytes(), b"1", key.bytes()];
            let found = server.command(&words);
            let [dump, expiry] = found.array() else { panic!("{found:?}") };
            (name, dump.bytes().escape_ascii().to_string(), expiry.text().to_owned())
        })
        .collect();
    all.sort();
    all
}

fn explain(policy: &PolicyFile, arguments: &[&str]) -> Ran {
    let ran = run(&[&["explain", "-c", &policy.path()], arguments].concat(), "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    ran
}

#[test]
fn what_is_explained_is_what_the_gateway_answers_and_no_key_is_touched() {
    let server = RedisServer::standalone().start();
    let policy = policy(&format!("store: {{ redis: {{ url: \"{}\" }} }}", server.url()));
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    for path in ["/w", "/l", "/c", "/b", "/m"] {
        for turn in 0..4 {
            let before = contents(&server);
            let arguments = [
                "--path",
                path,
                "-H",
                "x-api-key: k1",
                "-H",
                "accept: application/json",
                "--connect",
                "--json",
            ];
            let explained: Value = serde_json::from_str(&explain(&policy, &arguments).out).unwrap();
            assert_eq!(contents(&server), before, "{path}: a key was touched");
            let response =
                request(gateway.address, "GET", path, &["X-Api-Key: k1", "Accept: application/json"]);
            let said = &explained["response"];
            assert_eq!(
                said["status"].as_u64().unwrap_or(200),
                u64::from(response.status),
                "{path}: {explained}"
            );
            assert_eq!(response.status == 429, turn > 1, "{path}");
            for header in said["headers"].as_array().unwrap() {
                let [name, value] = header.as_array().unwrap().as_slice() else { panic!("{header}") };
                let (name, value) = (name.as_str().unwrap(), value.as_str().unwrap());
                // A second may pass between.
                let timed = ["x-ratelimit-reset", "ratelimit", "retry-after", "expires"].contains(&name);
                let told = response.header(name).unwrap_or_else(|| panic!("{name} is not in {response:?}"));
                assert!(told == value || timed, "{path}: {name}: {value}, and then {told}");
            }
            let left = response.of_rules("r");
            let rule = &explained["binding"].as_str().unwrap();
            let shown =
                explained["rules"].as_array().unwrap().iter().find(|one| one["name"] == *rule).unwrap();
            assert_eq!(shown["would"]["remaining"].as_u64(), left.get(*rule).copied(), "{path}");
        }
    }
    // By the option: the same servers, under the usual prefix.
    let same = explain(&policy, &["--path", "/w", "--store", &server.url()]).out;
    assert!(same.contains("\nREFUSED with 429 by the rule window: there is room again in "), "{same}");
    let fresh = explain(&policy, &["--path", "/w"]).out;
    assert!(fresh.contains("\nADMITTED: window has room for the fewest more\n"), "{fresh}");
}

#[test]
fn the_document_shows_what_is_printed_of_a_refusal() {
    let server = RedisServer::standalone().start();
    let example = crate::process::root().join("examples/cupo.yaml");
    let example = example.to_str().unwrap();
    let upstream = format!("http://{}", upstream::ok());
    let gateway = Gateway::start(&["-c", example, "--upstream", &upstream, "--store", &server.url()]);
    for _ in 0..5 {
        assert_eq!(request(gateway.address, "POST", "/login", &[]).status, 200);
    }
    let arguments = ["explain", "-c", example, "-X", "POST", "--path", "/login", "--store", &server.url()];
    let ran = run(&arguments, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(crate::process::root().join("docs/explain.md")).unwrap();
    let block =
        text.split("```").find(|block| block.starts_with("console\n$ cupo explain -c cupo.yaml -X POST"));
    let (_, output) = block.unwrap().strip_prefix("console\n").unwrap().split_once('\n').unwrap();
    assert_eq!(outline(&ran.out), outline(output));
}

/// The first words of every line, without numbers: the rest depends on how much time has passed.
fn outline(text: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    text.lines().map(|line| words(line).replace(|c: char| c.is_ascii_digit(), "")).collect()
}
