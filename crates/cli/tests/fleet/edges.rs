//! Short windows that pass while eight gateways are hammered: never more than the stated bound, wherever one looks.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use cupo_core::{Limit, Rate};
use cupo_testkit::bound::units_within;
use cupo_testkit::redis::RedisServer;

use crate::client::Client;
use crate::process::{Gateway, PolicyFile, now};
use crate::upstream;

const GATEWAYS: usize = 8;
const COUNT: u64 = 40;
const SECOND: Duration = Duration::from_secs(1);

/// What the wall clock of the server and the clock of this test may disagree by over the test, in microseconds.
const DRIFT: u64 = 1_000;

fn limits() -> [(Limit, String); 6] {
    let windowed = |name: &str| format!("algorithm: {name}, count: {COUNT}, window: 1s");
    let rate = Rate::new(COUNT, SECOND);
    [
        (Limit::fixed_window(COUNT, SECOND).unwrap(), windowed("fixed_window")),
        (Limit::sliding_window_log(COUNT, SECOND).unwrap(), windowed("sliding_window_log")),
        (Limit::sliding_window_counter(COUNT, SECOND).unwrap(), windowed("sliding_window_counter")),
        (
            Limit::token_bucket(COUNT, rate).unwrap(),
            format!("algorithm: token_bucket, capacity: {COUNT}, refill: {COUNT}/1s"),
        ),
        (
            Limit::leaky_bucket(rate, COUNT).unwrap(),
            format!("algorithm: leaky_bucket, rate: {COUNT}/1s, queue: {COUNT}"),
        ),
        (
            Limit::fixed_window_from_first(COUNT, SECOND).unwrap(),
            format!("{}, anchor: first_request", windowed("fixed_window")),
        ),
    ]
}

/// An admission: when it was asked for and when the answer was there, in microseconds, and the reset that came with it.
type Admission = (u64, u64, u64);

/// What all clients of all gateways are admitted in three and a half seconds.
fn hammer(limit: &str) -> Vec<Admission> {
    let server = RedisServer::standalone().start();
    let upstream = upstream::ok();
    let policy = PolicyFile::new(&format!(
        "store: {{ redis: {{ url: \"{}\", deadline: 20s }} }}\nrules:\n  \
         - {{ name: r, key: global, limit: {{ {limit} }}, on_store_error: deny }}\n",
        server.url()
    ));
    let gateways: Vec<_> = (0..GATEWAYS).map(|_| Gateway::with_policy(&policy, upstream)).collect();
    let start = now();
    let threads: Vec<_> = (0..GATEWAYS * 2)
        .map(|n| {
            let address = gateways[n % GATEWAYS].address;
            thread::spawn(move || {
                let (mut client, mut admitted) = (Client::new(address), Vec::new());
                let micros = || u64::try_from(start.elapsed().as_micros()).unwrap();
                while start.elapsed() < Duration::from_millis(3_500) {
                    let asked = micros();
                    let response = client.get("/");
                    match response.status {
                        200 => {
                            admitted.push((asked, micros(), response.number("x-ratelimit-reset").unwrap()));
                        }
                        status => assert_eq!(status, 429, "{response:?}"),
                    }
                }
                admitted
            })
        })
        .collect();
    let admitted = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    server.assert_every_key_has_a_ttl();
    admitted
}

#[test]
fn no_interval_holds_more_than_the_algorithm_states() {
    for (limit, text) in limits() {
        let admitted = hammer(&text);
        // Enough for several windows.
        assert!(
            admitted.len() >= 2 * usize::try_from(COUNT).unwrap(),
            "{limit}: {} admitted",
            admitted.len()
        );
        for span in [100_000, 500_000, 999_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000] {
            // The store decided after the asking and before the answer, whatever the machine was busy with.
            let most = units_within(limit.params(), span + DRIFT);
            for &(from, _, _) in &admitted {
                let inside =
                    admitted.iter().filter(|(asked, answered, _)| *asked >= from && *answered <= from + span);
                let inside = i128::try_from(inside.count()).unwrap();
                assert!(inside <= most, "{limit}: {inside} within {span} us, where {most} are allowed");
            }
        }
    }
}

#[test]
fn every_window_of_the_clock_gets_its_count_and_no_more() {
    let (_, text) = &limits()[0];
    let mut of_window: BTreeMap<u64, u64> = BTreeMap::new();
    for (_, _, reset) in hammer(text) {
        // The end of a window of a second of the server's clock.
        *of_window.entry(reset).or_default() += 1;
    }
    assert!(of_window.len() >= 3 && of_window.values().all(|&n| n <= COUNT), "{of_window:?}");
    assert!(of_window.values().any(|&n| n == COUNT), "{of_window:?}");
}
