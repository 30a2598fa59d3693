//! Policies that are swapped under traffic, with counters in memory and in Redis.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use cupo_testkit::redis::{RedisServer, until};
use rustix::process::Signal;

use crate::client::{Client, Response, get};
use crate::process::{Gateway, PolicyFile, wait};
use crate::upstream;

const CONNECTIONS: usize = 24;
const REQUESTS: usize = 250;
const QUOTA: usize = 4_000;

/// Two policies with one limit in common. What else they say differs, so that an answer shows which it was.
fn text(store: &str, version: &str) -> String {
    format!(
        "{store}\nresponses: {{ headers: [{{ limit: X-{version} }}, ietf-11] }}\nrules:\n  \
         - {{ name: all, key: global, limit: {{ algorithm: fixed_window, rate: {QUOTA}/1000d }} }}\n  \
         - {{ name: {version}, key: ip, limit: 1000000/100d }}\n"
    )
}

fn replace(policy: &PolicyFile, text: &str) {
    let path = PathBuf::from(policy.path());
    fs::write(path.with_extension("new"), text).unwrap();
    fs::rename(path.with_extension("new"), path).unwrap();
}

/// Which of the policies answered, wholly.
fn version(response: &Response) -> &'static str {
    let rules = response.of_rules("q");
    assert_eq!(rules["all"], 4_000, "{response:?}");
    let is = |name: &str| response.header(&format!("x-{name}")).is_some() && rules.contains_key(name);
    match (is("one"), is("two"), rules.len()) {
        (true, false, 2) => "one",
        (false, true, 2) => "two",
        _ => panic!("half of a policy: {response:?}"),
    }
}

/// Sends its requests over one connection, and tells how many passed under each policy.
fn ask(address: SocketAddr, done: &AtomicUsize) -> [usize; 3] {
    let mut client = Client::new(address);
    let mut seen = [0; 3];
    for _ in 0..REQUESTS {
        let response = client.get("/");
        let version = version(&response);
        match (response.status, version) {
            (200, "one") => seen[0] += 1,
            (200, _) => seen[1] += 1,
            (429, _) => seen[2] += 1,
            _ => panic!("{response:?}"),
        }
        done.fetch_add(1, Ordering::SeqCst);
    }
    seen
}

/// With counters in memory, then in Redis. Redis has time: a busy machine is not what is tried here.
fn on_both(test: impl Fn(&str)) {
    test("store: memory");
    let server = RedisServer::standalone().start();
    test(&format!("store: {{ redis: {{ url: \"{}\", deadline: 20s }} }}", server.url()));
    server.assert_every_key_has_a_ttl();
}

#[test]
fn no_request_is_lost_and_the_limit_is_exact_while_policies_are_swapped() {
    on_both(|store| {
        let policy = PolicyFile::new(&text(store, "one"));
        let gateway = Gateway::with_policy(&policy, upstream::ok());
        let (address, done) = (gateway.address, Arc::new(AtomicUsize::new(0)));
        let askers: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let done = Arc::clone(&done);
                thread::spawn(move || ask(address, &done))
            })
            .collect();
        // Back and forth, with a file that is refused in between.
        let mut turn = 0;
        while done.load(Ordering::SeqCst) < CONNECTIONS * REQUESTS
            && !askers.iter().all(|asker| asker.is_finished())
        {
            let next = match turn % 3 {
                0 => text(store, "two"),
                1 => "rules: [".to_owned(),
                _ => text(store, "one"),
            };
            replace(&policy, &next);
            gateway.signal(Signal::HUP);
            wait(Duration::from_millis(15));
            turn += 1;
        }
        let seen = askers.into_iter().map(|asker| asker.join().expect("no request is lost"));
        let seen = seen.fold([0; 3], |all, one| std::array::from_fn(|i| all[i] + one[i]));
        assert_eq!(
            (seen[0] + seen[1], seen[2]),
            (QUOTA, CONNECTIONS * REQUESTS - QUOTA),
            "{store}: {seen:?}"
        );
        assert!(seen[0] > 0 && seen[1] > 0, "both have answered: {seen:?}");
        assert_eq!(get(address, "/").status, 429);
        gateway.signal(Signal::TERM);
        let (status, said) = gateway.end();
        assert_eq!(status.code(), Some(0), "{said:?}");
        let told = |what: &str| said.iter().filter(|(_, line)| line.contains(what)).count();
        let (swaps, refused) = (told("another policy is in force"), told(" is refused, "));
        println!("{store:.12}: {turn} turns, {swaps} swaps, {refused} refused, {seen:?}");
        assert!(swaps >= 4 && refused >= 2, "{swaps} swaps, {refused} refused");
    });
}

/// Limits that change while requests go on, each for a path of its own: before, after, and how many requests pass in all.
const CHANGES: [(&str, &str, &str, usize); 5] = [
    ("/raised", "algorithm: fixed_window, rate: 300/1000d", "algorithm: fixed_window, rate: 500/1000d", 500),
    (
        "/lowered",
        "algorithm: sliding_window_counter, rate: 500/1000d",
        "algorithm: sliding_window_counter, rate: 300/1000d",
        300,
    ),
    (
        "/window",
        "algorithm: sliding_window_log, rate: 300/9d",
        "algorithm: sliding_window_log, rate: 300/8d",
        300,
    ),
    (
        "/bucket",
        "algorithm: token_bucket, capacity: 300, refill: 1/1000d",
        "algorithm: token_bucket, capacity: 400, refill: 1/900d",
        400,
    ),
    ("/same", "algorithm: fixed_window, rate: 300/900d", "algorithm: fixed_window, rate: 300/900d", 300),
];

#[test]
fn what_was_used_stays_used_when_limits_change_under_traffic() {
    on_both(|store| {
        let text = |second: bool| {
            let rule = |(path, before, after, _): &(&str, &str, &str, usize)| {
                let (name, limit) = (&path[1..], if second { after } else { before });
                format!(
                    "  - {{ name: {name}, match: {{ path: {path} }}, key: global, limit: {{ {limit} }} }}\n"
                )
            };
            format!("{store}\nrules:\n{}", CHANGES.iter().map(rule).collect::<String>())
        };
        let policy = PolicyFile::new(&text(false));
        let mut gateway = Gateway::with_policy(&policy, upstream::ok());
        let (address, done) = (gateway.address, Arc::new(AtomicUsize::new(0)));
        let askers: Vec<_> = (0..CONNECTIONS)
            .map(|_| {
                let done = Arc::clone(&done);
                thread::spawn(move || {
                    let mut client = Client::new(address);
                    let mut passed = [0; CHANGES.len()];
                    for k in 0..REQUESTS {
                        let path = k % CHANGES.len();
                        match client.get(CHANGES[path].0).status {
                            200 => passed[path] += 1,
                            429 => {}
                            other => panic!("{other}"),
                        }
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                    passed
                })
            })
            .collect();
        // Some 200 of each have passed: fewer than the lowered limit.
        until("requests are under way", || (done.load(Ordering::SeqCst) >= 1_000).then_some(()));
        replace(&policy, &text(true));
        gateway.signal(Signal::HUP);
        gateway.line(|line| line.contains("another policy is in force"));
        let at = done.load(Ordering::SeqCst);
        let passed = askers.into_iter().map(|asker| asker.join().expect("no request is lost"));
        let passed = passed.fold([0; CHANGES.len()], |all, one| std::array::from_fn(|i| all[i] + one[i]));
        println!("{store:.12}: swapped after {at}: {passed:?}");
        assert!(at < 2 * CONNECTIONS * REQUESTS / 5, "requests went on: {at}");
        for ((path, _, _, expected), passed) in CHANGES.into_iter().zip(passed) {
            assert_eq!(passed, expected, "{path} in {store}");
            assert_eq!(get(address, path).status, 429, "{path}");
        }
    });
}

#[test]
fn a_rule_that_decides_by_itself_without_the_store_may_come_with_a_reload() {
    let mut server = RedisServer::standalone().start();
    let text = |rest: &str| {
        format!(
            "store: {{ redis: {{ url: \"{}\" }} }}\nreplicas: 2\nrules:\n  - {{ name: all, key: ip, limit: 20/1000d, on_store_error: {rest} }}\n",
            server.url()
        )
    };
    let (deny, local) = (text("deny"), text("local"));
    let policy = PolicyFile::new(&deny);
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    let address = gateway.address;
    until("the store decides", || (get(address, "/").status == 200).then_some(()));
    replace(&policy, &local);
    gateway.signal(Signal::HUP);
    gateway.line(|line| line.contains("another policy is in force"));
    server.kill9();
    until("this node's share is enforced", || {
        (get(address, "/").number("x-ratelimit-limit") == Some(10)).then_some(())
    });
    let left = get(address, "/").remaining();
    assert_eq!((0..=left).filter(|_| get(address, "/").status == 200).count() as u64, left);
}
