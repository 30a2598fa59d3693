//! Eight gateways on one server enforce one limit, not eight.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread;

use cupo_testkit::redis::RedisServer;

use crate::client::{Client, Response};
use crate::process::{Gateway, PolicyFile};
use crate::upstream;

const GATEWAYS: usize = 8;
const QUOTA: u64 = 300;
const PATHS: [&str; 5] = ["/fixed", "/log", "/counter", "/bucket", "/leaky"];

/// A rule per algorithm, none of which gives anything back while the test runs, and two whose keys overlap. What the store cannot
/// decide is refused with 503, so that it is seen.
fn policy(url: &str, denial_cache: bool) -> PolicyFile {
    let mut text = format!(
        "store: {{ redis: {{ url: \"{url}\", deadline: 20s, denial_cache: {denial_cache} }} }}\nrules:\n"
    );
    let mut rule = |name: &str, path: &str, key: &str, limit: &str| {
        text.push_str(&format!(
            "  - {{ name: {name}, match: {{ path: {path} }}, key: {key}, limit: {{ {limit} }}, on_store_error: deny }}\n"
        ));
    };
    let places = QUOTA - 1;
    for (path, limit) in PATHS.into_iter().zip([
        format!("algorithm: fixed_window, count: {QUOTA}, window: 1000d"),
        format!("algorithm: sliding_window_log, count: {QUOTA}, window: 10d"),
        format!("algorithm: sliding_window_counter, count: {QUOTA}, window: 1000d"),
        format!("algorithm: token_bucket, capacity: {QUOTA}, refill: 1/1000d"),
        format!("algorithm: leaky_bucket, rate: 1/1000d, queue: {places}"),
    ]) {
        rule(&path[1..], path, "global", &limit);
    }
    rule("user", "/both", "header(x-user)", "algorithm: token_bucket, capacity: 20, refill: 1/1000d");
    rule("team", "/both", "header(x-team)", "algorithm: fixed_window, count: 30, window: 1000d");
    PolicyFile::new(&text)
}

/// Gateways, every other one with the cache of denials.
fn gateways(server: &RedisServer) -> Vec<Gateway> {
    let upstream = upstream::ok();
    let policies = [policy(&server.url(), false), policy(&server.url(), true)];
    (0..GATEWAYS).map(|n| Gateway::with_policy(&policies[n % 2], upstream)).collect()
}

/// Runs `client` four times at once against each gateway.
fn at_once<T: Send + 'static>(
    gateways: &[Gateway],
    client: impl Fn(SocketAddr, usize) -> T + Clone + Send + 'static,
) -> Vec<T> {
    let threads: Vec<_> = (0..GATEWAYS * 4)
        .map(|n| {
            let (address, client) = (gateways[n % GATEWAYS].address, client.clone());
            thread::spawn(move || client(address, n))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn is_admitted(response: &Response) -> bool {
    assert!([200, 429].contains(&response.status), "{response:?}");
    response.status == 200
}

#[test]
fn eight_gateways_admit_exactly_the_limit_for_each_algorithm() {
    let server = RedisServer::standalone().start();
    let gateways = gateways(&server);
    for path in PATHS {
        let admitted = at_once(&gateways, move |address, _| {
            let mut client = Client::new(address);
            (0..20).filter(|_| is_admitted(&client.get(path))).count()
        });
        assert_eq!(admitted.iter().sum::<usize>(), usize::try_from(QUOTA).unwrap(), "{path}, of 640");
    }
    server.assert_every_key_has_a_ttl();
}

#[test]
fn sets_of_keys_that_overlap_are_charged_all_or_nothing() {
    const USERS: usize = 10;
    const TEAMS: usize = 5;
    let server = RedisServer::standalone().start();
    let gateways = gateways(&server);
    let ask = |client: &mut Client, user: usize, team: usize| {
        client.request("GET", "/both", &[&format!("X-User: {user}"), &format!("X-Team: {team}")])
    };
    let counts = at_once(&gateways, move |address, n| {
        let mut client = Client::new(address);
        let mut admitted = BTreeMap::new();
        for i in 0..USERS * TEAMS {
            // Each task in an order of its own, every pair once.
            let pair = (n + i * 7) % (USERS * TEAMS);
            let (user, team) = (pair % USERS, pair / USERS);
            if is_admitted(&ask(&mut client, user, team)) {
                *admitted.entry((user, team)).or_insert(0_u64) += 1;
            }
        }
        admitted
    });
    let (mut of_user, mut of_team) = ([0_u64; USERS], [0_u64; TEAMS]);
    for ((user, team), count) in counts.into_iter().flatten() {
        of_user[user] += count;
        of_team[team] += count;
    }
    assert!(of_user.iter().all(|&n| n <= 20) && of_team.iter().all(|&n| n <= 30), "{of_user:?} {of_team:?}");

    // What the store says is left is what was not admitted, and of each pair one is used up: no denial was charged.
    let mut client = Client::new(gateways[0].address);
    for (user, used) in of_user.iter().enumerate() {
        for (team, of_team) in of_team.iter().enumerate() {
            let response = ask(&mut client, user, team);
            assert!(!is_admitted(&response), "user {user}, team {team} had room left: {response:?}");
            let left = response.of_rules("r");
            assert_eq!((left["user"], left["team"]), (20 - used, 30 - of_team), "user {user}, team {team}");
        }
    }
    server.assert_every_key_has_a_ttl();
}
