//! The proxy that breaks connections.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "this is a test of real time"
)]

use std::time::{Duration, Instant};

use cupo_testkit::redis::{Client, Fault, FaultProxy, RedisServer, until};

fn pair() -> (RedisServer, FaultProxy, Client) {
    let server = RedisServer::standalone().start();
    let proxy = FaultProxy::start(server.port());
    let mut client = Client::tcp(proxy.port()).unwrap();
    assert_eq!(client.command(&["ECHO", "hello"]).text(), "hello");
    (server, proxy, client)
}

#[test]
fn replies_are_delayed_and_throttled() {
    let (_server, proxy, mut client) = pair();
    let mut takes = |reply: usize| {
        let start = Instant::now();
        client.command(&["ECHO", &"x".repeat(reply)]);
        start.elapsed()
    };
    proxy.set(Fault::Delay(Duration::from_millis(60)));
    assert!(takes(1) >= Duration::from_millis(60));
    proxy.set(Fault::Throttle(10_000));
    assert!(takes(2_000) >= Duration::from_millis(150));
}

#[test]
fn connections_are_cut_and_come_back() {
    let (_server, proxy, mut client) = pair();
    proxy.set(Fault::Cut);
    assert!(client.try_command(&["PING"]).is_err());
    assert!(Client::tcp(proxy.port()).unwrap().try_command(&["PING"]).is_err());
    proxy.set(Fault::None);
    assert_eq!(Client::tcp(proxy.port()).unwrap().command(&["PING"]).text(), "PONG");
    assert_eq!(proxy.connections(), 3);
}

#[test]
fn a_reply_is_cut_in_its_middle_and_the_request_has_counted() {
    let (server, proxy, mut client) = pair();
    proxy.set(Fault::CutAfter(9));
    // +PONG\r\n has seven bytes; two of the next reply pass.
    assert_eq!(client.command(&["PING"]).text(), "PONG");
    assert!(client.try_command(&["INCR", "a"]).is_err());
    assert_eq!(server.command(&["GET", "a"]).text(), "1");
}

#[test]
fn replies_are_swallowed_and_requests_count() {
    let (server, proxy, mut client) = pair();
    proxy.set(Fault::SwallowReplies);
    let asker = std::thread::spawn(move || client.try_command(&["INCR", "a"]));
    until("it has counted", || {
        (server.command(&["GET", "a"]) != cupo_testkit::redis::Reply::Nil).then_some(())
    });
    assert!(!asker.is_finished());
    proxy.set(Fault::Cut);
    assert!(asker.join().unwrap().is_err());
}

#[test]
fn a_black_hole_lets_nothing_through() {
    let (server, proxy, mut client) = pair();
    proxy.set(Fault::BlackHole);
    let asker = std::thread::spawn(move || client.try_command(&["INCR", "a"]));
    let mut other = Client::tcp(proxy.port()).unwrap();
    let other = std::thread::spawn(move || other.try_command(&["INCR", "a"]));
    until("both are in", || (proxy.connections() == 2).then_some(()));
    assert_eq!(server.command(&["EXISTS", "a"]).int(), 0);
    assert!(!asker.is_finished() && !other.is_finished());
    proxy.set(Fault::Cut);
    assert!(asker.join().unwrap().is_err() && other.join().unwrap().is_err());
    assert_eq!(server.command(&["EXISTS", "a"]).int(), 0);
}

#[test]
fn a_half_closed_connection_still_takes_requests() {
    let (server, proxy, mut client) = pair();
    proxy.set(Fault::HalfClose);
    assert!(client.try_command(&["INCR", "a"]).is_err());
    until("it has counted", || (server.command(&["EXISTS", "a"]).int() == 1).then_some(()));
}
