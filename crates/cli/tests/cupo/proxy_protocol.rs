//! Connections that begin with a PROXY header, well and badly.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::curl::curl;
use crate::process::{BOUND, Gateway, PolicyFile};
use crate::upstream;

const TWO: &str = "rules:\n  - { name: two, key: ip, limit: 2/1000d }\n";

fn gateway(policy: &str) -> Gateway {
    let policy = PolicyFile::new(&format!("{policy}\n{TWO}"));
    let upstream = format!("http://{}", upstream::ok());
    Gateway::start(&["-c", &policy.path(), "--upstream", &upstream, "--log", "info"])
}

fn v1(client: &str) -> Vec<u8> {
    let family = if client.contains(':') { "TCP6" } else { "TCP4" };
    format!("PROXY {family} {client} {client} 50000 80\r\n").into_bytes()
}

fn v2(client: [u8; 4]) -> Vec<u8> {
    let head = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c";
    [&head[..], &client, &[10, 0, 0, 1, 0xc3, 0x50, 0, 80]].concat()
}

const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

/// The status of a request behind these bytes; `None` where the connection is closed without an answer.
fn ask(address: SocketAddr, header: &[u8], fields: &str) -> Option<u16> {
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}Connection: close\r\n\r\n");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream.write_all(&[header, request.as_bytes()].concat()).unwrap();
    let mut all = Vec::new();
    let ended = stream.read_to_end(&mut all);
    let status = std::str::from_utf8(&all).unwrap().split(' ').nth(1).map(|status| status.parse().unwrap());
    assert!(ended.is_ok() || status.is_none(), "{ended:?}");
    status
}

#[test]
fn the_address_in_the_header_is_the_client() {
    let gateway = gateway("trusted_proxies: [127.0.0.1]\nproxy_protocol: any\n");
    let ask = |header: &[u8]| ask(gateway.address, header, "");
    for (header, status) in [
        (v1("203.0.113.9"), 200),
        (v2([203, 0, 113, 9]), 200),
        (v1("203.0.113.9"), 429),
        (v1("::ffff:203.0.113.9"), 429),
        (v2([203, 0, 113, 10]), 200),
        (v1("2001:db8::1"), 200),
        (v1("2001:db8::2"), 200),
        (v1("2001:db8::3"), 429),
        // Nobody is named: the proxy itself.
        (LOCAL.to_vec(), 200),
        (b"PROXY UNKNOWN\r\n".to_vec(), 200),
        (LOCAL.to_vec(), 429),
    ] {
        assert_eq!(ask(&header), Some(status), "{header:?}");
    }
    // HTTP/2 behind it, by a client that others wrote.
    let url = format!("http://{}/", gateway.address);
    for http in ["--http1.1", "--http2-prior-knowledge"] {
        assert_eq!(curl(&[http, "--haproxy-protocol", &url]).status, 429);
    }
}

#[test]
fn a_header_in_pieces_is_waited_for_in_time() {
    let gateway =
        gateway("trusted_proxies: [127.0.0.1]\nproxy_protocol: v1\ntimeouts: { request_header: 2s }\n");
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    for byte in v1("203.0.113.9") {
        stream.write_all(&[byte]).unwrap();
    }
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(all.starts_with("HTTP/1.1 200 "), "{all}");
    let mut stream = TcpStream::connect(gateway.address).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream.write_all(b"PROXY TCP4 203.0.11").unwrap();
    assert!(!matches!(stream.read(&mut [0]), Ok(1)), "closed without an answer");
}

#[test]
fn what_is_no_header_is_closed_and_told_once() {
    let mut gateway = gateway("trusted_proxies: [127.0.0.1]\nproxy_protocol: v1\n");
    // Whoever only looks whether somebody listens says nothing, and nothing is said of him.
    drop(TcpStream::connect(gateway.address).unwrap());
    for header in [&b""[..], &v2([203, 0, 113, 9]), LOCAL, b"proxy TCP4"] {
        assert_eq!(ask(gateway.address, header, ""), None, "{header:?}");
    }
    gateway.line(|line| line.contains("CUPO-T011"));
    let long = format!("PROXY UNKNOWN {}\r\n", "f".repeat(92));
    for header in [&b"PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n"[..], long.as_bytes(), b"PROXY TCP4 \xff\r\n"] {
        assert_eq!(ask(gateway.address, header, ""), None, "{header:?}");
    }
    gateway.line(|line| line.contains("CUPO-T012"));
    assert_eq!(ask(gateway.address, b"PROXY UNKNOWN\r\n", ""), Some(200));
    gateway.line(|line| line.contains("CUPO-T013"));
    assert_eq!(ask(gateway.address, &v1("203.0.113.9"), "X-Forwarded-For: 1.1.1.1\r\n"), Some(200));
    gateway.line(|line| line.contains("CUPO-T009"));
    gateway.signal(rustix::process::Signal::TERM);
    let (_, said) = gateway.end();
    for code in ["CUPO-T009", "CUPO-T011", "CUPO-T012", "CUPO-T013"] {
        let told = said.iter().filter(|(_, line)| line.contains(code)).count();
        assert_eq!(told, 1, "{code}: {said:#?}");
    }
}

#[test]
fn nobody_else_may_send_one() {
    let mut untrusted = gateway("trusted_proxies: [10.0.0.0/8]\nproxy_protocol: any\n");
    for header in [v1("203.0.113.9"), v2([203, 0, 113, 9]), LOCAL.to_vec(), Vec::new()] {
        assert_eq!(ask(untrusted.address, &header, ""), None);
    }
    untrusted.line(|line| line.contains("CUPO-T010") && line.contains("127.0.0.1"));
    let mut off = gateway("trusted_proxies: [127.0.0.1]\n");
    for header in [v1("203.0.113.9"), v2([203, 0, 113, 9]), LOCAL.to_vec()] {
        assert_eq!(ask(off.address, &header, ""), Some(400), "{header:?}");
    }
    off.line(|line| line.contains("CUPO-T014"));
    assert_eq!(ask(off.address, b"", ""), Some(200));
}

#[test]
fn a_field_counts_only_if_the_address_in_the_header_is_a_trusted_proxy() {
    let gateway = gateway("trusted_proxies: [127.0.0.1, 10.0.0.0/8]\nproxy_protocol: any\n");
    let forged = "X-Forwarded-For: 203.0.113.9\r\n";
    for (header, fields, status) in [
        (v1("198.51.100.7"), forged, 200),
        (v1("198.51.100.7"), "X-Forwarded-For: 203.0.113.10\r\n", 200),
        (v1("198.51.100.7"), "", 429),
        (v1("10.0.0.5"), forged, 200),
        (v1("10.0.0.6"), forged, 200),
        (v1("10.0.0.7"), forged, 429),
    ] {
        assert_eq!(ask(gateway.address, &header, fields), Some(status), "{header:?} {fields}");
    }
}
