//! Plans and callers through the gateway, with counters in memory and in Redis.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use cupo_testkit::redis::{RedisServer, until};
use rustix::process::Signal;

use crate::client::{Client, Response, request};
use crate::process::{Gateway, PolicyFile, run};
use crate::upstream;

/// The secret is a variable that cargo sets for its tests.
const POLICY: &str = "
trusted_proxies: [127.0.0.1]
api_key_header: authorization
api_key_secret_env: CARGO_MANIFEST_DIR
access_log: true
plans:
  free: { requests: 3/1000d }
  premium: { requests: { rate: 5/1000d, burst: 1 } }
  internal: { requests: unlimited }
plan: { from: [callers, header(x-plan)], default: free }
callers: callers.yaml
rules:
  - { name: requests, key: api_key | user, limit: { plan: requests } }
";

fn write_callers(policy: &PolicyFile, entries: &str) {
    let path = Path::new(&policy.path()).with_file_name("callers.yaml");
    let beside = path.with_extension("new");
    fs::write(&beside, format!("callers:\n{entries}")).unwrap();
    fs::rename(beside, path).unwrap();
}

fn ask(address: SocketAddr, fields: &[&str]) -> Response {
    request(address, "GET", "/", fields)
}

/// How many of these requests pass.
fn passing(address: SocketAddr, count: usize, fields: &[&str]) -> usize {
    (0..count).filter(|_| ask(address, fields).status == 200).count()
}

/// With a store in memory, then with one in Redis.
fn on_both(test: impl Fn(&PolicyFile, &[&str])) {
    let server = RedisServer::standalone().start();
    for store in ["memory".to_owned(), server.url()] {
        let policy = PolicyFile::new(POLICY);
        write_callers(&policy, "  []\n");
        test(&policy, &["--store", &store, "--log", "info"]);
    }
    server.assert_every_key_has_a_ttl();
}

fn start(policy: &PolicyFile, options: &[&str]) -> Gateway {
    let (path, upstream) = (policy.path(), format!("http://{}", upstream::ok()));
    Gateway::start(&[&["-c", &path, "--upstream", &upstream], options].concat())
}

#[test]
fn callers_have_what_their_plan_and_their_entry_say() {
    on_both(|policy, options| {
        let hashed = run(&["hash-key", "-c", &policy.path()], "bearer k-ten\n\nBearer  k-blocked\n");
        assert_eq!(hashed.code, Some(0), "{hashed:?}");
        let hashes: Vec<&str> = hashed.out.lines().collect();
        assert_eq!(hashes.len(), 2, "{hashed:?}");
        write_callers(
            policy,
            &format!(
                "  - {{ api_key_hash: {}, times: 2 }}\n  - {{ api_key_hash: {}, blocked: true }}\n  \
                 - {{ user: monitor, unlimited: true }}\n  - {{ user: listed, plan: premium }}\n",
                hashes[0], hashes[1]
            ),
        );
        let mut gateway = start(policy, options);
        let address = gateway.address;

        // A change of tier keeps what was counted; an unknown tier is the default one.
        assert_eq!(passing(address, 5, &["X-User: alice"]), 3);
        assert_eq!(passing(address, 5, &["X-User: alice", "X-Plan: premium"]), 3);
        assert_eq!(passing(address, 2, &["X-User: alice", "X-Plan: gold"]), 0);
        assert_eq!(passing(address, 5, &["X-User: alice", "X-Plan: internal"]), 5);
        let premium = ask(address, &["X-User: listed"]);
        assert_eq!(premium.header("x-ratelimit-limit"), Some("6"), "the burst is part of the limit");

        // However credentials are spelled, they are the same.
        for spelling in ["Bearer k-1", "bearer  k-1", "BEARER k-1 "] {
            assert_eq!(ask(address, &[&format!("Authorization: {spelling}")]).status, 200, "{spelling}");
        }
        assert_eq!(ask(address, &["Authorization: Bearer k-1"]).status, 429);
        assert_eq!(passing(address, 8, &["Authorization: BEARER k-ten"]), 6);

        let blocked = ask(address, &["Authorization: bearer k-blocked"]);
        assert_eq!((blocked.status, blocked.header("retry-after")), (403, None), "{blocked:?}");
        assert!(blocked.body.contains("blocked") && !blocked.body.contains("k-blocked"), "{blocked:?}");
        let free = ask(address, &["X-User: monitor"]);
        assert_eq!((free.status, free.header("ratelimit")), (200, None));
        assert_eq!(passing(address, 10, &["X-User: monitor"]), 10);
        gateway.line(|line| line.contains(r#""verdict":"block""#) && line.contains("callers[1]"));
        gateway.line(|line| line.contains(r#""verdict":"allow""#) && line.contains("callers[2]"));
    });
}

#[test]
fn a_file_of_callers_that_changes_is_in_force_while_requests_go_on() {
    on_both(|policy, options| {
        write_callers(policy, "  - { user: busy, plan: internal }\n");
        let mut gateway = start(policy, options);
        let address = gateway.address;
        assert_eq!(passing(address, 5, &["X-User: alice"]), 3);

        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let traffic: Vec<_> = (0..2)
            .map(|_| {
                let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
                thread::spawn(move || {
                    let mut client = Client::new(address);
                    while !stop.load(Ordering::SeqCst) {
                        let response = client.request("GET", "/", &["X-User: busy"]);
                        assert_eq!(response.status, 200, "{response:?}");
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        let status = |user: &str| ask(address, &[&format!("X-User: {user}")]).status;

        // At once where somebody asks.
        write_callers(policy, "  - { user: busy, plan: internal }\n  - { user: mallory, blocked: true }\n");
        gateway.signal(Signal::HUP);
        until("mallory is blocked", || (status("mallory") == 403).then_some(()));
        assert_eq!(status("alice"), 429, "what was counted stays counted");

        // What is wrong changes nothing, and is told.
        write_callers(policy, "  - { user: mallory, plan: gold }\n");
        gateway.line(|line| line.contains(" is refused, "));
        gateway.line(|line| line.contains("there is no plan `gold`"));
        assert_eq!(status("mallory"), 403);

        // Nobody has to ask.
        write_callers(policy, "  - { user: busy, plan: internal }\n  - { user: alice, times: 2 }\n");
        until("alice has twice as much", || (status("alice") == 200).then_some(()));
        assert_eq!(passing(address, 5, &["X-User: alice"]), 2, "three and one of six were used");
        assert_ne!(status("mallory"), 403);

        stop.store(true, Ordering::SeqCst);
        traffic.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(answered.load(Ordering::SeqCst) > 20);
        gateway.signal(Signal::TERM);
        let (ended, said) = gateway.end();
        assert_eq!(ended.code(), Some(0), "{said:?}");
    });
}

#[test]
fn check_and_replay_go_by_plans_and_callers() {
    let policy = PolicyFile::new(POLICY);
    write_callers(&policy, "  - { user: mallory, blocked: true }\n  - { user: alice, times: 2 }\n");
    let checked = run(&["check", &policy.path()], "");
    assert_eq!(checked.code, Some(0), "{checked:?}");
    for part in
        ["free, premium, internal", "else free", "callers          2, from ", "unlimited", "6 per 1000d"]
    {
        assert!(checked.out.contains(part), "{part} is not in\n{}", checked.out);
    }
    let event =
        |user: &str| format!("{{\"t_us\":0,\"peer\":\"127.0.0.1\",\"headers\":{{\"x-user\":\"{user}\"}}}}\n");
    let replayed = run(&["replay", &policy.path()], event("mallory") + &event("alice"));
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    let lines: Vec<&str> = replayed.out.lines().collect();
    assert!(lines[0].contains(r#""allowed":false"#) && lines[0].contains(r#""listed":"block""#), "{lines:?}");
    assert!(lines[1].contains(r#""limit":6"#), "{lines:?}");

    write_callers(&policy, "  - { user: alice, times: 0 }\n");
    let checked = run(&["check", &policy.path()], "");
    assert_eq!(checked.code, Some(1));
    assert!(checked.err.contains("callers.yaml:2:27") && checked.err.contains("hint: "), "{}", checked.err);
    assert_eq!(run(&["hash-key", "-c", &policy.path()], "\n").code, Some(1), "no key");
    assert_eq!(run(&["hash-key", "-c", &policy.path()], "k").code, Some(0), "callers do not matter here");
}
