//! `cupo replay` prints the same, byte for byte, whichever store decides.

use cupo_testkit::redis::{Cluster, RedisServer, valkey_server};
use serde_json::{Value, json};

use crate::process::{PolicyFile, Ran, root, run};

/// Every algorithm, kind of key, action and answer to a missing part; and small limits that are reached and left again.
fn policy() -> PolicyFile {
    let example = std::fs::read_to_string(root().join("examples/every-algorithm-and-key.yaml")).unwrap();
    let limits = [
        "algorithm: fixed_window, count: 9, window: 700ms",
        "algorithm: sliding_window_log, count: 7, window: 900ms",
        "algorithm: sliding_window_counter, count: 8, window: 800ms",
        "algorithm: token_bucket, capacity: 6, refill: 7/second",
        "algorithm: leaky_bucket, rate: 9/second, queue: 5",
        "algorithm: fixed_window, rate: 6/600ms, anchor: first_request",
        "algorithm: fixed_window, count: 20, calendar: hour, time_zone: Australia/Lord_Howe",
        // Too large for microseconds: these count in milliseconds.
        "algorithm: sliding_window_counter, count: 2000000, window: 1d",
        "algorithm: token_bucket, capacity: 2000000, refill: 7/1d",
    ];
    let small: String = limits
        .iter()
        .enumerate()
        .map(|(n, limit)| {
            let path = format!("match: {{ path: \"/small/{n}\" }}");
            format!("  - {{ name: small-{n}, {path}, key: [ip, method], limit: {{ {limit} }} }}\n")
        })
        .collect();
    PolicyFile::new(&format!("{example}\n{small}"))
}

/// The same events at every run.
fn events(count: usize) -> String {
    let mut random = 77_777_u64;
    let mut below = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let pick = |of: &[&'static str], n: u64| of[usize::try_from(n).unwrap()];
    let mut at = 1_795_986_000_000_000_u64;
    let mut lines = String::new();
    for _ in 0..count {
        at += match below(10) {
            0 => below(2_000_000),
            1..=4 => 0,
            _ => below(60_000),
        };
        // Some clocks step back.
        let told = at - if below(20) == 0 { below(500_000) } else { 0 };
        let path = match below(4) {
            0 => format!("/small/{}", below(9)),
            1 => format!("/orders/{}", below(3)),
            2 => format!("/account/x?tenant={}", below(4)),
            _ => pick(&["/", "/internal/x", "/items/7"], below(3)).to_owned(),
        };
        let mut headers = json!({ "host": pick(&["a.example", "b.example"], below(2)) });
        for (name, values) in [("x-team", 3), ("x-user", 4), ("x-api-key", 5), ("cookie", 3)] {
            if below(3) > 0 {
                let value = below(values);
                headers[name] = match name {
                    "cookie" => Value::from(format!("session={value}")),
                    _ => Value::from(value.to_string()),
                };
            }
        }
        let peer = pick(&["127.0.0.1", "203.0.113.9", "2001:db8::7"], below(3));
        let method = pick(&["GET", "POST", "DELETE"], below(3));
        let mut event =
            json!({ "t_us": told, "peer": peer, "method": method, "path": path, "headers": headers });
        match below(12) {
            0 => event["cost"] = below(6).into(),
            1 => event["descriptors"] = json!({ "job": below(2).to_string() }),
            _ => {}
        }
        lines.push_str(&format!("{event}\n"));
    }
    lines
}

fn decided(policy: &PolicyFile, store: &str, events: &str) -> Ran {
    let ran = run(&["replay", &policy.path(), "--store", store], events);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{store}");
    ran
}

/// Both print the same; tells the first line that differs instead of all of them.
fn assert_same(memory: &str, other: &str, store: &str) {
    for (n, (a, b)) in memory.lines().zip(other.lines()).enumerate() {
        assert_eq!(a, b, "line {n}, {store}");
    }
    assert_eq!(memory.len(), other.len());
    assert!(memory == other, "byte for byte");
}

#[test]
fn a_redis_server_prints_what_memory_prints() {
    let (policy, events) = (policy(), events(5_000));
    let memory = decided(&policy, "memory", &events).out;
    assert_eq!(memory.lines().count(), 5_000);
    for verdict in
        ["\"verdict\":\"deny\"", "\"verdict\":\"admit\"", "\"verdict\":\"impossible\"", "\"lacks\""]
    {
        assert!(memory.contains(verdict), "{verdict} does not come");
    }
    let server = RedisServer::standalone().start();
    let redis = decided(&policy, &server.url(), &events).out;
    assert_same(&memory, &redis, "redis");
    server.assert_every_key_has_a_ttl();
    // Another replay begins with nothing, on the same server.
    assert_same(&memory, &decided(&policy, &server.url(), &events).out, "redis again");
    if let Some(binary) = valkey_server() {
        let server = RedisServer::standalone().binary(binary).start();
        assert_same(&memory, &decided(&policy, &server.url(), &events).out, "valkey");
    }
}

#[test]
fn a_cluster_prints_what_memory_prints_where_no_check_spans_slots() {
    // One rule for each path, all by the same parts, so that each check has one slot.
    let text: String = std::fs::read_to_string(policy().path()).unwrap();
    let small = text.split("  - { name: small-").skip(1).map(|rule| format!("  - {{ name: small-{rule}"));
    let policy = PolicyFile::new(&format!("rules:\n{}", small.collect::<String>()));
    let events = events(2_000);
    let memory = decided(&policy, "memory", &events).out;
    let cluster = Cluster::start();
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    let ran = decided(&policy, &format!("redis-cluster://{}", hosts.join(",")), &events);
    assert_same(&memory, &ran.out, "cluster");
}

/// Access logs, too: in the order of their times, with what cannot be read left out.
#[test]
fn a_log_is_decided_the_same() {
    let policy = PolicyFile::new(
        "trusted_proxies: [10.0.0.0/8]
rules:
  - { name: client, key: ip, limit: { algorithm: token_bucket, capacity: 4, refill: 1/second } }
  - { name: route, key: route, limit: 30/minute }
  - { name: agent, key: header(user-agent), limit: { algorithm: sliding_window_log, count: 40, window: 30s }, on_missing: skip }
",
    );
    let line = |n: u64| {
        let (second, host, path) = (n / 9 + n * 7 % 5, n * 13 % 7, n * 5 % 11);
        let (minute, second) = (second / 60, second % 60);
        match n % 50 {
            49 => "nonsense\n".to_owned(),
            _ => format!(
                "10.0.0.1 - - [29/Nov/2026:21:{minute:02}:{second:02} +0000] \"GET /{path} HTTP/1.1\" 200 5 \"-\" \"a{}\" \"192.0.2.{host}\"\n",
                n % 3
            ),
        }
    };
    let log: String = (0..2_000).map(line).collect();
    let server = RedisServer::standalone().start();
    let replay = |store: &str, more: &[&str]| {
        let ran = run(&[&["replay", &policy.path(), "--store", store], more].concat(), log.as_str());
        assert_eq!(ran.code, Some(0), "{store}: {}", ran.err);
        ran.out
    };
    let memory = replay("memory", &[]);
    assert_eq!(memory.lines().count(), 1_960);
    assert!(memory.contains("\"verdict\":\"deny\""));
    assert_same(&memory, &replay(&server.url(), &[]), "redis");
    assert_eq!(replay("memory", &["--summary"]), replay(&server.url(), &["--summary"]));
    // Two policies on one server do not see each other's counters.
    let twice = replay(&server.url(), &[&policy.path()]);
    assert_eq!(twice, replay("memory", &[&policy.path()]));
}
