//! `cupo diff`: what would change, and what carries over.

use crate::process::{PolicyFile, run};

const OLD: &str = "\
listen: 127.0.0.1:8080
plans:
  free: { requests: 100/minute }
  pro: { requests: { algorithm: token_bucket, capacity: 20, refill: 10/second } }
trusted_proxies: [10.0.0.0/8]
plan: { from: [header(x-plan)], default: free }
rules:
  - { name: login, match: { path: /login, method: POST }, stop: true, key: ip, limit: 5/minute }
  - { name: api, key: user | ip, limit: { plan: requests } }
  - { name: search, match: { path: /search }, key: ip, limit: { algorithm: sliding_window_log, count: 9, window: 1m } }
  - { name: old-name, match: { path: /old }, key: host, limit: 3/hour }
  - { name: kept, match: { path: /kept }, key: ip, limit: 3/hour }
responses: { retry_after_jitter: 1s }
";

const NEW: &str = "\
listen: 127.0.0.1:9090
plans:
  free: { requests: 200/minute }
  pro: { requests: { algorithm: token_bucket, capacity: 20, refill: 7/second } }
trusted_proxies: [10.0.0.0/8]
plan: { from: [header(x-plan)], default: pro }
rules:
  - { name: kept, match: { path: /kept }, key: ip, limit: 3/hour }
  - { name: login, match: { path: /login, method: POST }, stop: true, key: ip, limit: 5/hour }
  - { name: api, key: user | ip, limit: { plan: requests }, cost: 2 }
  - { name: search, match: { path: /search }, key: ip, limit: { algorithm: fixed_window, count: 9, window: 1m } }
  - { name: new-name, match: { path: /old }, key: host, limit: 3/hour }
responses: { retry_after_jitter: 2s }
";

fn diff(old: &str, new: &str, options: &[&str]) -> (Option<i32>, String, String) {
    let (old, new) = (PolicyFile::new(old), PolicyFile::new(new));
    let ran = run(&[&["diff", &old.path(), &new.path()], options].concat(), "");
    (ran.code, ran.out, ran.err)
}

#[test]
fn the_same_is_the_same_however_it_is_written() {
    let other = OLD.replace("5/minute", "{ algorithm: sliding_window_counter, count: 5, window: 60s }");
    let other = format!("# the same\n{}", other.replace("key: user | ip", "key: [user | ip]"));
    assert_eq!(diff(OLD, &other, &[]), (Some(0), "the policies say the same\n".to_owned(), String::new()));
    let (code, out, _) = diff(OLD, OLD, &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["same"], &json["unchanged_rules"]), (Some(0), &true.into(), &5.into()));
}

#[test]
fn every_change_is_told_with_what_becomes_of_the_counters() {
    let (code, out, err) = diff(OLD, NEW, &[]);
    assert_eq!((code, err.as_str()), (Some(1), ""), "{out}");
    let expected = "\
rule login changes
  limit            sliding_window_counter, 5 per 1m -> sliding_window_counter, 5 per 1h
  counters         taken over: what still counts is charged to the new limit when a key is first seen
rule api changes
  limit of free    sliding_window_counter, 100 per 1m -> sliding_window_counter, 200 per 1m
  limit of pro     token_bucket, capacity 20, refill 10 per 1s -> token_bucket, capacity 20, refill 7 per 1s
  cost             1 -> 2
  counters of free go on
  counters of pro  taken over: what still counts is charged to the new limit when a key is first seen
rule search changes
  limit            sliding_window_log, 9 per 1m -> fixed_window, 9 per 1m
  counters         start fresh: the algorithm changed
rule new-name is new
  match            /old
  key              host
  limit            sliding_window_counter, 3 per 1h
  counters         start fresh: counters go by the name, and old-name, which is gone, was another
rule old-name is gone
rule login stops others
  no longer stops  kept
policy
  plan.default     free -> pro
settings
  listen           changed; waits for a restart
  responses        changed
1 rule is unchanged; its counters go on
";
    assert_eq!(out, expected);
}

#[test]
fn programs_get_the_same_as_json() {
    let (code, out, err) = diff(OLD, NEW, &["--json"]);
    assert_eq!((code, err.as_str()), (Some(1), ""));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["same"], &json["unchanged_rules"]), (&false.into(), &1.into()));
    let rule = |name: &str| {
        let rules = json["rules"].as_array().unwrap();
        rules.iter().find(|rule| rule["rule"] == name).unwrap_or_else(|| panic!("{name} in {json:#}"))
    };
    assert_eq!(rule("login")["fields"][0]["field"], "limit");
    let counters = &rule("api")["counters"];
    assert_eq!((&counters[0]["tier"], &counters[0]["fate"]), (&"free".into(), &"keeps".into()));
    assert_eq!((&counters[1]["tier"], &counters[1]["fate"]), (&"pro".into(), &"carried".into()));
    assert_eq!(counters[1]["from"], "token_bucket, capacity 20, refill 10 per 1s");
    assert_eq!(rule("search")["counters"][0]["because"], "the algorithm changed");
    assert_eq!(
        (&rule("new-name")["change"], &rule("new-name")["looks_like"]),
        (&"added".into(), &"old-name".into())
    );
    assert_eq!(rule("old-name")["change"], "removed");
    assert_eq!(json["order"][0]["reveals"][0], "kept");
    assert_eq!(
        json["policy"][0],
        serde_json::json!({ "field": "plan.default", "before": "free", "after": "pro" })
    );
    let settings = serde_json::json!([
        { "field": "listen", "needs_restart": true },
        { "field": "responses", "needs_restart": false },
    ]);
    assert_eq!(json["settings"], settings);
}

#[test]
fn settings_say_whether_a_gateway_takes_them_while_it_runs() {
    let told = |old: &str, new: &str| {
        let of = |settings: &str| format!("{settings}\n{}", OLD.replace("listen: 127.0.0.1:8080\n", ""));
        let (code, out, err) = diff(&of(old), &of(new), &[]);
        assert_eq!((code, err.as_str()), (Some(1), ""));
        out.lines().filter(|line| line.starts_with("  ")).collect::<Vec<_>>().join("; ")
    };
    let server = "upstream: http://127.0.0.1:9000";
    assert_eq!(told(server, "upstream: http://127.0.0.1:9001"), "  upstream         changed");
    assert_eq!(told(server, "upstream: demo"), "  upstream         changed; waits for a restart");
    assert_eq!(told("workers: 1", "workers: 2"), "  workers          changed; waits for a restart");
    assert_eq!(
        told("store: memory", "store: { redis: { url: redis://h } }"),
        "  store            changed; waits for a restart"
    );
}

#[test]
fn a_file_that_is_wrong_is_an_error_that_is_no_difference() {
    let (code, out, err) = diff(OLD, "rules: []\n", &[]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("rules") && err.contains("hint"), "{err}");
    let file = PolicyFile::new(OLD);
    let ran = run(&["diff", &file.path(), "/nowhere/cupo.yaml"], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    assert_eq!(run(&["diff", &file.path()], "").code, Some(2), "two files");
}

#[test]
fn every_example_differs_from_the_others_and_not_from_itself() {
    let examples = crate::process::root().join("examples");
    let [one, other] =
        ["cupo.yaml", "plans.yaml"].map(|name| examples.join(name).to_str().unwrap().to_owned());
    assert_eq!(run(&["diff", &one, &one], "").code, Some(0));
    let ran = run(&["diff", &one, &other], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}
