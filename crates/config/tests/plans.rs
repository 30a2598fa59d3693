//! Plans, callers, secrets and bursts as a file says them.

#![allow(clippy::panic, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use cupo_config::{Config, ConfigErrors, load, load_without_callers};
use cupo_core::{ApiKeyHash, PlanFrom};
use tempfile::TempDir;

const POLICY: &str = "
plans:
  free: { requests: 100/hour, burst: { algorithm: token_bucket, capacity: 10, refill: 1/second } }
  internal: { burst: unlimited, requests: unlimited, unused: 5/s }
plan: { from: [callers, claim(plan), header(X-Plan)], default: free }
callers: callers.yaml
rules:
  - { name: requests, key: api_key, limit: { plan: requests } }
  - { name: burst, key: api_key, limit: { plan: burst } }
  - { name: own, key: ip, limit: { rate: 100/minute, burst: 10 } }
jwt: { keys_file: jwks.json, algorithms: [RS256] }
trusted_proxies: [10.0.0.0/8]
";

fn folder(callers: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cupo.yaml"), POLICY).unwrap();
    fs::write(folder.path().join("callers.yaml"), callers).unwrap();
    folder
}

fn loaded(folder: &Path) -> Result<Config, ConfigErrors> {
    load(folder.join("cupo.yaml"))
}

#[test]
fn plans_and_callers_are_read() {
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let folder = folder(&format!(
        "callers:
  - {{ api_key_hash: {hash}, plan: internal }}
  - {{ api_key_hash: \"{}\", times: 10 }}
  - {{ user: 12345, times: 10, blocked: false }}
  - user: no
    blocked: true
  - {{ ip: 2001:db8::/32, unlimited: true }}
  - {{ ip: 192.0.2.7, plan: free, times: 3 }}
",
        hash.replace('b', "C")
    ));
    let config = loaded(folder.path()).unwrap_or_else(|errors| panic!("{errors}"));
    let policy = &config.policy;
    assert_eq!(policy.tiers().collect::<Vec<_>>(), ["free", "internal"]);
    assert_eq!(policy.default_tier(), Some("free"));
    let from = [PlanFrom::Callers, PlanFrom::Claim("plan".to_owned()), PlanFrom::Header("x-plan".to_owned())];
    assert_eq!(policy.plan_from(), from);
    assert_eq!(policy.hash_api_key(b"abc"), hash.parse::<ApiKeyHash>().ok());
    let limits = |rule: usize| {
        let limits = policy.rules()[rule].limits();
        limits.map(|limit| limit.map_or("-".to_owned(), ToString::to_string)).collect::<Vec<_>>()
    };
    assert_eq!(limits(0), ["sliding_window_counter, 100 per 1h", "-"]);
    assert_eq!(limits(1), ["token_bucket, capacity 10, refill 1 per 1s", "-"]);
    assert_eq!(limits(2), ["sliding_window_counter, 110 per 1m"]);
    let file = config.callers.as_ref().unwrap();
    assert_eq!((file.callers, policy.callers()), (6, 6));
    assert_eq!(file.path, folder.path().join("callers.yaml"), "it is beside the policy");
}

#[test]
fn the_example_loads() {
    let config = load("../../examples/plans.yaml").unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.policy.tiers().count(), 3);
    assert_eq!(config.callers.unwrap().callers, 5);
}

#[test]
fn a_burst_is_more_of_the_same_window() {
    for (limit, expected) in [
        ("{ rate: 100/minute, burst: 10 }", "sliding_window_counter, 110 per 1m"),
        ("{ rate: 100/minute }", "sliding_window_counter, 100 per 1m"),
        ("{ burst: 0, rate: 100/minute }", "sliding_window_counter, 100 per 1m"),
        ("{ algorithm: fixed_window, count: 5, window: 1h, burst: 1 }", "fixed_window, 6 per 1h"),
        ("{ algorithm: sliding_window_log, rate: 5/s, burst: 1 }", "sliding_window_log, 6 per 1s"),
    ] {
        let text = format!("rules: [{{ name: all, key: ip, limit: {limit} }}]");
        let config = cupo_config::parse("p.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        let shown: Vec<String> =
            config.policy.rules()[0].limits().flatten().map(ToString::to_string).collect();
        assert_eq!(shown, [expected], "{limit}");
    }
}

#[test]
fn a_policy_knows_whether_its_files_say_what_they_said() {
    let folder = folder("callers: [{ user: alice, times: 10 }]");
    let config = loaded(folder.path()).unwrap();
    let file = config.callers.clone().unwrap();
    assert!(file.is_current() && config.is_current());

    fs::write(
        folder.path().join("callers.yaml"),
        "callers: [{ user: alice, times: 11 }, { ip: ::1, times: 2 }]",
    )
    .unwrap();
    assert!(!file.is_current() && !config.is_current());
    let next = loaded(folder.path()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!((next.policy.rules().len(), next.policy.callers()), (3, 2));
    assert_ne!(next.callers.as_ref().unwrap().fingerprint, file.fingerprint);

    fs::write(folder.path().join("callers.yaml"), "callers: [{ user: alice, plan: gold }]").unwrap();
    let errors = loaded(folder.path()).unwrap_err().to_string();
    assert!(errors.contains("no plan `gold`") && errors.contains("callers.yaml:1:32"), "{errors}");

    fs::remove_file(folder.path().join("callers.yaml")).unwrap();
    assert!(!file.is_current());
    let errors = loaded(folder.path()).unwrap_err();
    assert!(errors.to_string().contains("cannot read the file of callers"), "{errors}");
    let policy = folder.path().join("cupo.yaml");
    let files = [policy.as_path(), &folder.path().join("callers.yaml"), &folder.path().join("jwks.json")];
    assert!(errors.files().eq(files), "it is looked for though it is not there: {errors:?}");

    fs::write(
        folder.path().join("callers.yaml"),
        "callers: [{ user: alice, times: 11 }, { ip: ::1, times: 2 }]",
    )
    .unwrap();
    assert!(next.is_current());
    fs::write(&policy, format!("{POLICY}# More\n")).unwrap();
    assert!(!next.is_current());
    fs::write(&policy, "rules: [").unwrap();
    assert!(loaded(folder.path()).unwrap_err().files().eq([policy.as_path()]));
}

#[test]
fn the_policy_alone_needs_no_callers() {
    let folder = folder("callers: [");
    assert!(loaded(folder.path()).is_err());
    let config = load_without_callers(folder.path().join("cupo.yaml")).unwrap();
    assert_eq!((config.policy.callers(), config.callers), (0, None));
}

#[test]
fn faults_in_both_files_are_told_together() {
    let folder = folder("callers:\n  - { user: alice }\n  - { user: bob, plan: gold }\n");
    fs::write(folder.path().join("cupo.yaml"), POLICY.replace("key: ip", "key: ipp")).unwrap();
    let errors = loaded(folder.path()).unwrap_err();
    let told: Vec<String> = errors.iter().map(|error| format!("{} {}", error.line(), error.path())).collect();
    assert_eq!(told, ["10 rules[2].key", "2 callers[0]", "3 callers[1].plan"]);
}

#[test]
fn plans_with_faults_are_the_only_thing_that_is_told() {
    let text = POLICY.replace("callers: callers.yaml\n", "").replace("[callers, ", "[");
    let text = text.replace("100/hour", "100/year");
    let errors = cupo_config::parse("p.yaml", &text).unwrap_err();
    let told: Vec<&str> = errors.iter().map(cupo_config::ConfigError::path).collect();
    assert_eq!(told, ["plans.free.requests"], "{errors}");
}

#[test]
fn a_hundred_thousand_callers_are_taken() {
    let mut text = "callers:\n".to_owned();
    for i in 0..100_000 {
        writeln!(text, "- {{ api_key_hash: {i:064x}, plan: internal }}").unwrap();
    }
    let folder = folder(&text);
    let config = loaded(folder.path()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config.policy.callers(), 100_000);
}
