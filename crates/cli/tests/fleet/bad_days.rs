//! A gateway whose store has a bad day: rules with `on_store_error: allow` and `local` answer every request, none with 5xx, and the
//! store is used again when the day is over.
//!
//! How fast the answers are is printed and, where `CUPO_STRICT` is set, asserted: `scripts/bad-days.sh` does so on a machine
//! that does nothing else.

use std::time::Duration;

use cupo_testkit::redis::{Fault, FaultProxy, RedisServer, until};

use crate::client::get;
use crate::load::{Load, latencies};
use crate::process::{Gateway, PolicyFile, wait};
use crate::upstream;

/// What a decision may wait for the store, as it is if nobody says otherwise.
const DEADLINE: Duration = Duration::from_millis(50);
/// What may be added to that for 99 of 100 requests.
const MARGIN: Duration = Duration::from_millis(10);
/// What nothing takes, however busy the machine is.
const NEVER: Duration = Duration::from_secs(10);

/// Lets requests run through a gateway on the store at `url` before, during and after `day`, and looks at every answer.
pub(crate) fn live_through(name: &str, url: &str, day: impl FnOnce()) {
    let policy = PolicyFile::new(&format!(
        "store: {{ redis: {{ url: \"{url}\" }} }}\nrules:\n  \
         - {{ name: allow, match: {{ path: /allow }}, key: ip, limit: 1000000/minute, on_store_error: allow }}\n  \
         - {{ name: local, match: {{ path: /local }}, key: ip, limit: 1000000/minute, on_store_error: local }}\n"
    ));
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    // Only the store's decisions leave a field of the rule that allows.
    let decides = || get(gateway.address, "/allow").header("ratelimit").is_some();
    until("the store decides", || decides().then_some(()));

    let load = Load::start(gateway.address, &["/allow", "/local"]);
    wait(Duration::from_millis(800));
    let begin = load.elapsed();
    day();
    until("the store decides again", || decides().then_some(()));
    let end = load.elapsed();
    wait(Duration::from_millis(300));
    let samples = load.end();

    let wrong = samples.iter().filter(|sample| sample.status != 200).count();
    assert_eq!(wrong, 0, "{name}: {wrong} of {} requests did not pass", samples.len());
    let (_, before) = latencies(&samples, Duration::ZERO, begin);
    let (count, during) = latencies(&samples, begin, end);
    println!(
        "{name:<12} {count:>6} requests in {:>4} ms   before {before:>9.1?}   during {during:>9.1?}",
        (end - begin).as_millis()
    );
    assert!(during[2] <= NEVER, "{name}: {during:?}");
    if std::env::var_os("CUPO_STRICT").is_some() {
        assert!(during[1] <= DEADLINE + MARGIN, "{name}: p99 {:?}, before {before:?}", during[1]);
    }
}

const A_WHILE: Duration = Duration::from_millis(1_200);

#[test]
fn scripts_are_flushed() {
    let server = RedisServer::standalone().start();
    live_through("NOSCRIPT", &server.url(), || {
        for _ in 0..24 {
            server.command(&["SCRIPT", "FLUSH"]);
            wait(A_WHILE / 24);
        }
    });
}

#[test]
fn the_server_loads_its_data() {
    let mut server = RedisServer::standalone()
        .config("key-load-delay", 400)
        .config("loading-process-events-interval-bytes", 1_024)
        .config("enable-debug-command", "yes")
        .start();
    let url = server.url();
    live_through("LOADING", &url, || {
        server.command(&["DEBUG", "POPULATE", "3000"]);
        server.command(&["SAVE"]);
        // Until it has loaded.
        server.restart();
    });
}

#[test]
fn the_server_becomes_a_replica() {
    let server = RedisServer::standalone().start();
    live_through("READONLY", &server.url(), || {
        server.command(&["REPLICAOF", "127.0.0.1", "1"]);
        wait(A_WHILE);
        server.command(&["REPLICAOF", "NO", "ONE"]);
    });
}

#[test]
fn the_server_is_out_of_memory() {
    let server = RedisServer::standalone().start();
    live_through("OOM", &server.url(), || {
        server.command(&["CONFIG", "SET", "maxmemory", "1"]);
        wait(A_WHILE);
        server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    });
}

#[test]
fn the_server_is_busy_with_a_script() {
    let server = RedisServer::standalone().config("busy-reply-threshold", 100).start();
    live_through("BUSY", &server.url(), || {
        let mut other = server.connect();
        let endless = std::thread::spawn(move || other.try_command(&["EVAL", "while true do end", "0"]));
        wait(A_WHILE);
        server.command(&["SCRIPT", "KILL"]);
        endless.join().unwrap().unwrap();
    });
}

#[test]
fn the_server_is_paused() {
    let mut server = RedisServer::standalone().start();
    let url = server.url();
    live_through("paused", &url, || {
        server.pause();
        wait(A_WHILE);
        server.resume();
    });
}

#[test]
fn the_server_is_killed_and_started_again() {
    let mut server = RedisServer::standalone().start();
    let url = server.url();
    live_through("restarted", &url, || {
        server.kill9();
        wait(A_WHILE);
        server.restart();
    });
}

#[test]
fn the_server_is_flushed() {
    let server = RedisServer::standalone().start();
    live_through("flushed", &server.url(), || {
        for _ in 0..24 {
            server.flush();
            wait(A_WHILE / 24);
        }
    });
}

#[test]
fn the_connection_is_cut_in_the_middle_of_a_reply() {
    let server = RedisServer::standalone().start();
    let proxy = FaultProxy::start(server.port());
    live_through("cut", &proxy.url(), || {
        for n in 0..12 {
            // Far enough for a new connection to be made and some checks to be answered, then inside of a reply.
            proxy.set(Fault::CutAfter(1_000 + n));
            wait(A_WHILE / 12);
        }
        proxy.set(Fault::None);
    });
}

#[test]
fn replies_are_lost() {
    let server = RedisServer::standalone().start();
    let proxy = FaultProxy::start(server.port());
    live_through("swallowed", &proxy.url(), || {
        proxy.set(Fault::SwallowReplies);
        wait(A_WHILE);
        proxy.set(Fault::BlackHole);
        wait(A_WHILE);
        proxy.set(Fault::None);
    });
}
