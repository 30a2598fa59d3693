//! Limits whose windows change under traffic, with counters in memory and in Redis.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use cupo_testkit::redis::RedisServer;
use rustix::process::Signal;

use crate::client::{Client, get};
use crate::process::{Gateway, PolicyFile};
use crate::upstream;

const CONNECTIONS: usize = 16;
const REQUESTS: usize = 250;
const QUOTA: usize = 2_500;

/// Limits of as much, in other windows or at other rates.
const LIMITS: [[&str; 2]; 3] = [
    [
        "{ algorithm: fixed_window, count: 2500, window: 1000d }",
        "{ algorithm: fixed_window, count: 2500, window: 900d }",
    ],
    ["2500/1000d", "2500/900d"],
    [
        "{ algorithm: token_bucket, capacity: 2500, refill: 1/1000d }",
        "{ algorithm: token_bucket, capacity: 2500, refill: 1/900d }",
    ],
];

fn text(store: &str, limit: &str) -> String {
    format!("{store}\nrules:\n  - {{ name: all, key: global, limit: {limit} }}\n")
}

fn replace(policy: &PolicyFile, text: &str) {
    let path = PathBuf::from(policy.path());
    fs::write(path.with_extension("new"), text).unwrap();
    fs::rename(path.with_extension("new"), path).unwrap();
}

/// How many requests pass on one connection.
fn ask(address: SocketAddr, done: &AtomicUsize) -> usize {
    let mut client = Client::new(address);
    let passes = |_: &usize| {
        let status = client.get("/").status;
        done.fetch_add(1, Ordering::SeqCst);
        assert!([200, 429].contains(&status), "{status}: no request is lost");
        status == 200
    };
    (0..REQUESTS).filter(passes).count()
}

fn swap_under_traffic(store: &str, limits: [&str; 2]) {
    let policy = PolicyFile::new(&text(store, limits[0]));
    let mut gateway = Gateway::with_policy(&policy, upstream::ok());
    let (address, done) = (gateway.address, Arc::new(AtomicUsize::new(0)));
    let asker = |_| {
        let done = Arc::clone(&done);
        thread::spawn(move || ask(address, &done))
    };
    let askers: Vec<_> = (0..CONNECTIONS).map(asker).collect();
    let mut swaps = 0;
    // As long as there is room under each of them: requests that began before the last swap count as well.
    while done.load(Ordering::SeqCst) < QUOTA / 2 {
        swaps += 1;
        replace(&policy, &text(store, limits[swaps % 2]));
        gateway.signal(Signal::HUP);
        gateway.line(|line| line.contains("another policy is in force"));
    }
    let passed: usize = askers.into_iter().map(|asker| asker.join().expect("no request is lost")).sum();
    println!("{store:.12}: {swaps} swaps of {}", limits[0]);
    assert_eq!(passed, QUOTA, "{store}, {limits:?}, {swaps} swaps");
    // And again, now that nothing is left.
    replace(&policy, &text(store, limits[(swaps + 1) % 2]));
    gateway.signal(Signal::HUP);
    gateway.line(|line| line.contains("another policy is in force"));
    assert_eq!(get(address, "/").status, 429, "{store}, {limits:?}");
}

#[test]
fn what_was_counted_is_counted_once_while_windows_change_under_traffic() {
    let server = RedisServer::standalone().start();
    for limits in LIMITS {
        swap_under_traffic("store: memory", limits);
        server.flush();
        // Redis has time: a busy machine is not what is tried here.
        swap_under_traffic(
            &format!("store: {{ redis: {{ url: \"{}\", deadline: 20s }} }}", server.url()),
            limits,
        );
        server.assert_every_key_has_a_ttl();
    }
}

/// Two gateways that follow one after the other, as in a rollout.
#[test]
fn nodes_that_follow_later_lose_nothing() {
    let server = RedisServer::standalone().start();
    let store = format!("store: {{ redis: {{ url: \"{}\", deadline: 20s }} }}", server.url());
    let (old, new) = (text(&store, "20/1000d"), text(&store, "30/900d"));
    let policies = [PolicyFile::new(&old), PolicyFile::new(&old)];
    let mut gateways = policies.each_ref().map(|policy| Gateway::with_policy(policy, upstream::ok()));
    let addresses = gateways.each_ref().map(|gateway| gateway.address);
    let passing =
        |node: usize, asked: usize| (0..asked).filter(|_| get(addresses[node], "/").status == 200).count();
    let mut follow = |node: usize| {
        replace(&policies[node], &new);
        gateways[node].signal(Signal::HUP);
        gateways[node].line(|line| line.contains("another policy is in force"));
    };
    assert_eq!(passing(0, 6) + passing(1, 4), 10);
    follow(0);
    // What both have counted is carried over at the first request, and the other node goes on under its own limit.
    assert_eq!(get(addresses[0], "/").remaining(), 30 - 10 - 1);
    assert_eq!(passing(1, 5), 5);
    follow(1);
    assert_eq!(get(addresses[1], "/").remaining(), 30 - 10 - 1 - 5 - 1);
    assert_eq!(passing(0, 40), 13);
    server.assert_every_key_has_a_ttl();
}
