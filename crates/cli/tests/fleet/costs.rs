//! What requests cost in the end, through the gateway, with counters in memory and in Redis.

use std::io::{BufReader, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use cupo_testkit::redis::{RedisServer, until};
use parking_lot::{Condvar, Mutex};
use rustix::process::Signal;

use crate::client::{Client, Response, request};
use crate::process::{BOUND, Gateway, PolicyFile, now};
use crate::upstream::{nobody, read_head, serving};

const POLICY: &str = "
trusted_proxies: { hops: 1 }
status: { limit: 1000000/minute }
rules:
  - name: work
    match: { path: /work }
    key: global
    limit: { algorithm: fixed_window, count: 100, window: 1000d }
    cost: { header: x-cost, reserve: 10 }
  - name: login
    match: { path: /login }
    key: global
    limit: { algorithm: fixed_window, count: 5, window: 1000d }
    charge: { on: response, when: { status: [401, 403] } }
  - name: batch
    match: { path: /batch }
    key: global
    limit: { algorithm: fixed_window, count: 100, window: 1000d }
    cost: { header: x-units, max: 20, default: 2 }
  - name: upload
    match: { path: /upload }
    key: global
    limit: { algorithm: fixed_window, count: 100, window: 1000d }
    cost: { body: 1KiB, max: 30 }
";

/// With a store in memory, then with one in Redis.
fn on_both(test: impl Fn(&[&str])) {
    let server = RedisServer::standalone().start();
    for store in ["memory".to_owned(), server.url()] {
        test(&["--store", &store]);
    }
    server.assert_every_key_has_a_ttl();
}

/// A gateway with its policy.
struct Started {
    address: SocketAddr,
    _gateway: Gateway,
    _policy: PolicyFile,
}

fn start(upstream: SocketAddr, options: &[&str]) -> Started {
    let policy = PolicyFile::new(POLICY);
    let (path, upstream) = (policy.path(), format!("http://{upstream}"));
    let gateway = Gateway::start(&[&["-c", &path, "--upstream", &upstream], options].concat());
    Started { address: gateway.address, _gateway: gateway, _policy: policy }
}

/// Answers each request with the status and the fields that `answer` makes of its head, once the whole body is there; not at all where
/// it makes none.
fn answering(answer: impl Fn(&str) -> Option<(u16, String)> + Send + Sync + 'static) -> SocketAddr {
    serving(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some(head) = read_head(&mut reader) {
            let Some((status, fields)) = answer(&head) else { return };
            let response = format!("HTTP/1.1 {status} S\r\n{fields}Content-Length: 2\r\n\r\nok");
            if writer.write_all(response.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// Says in the response what a field of the request asks for: `Say: 401`, `Say: 200 x-cost: 7`.
fn obedient() -> SocketAddr {
    answering(|head| {
        let said = head.lines().find_map(|line| line.strip_prefix("say: ").or(line.strip_prefix("Say: ")));
        let (status, fields) = said.unwrap_or("200").split_once(' ').unwrap_or((said.unwrap_or("200"), ""));
        let fields: String =
            fields.split("; ").filter(|f| !f.is_empty()).map(|f| format!("{f}\r\n")).collect();
        Some((status.parse().unwrap(), fields))
    })
}

fn say(address: SocketAddr, path: &str, said: &str) -> Response {
    request(address, "GET", path, &[&format!("Say: {said}")])
}

/// What is left of the only limit of `path`, by the status endpoint, which takes nothing.
fn left(address: SocketAddr, path: &str) -> u64 {
    let told = request(address, "GET", &format!("/rate-limit-status?path={path}"), &[]).json();
    told["limits"][0]["remaining"].as_u64().unwrap_or_else(|| panic!("{told}"))
}

/// Waits until so many are left: what nobody waits for takes a moment.
fn settles(address: SocketAddr, path: &str, remaining: u64) {
    let start = now();
    loop {
        let told = left(address, path);
        if told == remaining {
            return;
        }
        assert!(start.elapsed() < BOUND, "{path}: {told} are left, and not {remaining}");
    }
}

#[test]
fn the_upstream_says_what_a_request_cost() {
    on_both(|options| {
        let gateway = start(obedient(), options);
        let address = gateway.address;
        let mut rest = 100;
        for (said, cost) in [
            ("200 x-cost: 3", 3),
            ("200 x-cost: 0", 0),
            ("200 X-Cost: 25", 25),
            ("500 x-cost: 1", 1),
            ("200 x-cost: 10", 10),
            // What does not say it leaves the reservation.
            ("200", 10),
            ("200 x-cost: many", 10),
            ("200 x-cost: 1; x-cost: 1", 10),
        ] {
            let response = say(address, "/work", said);
            assert_eq!(response.remaining(), rest - 10, "{said}: the response shows the reservation");
            rest -= cost;
            settles(address, "/work", rest);
        }
        // There is no debt.
        say(address, "/work", "200 x-cost: 9999999999999999999999");
        settles(address, "/work", 0);
        assert_eq!(say(address, "/work", "200 x-cost: 0").status, 429);
    });
}

#[test]
fn wrong_guesses_count_and_right_ones_do_not() {
    on_both(|options| {
        let gateway = start(obedient(), options);
        let address = gateway.address;
        for _ in 0..20 {
            assert_eq!(say(address, "/login", "200").status, 200);
            settles(address, "/login", 5);
        }
        for (said, rest) in
            [("401", 4), ("302", 4), ("403", 3), ("404", 3), ("503", 3), ("401", 2), ("401", 1), ("401", 0)]
        {
            assert_eq!(say(address, "/login", said).status, said.parse::<u16>().unwrap());
            settles(address, "/login", rest);
        }
        assert_eq!(say(address, "/login", "200").status, 429);
    });
}

/// However many guess side by side, no more than the limit are answered that they are wrong.
fn guesses_side_by_side(addresses: &[SocketAddr], guessed: &AtomicUsize) {
    const GUESSERS: usize = 24;
    let barrier = Arc::new(Barrier::new(GUESSERS));
    let threads: Vec<_> = (0..GUESSERS)
        .map(|n| {
            let (barrier, address) = (Arc::clone(&barrier), addresses[n % addresses.len()]);
            thread::spawn(move || {
                let mut client = Client::new(address);
                barrier.wait();
                (0..10).map(|_| client.request("GET", "/login", &["Say: 401"]).status).collect::<Vec<_>>()
            })
        })
        .collect();
    let statuses: Vec<u16> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert_eq!(statuses.len(), GUESSERS * 10);
    let wrong = statuses.iter().filter(|status| **status == 401).count();
    let refused = statuses.iter().filter(|status| **status == 429).count();
    assert_eq!((wrong, wrong + refused), (5, GUESSERS * 10));
    assert_eq!(guessed.load(Ordering::SeqCst), 5, "the upstream saw no more");
}

/// An upstream that refuses once five guesses are under way at once.
fn slow_to_refuse(guessed: &Arc<AtomicUsize>) -> SocketAddr {
    let guessed = Arc::clone(guessed);
    let (waits, enough) = (Mutex::new(()), Condvar::new());
    answering(move |_| {
        guessed.fetch_add(1, Ordering::SeqCst);
        enough.notify_all();
        let mut waited = waits.lock();
        let few = |(): &mut ()| guessed.load(Ordering::SeqCst) < 5;
        let _ = enough.wait_while_for(&mut waited, few, BOUND);
        Some((401, String::new()))
    })
}

#[test]
fn guesses_side_by_side_are_no_more_than_the_limit() {
    on_both(|options| {
        let guessed = Arc::default();
        let gateway = start(slow_to_refuse(&guessed), options);
        guesses_side_by_side(&[gateway.address], &guessed);
    });
}

#[test]
fn nor_are_they_through_several_gateways() {
    let server = RedisServer::standalone().start();
    let url = server.url();
    let guessed = Arc::default();
    let upstream = slow_to_refuse(&guessed);
    let gateways = [0, 1].map(|_| start(upstream, &["--store", &url]));
    guesses_side_by_side(&gateways.each_ref().map(|gateway| gateway.address), &guessed);
    server.assert_every_key_has_a_ttl();
}

#[test]
fn whoever_hangs_up_gets_nothing_back() {
    on_both(|options| {
        // It takes the guess and never answers.
        let guessed = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&guessed);
        let silent = serving(move |stream| {
            let mut reader = BufReader::new(stream);
            while read_head(&mut reader).is_some() {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        });
        let gateway = start(silent, options);
        for n in 1..=5 {
            let client = Client::new(gateway.address);
            client.ask("GET", "/login", &[]);
            until("the upstream has the guess", || (guessed.load(Ordering::SeqCst) == n).then_some(()));
            drop(client);
        }
        assert_eq!(left(gateway.address, "/login"), 0);
        assert_eq!(say(gateway.address, "/login", "200").status, 429);
    });
}

#[test]
fn what_was_certainly_not_served_is_given_back_and_what_may_have_been_is_not() {
    on_both(|options| {
        let gateway = start(nobody(), options);
        for path in ["/login", "/work"] {
            assert_eq!(say(gateway.address, path, "200").status, 502);
        }
        settles(gateway.address, "/login", 5);
        settles(gateway.address, "/work", 100);
        // It takes requests and closes the connection.
        let gateway = start(answering(|_| None), options);
        // The store in Redis is the same: what is left has been given back.
        for path in ["/login", "/work"] {
            assert_eq!(say(gateway.address, path, "200").status, 502);
        }
        assert_eq!((left(gateway.address, "/login"), left(gateway.address, "/work")), (4, 90));
    });
}

#[test]
fn requests_say_what_they_cost_by_a_trusted_proxy_and_by_their_length() {
    on_both(|options| {
        let gateway = start(obedient(), options);
        let address = gateway.address;
        let mut rest = 100;
        for (fields, cost) in [
            (&["X-Units: 7"][..], 7),
            (&["X-Units: 200"], 20),
            (&["X-Units: 0"], 1),
            (&["X-Units: x"], 2),
            (&["X-Units: 3", "X-Units: 3"], 2),
            (&[], 2),
        ] {
            rest -= cost;
            assert_eq!(request(address, "GET", "/batch", fields).remaining(), rest, "{fields:?}");
        }
        let mut rest = 100;
        let mut post = |head: &str, body: &[u8], cost: u64| {
            rest -= cost;
            let mut client = Client::new(address);
            client.send(
                [format!("POST /upload HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n").as_bytes(), body].concat(),
            );
            assert_eq!(client.read(true).unwrap().remaining(), rest, "{head}");
        };
        post("Content-Length: 0", b"", 1);
        post("Content-Length: 1", b"x", 1);
        post("Content-Length: 1024", &[b'x'; 1_024], 1);
        post("Content-Length: 1025", &[b'x'; 1_025], 2);
        post("Transfer-Encoding: chunked", b"1\r\nx\r\n0\r\n\r\n", 30);
        assert_eq!(request(address, "GET", "/upload", &[]).remaining(), rest - 1, "no body");
    });
}

#[test]
fn a_gateway_that_is_killed_leaves_what_expires_by_itself() {
    let server = RedisServer::standalone().start();
    let policy = PolicyFile::new(
        "rules: [{ name: work, key: global, limit: { algorithm: fixed_window, count: 20, window: 2s, anchor: first_request }, cost: { header: x-cost, reserve: 10 } }]",
    );
    let (sender, asked) = std::sync::mpsc::channel();
    let silent = serving(move |stream| {
        let mut reader = BufReader::new(stream);
        while read_head(&mut reader).is_some() {
            let _ = sender.send(());
        }
    });
    let url = server.url();
    let upstream = format!("http://{silent}");
    let gateway = Gateway::start(&["-c", &policy.path(), "--upstream", &upstream, "--store", &url]);
    let clients: Vec<Client> = (0..2)
        .map(|_| {
            let client = Client::new(gateway.address);
            client.ask("GET", "/", &[]);
            asked.recv_timeout(BOUND).unwrap();
            client
        })
        .collect();
    gateway.signal(Signal::KILL);
    drop((clients, gateway.end()));
    assert_eq!(server.command(&["DBSIZE"]).int(), 1);
    server.assert_every_key_has_a_ttl();
    until("the reservations have gone with their window", || {
        (server.command(&["DBSIZE"]).int() == 0).then_some(())
    });
    let upstream = format!("http://{}", obedient());
    let gateway = Gateway::start(&["-c", &policy.path(), "--upstream", &upstream, "--store", &url]);
    assert_eq!(request(gateway.address, "GET", "/", &[]).remaining(), 10);
}

/// Calls of scripts that the server has run.
fn calls(server: &RedisServer) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]).text().to_owned();
    let of = |name: &str| {
        let line = stats.lines().find(|line| line.starts_with(&format!("cmdstat_{name}:")))?;
        line.split("calls=").nth(1)?.split(',').next()?.parse::<u64>().ok()
    };
    of("evalsha").unwrap_or(0) + of("eval").unwrap_or(0)
}

#[test]
fn settling_is_one_trip_at_most_and_no_wait_for_the_caller() {
    let server = RedisServer::standalone().start();
    let url = server.url();
    // The upstream answers when it is told to.
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let may_go = Mutex::new(may_go);
    let asked = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&asked);
    let upstream = answering(move |head| {
        seen.fetch_add(1, Ordering::SeqCst);
        if head.to_ascii_lowercase().contains("wait: ") {
            may_go.lock().recv_timeout(BOUND).unwrap();
        }
        let cost =
            if head.to_ascii_lowercase().contains("same: ") { "x-cost: 10\r\n" } else { "x-cost: 3\r\n" };
        Some((200, cost.to_owned()))
    });
    let gateway = start(upstream, &["--store", &url]);
    let address = gateway.address;
    // Once for the scripts to be known.
    request(address, "GET", "/work", &[]);
    settles(address, "/work", 97);

    let before = calls(&server);
    assert_eq!(request(address, "GET", "/work", &["Same: 1"]).remaining(), 87);
    assert_eq!(calls(&server) - before, 1, "what cost what was reserved takes no trip");
    let before = calls(&server);
    assert_eq!(request(address, "GET", "/work", &[]).remaining(), 77);
    until("it is settled", || (calls(&server) - before == 2).then_some(()));

    // The server stands still once the request is decided: the response comes nevertheless.
    let before = asked.load(Ordering::SeqCst);
    let mut client = Client::new(address);
    client.ask("GET", "/work", &["Wait: 1"]);
    until("the upstream has the request", || (asked.load(Ordering::SeqCst) > before).then_some(()));
    server.command(&["CLIENT", "PAUSE", "60000", "ALL"]);
    go.send(()).unwrap();
    assert_eq!(client.read(true).unwrap().status, 200);
    // It has been paused all the time: whoever asks for the store is told at once that it does not answer.
    let paused = request(address, "GET", "/work", &[]);
    assert_eq!((paused.status, paused.header("ratelimit")), (200, None), "{paused:?}");
}
