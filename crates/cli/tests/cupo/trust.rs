//! Whose word counts, in which field, and what is passed on and told of it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::client::request;
use crate::process::{Gateway, PolicyFile, run};
use crate::upstream;

const TWO: &str = "rules:\n  - { name: two, key: ip, limit: 2/1000d }\n";

/// A gateway before an upstream that keeps what it was sent.
fn recording(policy: &str) -> (Gateway, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let upstream = upstream::telling(move |head| kept.lock().push(head.to_ascii_lowercase()));
    let policy = PolicyFile::new(&format!("{policy}\n{TWO}"));
    let upstream = format!("http://{upstream}");
    (Gateway::start(&["-c", &policy.path(), "--upstream", &upstream, "--log", "info"]), seen)
}

/// The statuses of requests with these fields, one after the other.
fn statuses(gateway: &Gateway, requests: &[&[&str]]) -> Vec<u16> {
    requests.iter().map(|fields| request(gateway.address, "GET", "/", fields).status).collect()
}

#[test]
fn hops_say_where_the_client_is() {
    let (mut gateway, _) = recording("trusted_proxies: { hops: 2 }\n");
    let found = statuses(
        &gateway,
        &[
            &["X-Forwarded-For: 6.6.6.6, 203.0.113.9, 198.51.100.2"],
            &["X-Forwarded-For: 7.7.7.7", "X-Forwarded-For: 203.0.113.9:443, 198.51.100.3"],
            &["X-Forwarded-For: 203.0.113.9, 198.51.100.2"],
            &["X-Forwarded-For: 203.0.113.9, 203.0.113.10, 198.51.100.2"],
            &["X-Forwarded-For: 203.0.113.10"],
            &["X-Forwarded-For: 203.0.113.10, unknown"],
        ],
    );
    assert_eq!(found, [200, 200, 429, 200, 200, 429]);
    gateway.line(|line| line.contains("CUPO-T006"));
}

#[test]
fn forwarded_is_read_where_it_is_asked_for() {
    let (mut gateway, _) =
        recording("trusted_proxies: [127.0.0.1, 10.0.0.0/8]\nclient_address_header: Forwarded\n");
    let found = statuses(
        &gateway,
        &[
            &["Forwarded: for=203.0.113.9"],
            &["Forwarded: for=\"", "Forwarded: For=\"203.0.113.9:80\";proto=https, for=10.0.0.1"],
            &["Forwarded: for=6.6.6.6, for=203.0.113.9;host=\"a,b\\\";for=1.1.1.1\""],
            &["Forwarded: for=\"[2001:db8::1]:_x\""],
            &["Forwarded: for=\"[2001:db8::2]\""],
            &["Forwarded: for=\"[2001:db8::3%eth0]\""],
            // Not believed: the proxy itself, three times.
            &["X-Forwarded-For: 203.0.113.77"],
            &["Forwarded: for=203.0.113.77, for=_hidden"],
            &["Forwarded: for=\"203.0.113.77"],
        ],
    );
    assert_eq!(found, [200, 200, 429, 200, 200, 429, 200, 200, 429]);
    gateway.line(|line| line.contains("CUPO-T007"));
    gateway.line(|line| line.contains("CUPO-T003"));
}

#[test]
fn one_value_is_one_value() {
    let (mut gateway, _) =
        recording("trusted_proxies: [127.0.0.1]\nclient_address_header: CF-Connecting-IP\n");
    let found = statuses(
        &gateway,
        &[
            &["CF-Connecting-IP: 203.0.113.9", "X-Forwarded-For: 1.1.1.1"],
            &["CF-Connecting-IP: 203.0.113.9", "X-Forwarded-For: 1.1.1.2"],
            &["CF-Connecting-IP: 203.0.113.9"],
            // The proxy itself.
            &["CF-Connecting-IP: 203.0.113.9", "CF-Connecting-IP: 203.0.113.10"],
            &["CF-Connecting-IP: 203.0.113.9, 203.0.113.10"],
            &[],
        ],
    );
    assert_eq!(found, [200, 200, 429, 200, 200, 429]);
    gateway.line(|line| line.contains("CUPO-T008") && line.contains("INFO"));
    gateway.line(|line| line.contains("CUPO-T004") && line.contains("WARN"));
}

#[test]
fn what_a_stranger_may_not_say_is_not_passed_on() {
    let fields = [
        "X-Auth-User: ana",
        "X_Auth_User: ana",
        "CF-Connecting-IP: 203.0.113.9",
        "X-Real-IP: 203.0.113.9",
        "X-Other: stays",
    ];
    let settings = "user_header: X-Auth-User\nclient_address_header: cf-connecting-ip\n";
    let (mut strange, seen) = recording(settings);
    assert_eq!(statuses(&strange, &[&fields]), [200]);
    let head = seen.lock().pop().unwrap();
    assert!(head.contains("x-other: stays\r\n") && head.contains("x-forwarded-for: 127.0.0.1\r\n"), "{head}");
    for gone in ["user", "cf-connecting-ip", "x-real-ip", "203.0.113.9"] {
        assert!(!head.contains(gone), "{gone} in {head}");
    }
    strange.line(|line| line.contains("CUPO-T001"));
    strange.line(|line| line.contains("CUPO-T002"));

    let (trusted, seen) = recording(&format!("trusted_proxies: [127.0.0.1]\n{settings}"));
    assert_eq!(statuses(&trusted, &[&fields]), [200]);
    let head = seen.lock().pop().unwrap();
    for kept in ["x-auth-user: ana\r\n", "cf-connecting-ip: 203.0.113.9\r\n", "x-real-ip: 203.0.113.9\r\n"] {
        assert!(head.contains(kept), "{kept} in {head}");
    }
}

/// Sends chunks with trailers; all that the upstream got.
fn trailed(settings: &str, trailers: &str) -> String {
    let (seen, received) = std::sync::mpsc::channel();
    let upstream = upstream::serving(move |mut stream| {
        let (mut whole, mut buffer) = (Vec::new(), [0; 4096]);
        while !whole.windows(5).any(|end| end == b"\r\n0\r\n") || !whole.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "{}", whole.escape_ascii());
            whole.extend_from_slice(&buffer[..read]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        seen.send(String::from_utf8(whole).unwrap()).unwrap();
    });
    let gateway = Gateway::with_policy(&PolicyFile::new(&format!("{settings}\n{TWO}")), upstream);
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n";
    stream.write_all(format!("{head}{trailers}\r\n").as_bytes()).unwrap();
    received.recv_timeout(crate::process::BOUND).unwrap()
}

#[test]
fn plans_and_users_are_said_by_proxies_and_in_heads_only() {
    let plans = "plans: { free: { n: 9/s } }\nplan: { from: [callers, header(X-Plan)], default: free }\ncallers: c.yaml";
    let fields = ["X-Plan: gold", "X_Plan: gold", "X-Plans: stays"];
    for (trusted, kept) in [("10.0.0.0/8", false), ("127.0.0.1", true)] {
        let settings = format!("trusted_proxies: [{trusted}]\n{plans}\n");
        let policy = PolicyFile::new(&format!("{settings}{TWO}"));
        policy.beside("c.yaml", "callers: []\n");
        let (seen, received) = std::sync::mpsc::channel();
        let upstream = upstream::telling(move |head| seen.send(head.to_owned()).unwrap());
        let gateway = Gateway::with_policy(&policy, upstream);
        assert_eq!(request(gateway.address, "GET", "/", &fields).status, 200);
        let head = received.recv_timeout(crate::process::BOUND).unwrap();
        assert!(head.contains("x-plans: stays\r\n"), "{head}");
        assert_eq!((head.contains("x-plan: gold"), head.contains("x_plan: gold")), (kept, kept), "{head}");
    }
    let trailers = "X-User: ana\r\nX_User: ana\r\nX-Sum: 1\r\nX-Real-IP: 203.0.113.9\r\nCF-Connecting-IP: 203.0.113.9\r\n";
    for trusted in ["10.0.0.0/8", "127.0.0.1"] {
        let seen = trailed(
            &format!("trusted_proxies: [{trusted}]\nclient_address_header: cf-connecting-ip\n"),
            trailers,
        );
        let (_, behind) = seen.split_once("\r\n0\r\n").unwrap();
        assert_eq!(behind, "x-sum: 1\r\n\r\n", "{seen}");
    }
}

#[test]
fn every_cause_is_told_once() {
    let (mut gateway, _) = recording("trusted_proxies: [127.0.0.1]\n");
    for _ in 0..5 {
        request(gateway.address, "GET", "/", &["X-Forwarded-For: unknown"]);
        request(gateway.address, "GET", "/", &["X-Forwarded-For: 127.0.0.1"]);
    }
    gateway.line(|line| line.contains("CUPO-T005"));
    gateway.signal(rustix::process::Signal::TERM);
    let (_, said) = gateway.end();
    for code in ["CUPO-T003", "CUPO-T005"] {
        assert_eq!(said.iter().filter(|(_, line)| line.contains(code)).count(), 1, "{code}: {said:#?}");
    }
}

#[test]
fn a_policy_says_whom_it_trusts() {
    let policy = |text: &str| run(&["check", &PolicyFile::new(&format!("{text}\n{TWO}")).path()], "").out;
    let hops = policy("trusted_proxies: { hops: 2 }\nclient_address_header: forwarded\nproxy_protocol: v2\n");
    for said in ["hops behind it: 2 in all", "client address   in forwarded", "PROXY protocol   v2"] {
        assert!(hops.contains(said), "{said} in {hops}");
    }
    let unix = policy("listen: unix:/run/cupo.sock\ntrusted_proxies: [unix, 10.0.0.0/8]\n");
    assert!(unix.contains("unix:/run/cupo.sock") && unix.contains("10.0.0.0/8, unix"), "{unix}");
}
