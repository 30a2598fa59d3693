//! How a gateway behaves in operation: its upstream down, its log, its signals, its port.

use std::io::{BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc::channel;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::{Client, get, request};
use crate::process::{BOUND, Gateway, PolicyFile, Stream, cupo, run_to_end};
use crate::upstream;

const FIVE: &str = "rules:\n  - { name: five, key: ip, limit: 5/1000d }\n";

#[test]
fn an_upstream_that_is_down_is_a_502_with_the_limits_on_it() {
    let gateway = Gateway::with_policy(&PolicyFile::new(FIVE), upstream::nobody());
    let response = get(gateway.address, "/");
    assert_eq!((response.status, response.remaining()), (502, 4), "{response:?}");
    assert_eq!(response.header("content-type"), Some("application/problem+json"));
    let problem = response.json();
    assert_eq!(problem["status"], 502);
    assert!(problem["detail"].as_str().unwrap().contains("takes no connections"), "{problem}");
    assert_eq!(response.of_rules("r")["five"], 4);
}

#[test]
fn the_health_endpoint_answers_uncounted() {
    let policy = PolicyFile::new(FIVE);
    let gateway = Gateway::with_policy(&policy, upstream::nobody());
    for _ in 0..10 {
        let response = get(gateway.address, "/.cupo/health");
        assert_eq!((response.status, &response.json()["status"]), (200, &"ok".into()));
        assert_eq!(response.header("ratelimit"), None);
    }
    assert_eq!(get(gateway.address, "/").remaining(), 4);

    let elsewhere = PolicyFile::new(&format!("health_path: /healthz\n{FIVE}"));
    let gateway = Gateway::with_policy(&elsewhere, upstream::ok());
    assert_eq!(get(gateway.address, "/healthz").json()["status"], "ok");
    assert_eq!(get(gateway.address, "/.cupo/health").body, "ok");
    for spelling in
        ["/healthz/", "//healthz", "/./healthz", "/a/../healthz", "/%68ealthz", "/healthz;a=b", "/healthz?a"]
    {
        assert_eq!(get(gateway.address, spelling).json()["status"], "ok", "{spelling}");
    }
    for other in ["/Healthz", "/healthz/a", "/healthz%2Fa", "/"] {
        assert_eq!(get(gateway.address, other).body, "ok", "{other}");
    }
}

#[test]
fn the_access_log_is_json_lines_and_nothing_else_is_on_stdout() {
    let policy = PolicyFile::new(
        "access_log: true
rules:
  - { name: five, match: { path: /limited }, key: ip, limit: 1/1000d }
  - { name: watched, key: ip, limit: 0/1000d, action: shadow }
  - { name: keyed, match: { path: /keyed }, key: api_key, limit: 5/1000d, on_missing: deny }
",
    );
    let gateway = Gateway::with_policy(&policy, upstream::ok());
    for target in ["/limited?a=b", "/limited", "/free", "/keyed", "/.cupo/health"] {
        get(gateway.address, target);
    }
    gateway.signal(Signal::TERM);
    let (status, said) = gateway.end();
    assert_eq!(status.code(), Some(0), "{said:?}");
    let lines: Vec<Value> = said
        .iter()
        .filter(|(stream, _)| *stream == Stream::Out)
        .map(|(_, line)| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            let text = |field: &str| line[field].as_str();
            (text("path").unwrap(), line["status"].as_u64().unwrap(), text("verdict"), text("rule"))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("/limited", 200, Some("admit"), Some("five")),
            ("/limited", 429, Some("deny"), Some("five")),
            ("/free", 200, Some("admit"), None),
            ("/keyed", 403, Some("impossible"), Some("keyed")),
            ("/.cupo/health", 200, None, None),
        ]
    );
    for line in &lines {
        assert!(line["time_us"].as_u64().unwrap() > 1_700_000_000_000_000, "{line}");
        assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
        assert_eq!(line["method"], "GET");
        assert!(line["duration_us"].is_u64() && line["bytes"].is_u64(), "{line}");
    }
}

#[test]
fn a_signal_lets_what_is_in_flight_finish() {
    for signal in [Signal::TERM, Signal::INT] {
        let (asked, was_asked) = channel();
        let (answer, may_answer) = channel::<()>();
        let may_answer = Mutex::new(may_answer);
        let address = upstream::serving(move |mut stream| {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            if upstream::read_head(&mut reader).is_some() {
                asked.send(()).unwrap();
                let _ = may_answer.lock().recv_timeout(BOUND);
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone").unwrap();
            }
        });
        let mut gateway = Gateway::with_policy(&PolicyFile::new(FIVE), address);
        let mut client = Client::new(gateway.address);
        client.ask("GET", "/", &[]);
        was_asked.recv_timeout(BOUND).unwrap();
        gateway.signal(signal);
        // No new connection is taken any more.
        while std::net::TcpStream::connect(gateway.address).is_ok() {}
        answer.send(()).unwrap();
        let response = client.read(true).unwrap();
        assert_eq!((response.status, response.body.as_str(), response.remaining()), (200, "done", 4));
        gateway.said.clear();
        let (status, said) = gateway.end();
        assert_eq!(status.code(), Some(0), "{said:?}");
    }
}

#[test]
fn a_second_signal_does_not_wait() {
    let (asked, was_asked) = channel();
    let address = upstream::serving(move |stream| {
        let mut reader = BufReader::new(stream);
        upstream::read_head(&mut reader);
        let _ = asked.send(());
        // Never answers; ends with its connection.
        upstream::read_head(&mut reader);
    });
    let gateway = Gateway::with_policy(&PolicyFile::new(FIVE), address);
    let client = Client::new(gateway.address);
    client.ask("GET", "/", &[]);
    was_asked.recv_timeout(BOUND).unwrap();
    gateway.signal(Signal::TERM);
    while std::net::TcpStream::connect(gateway.address).is_ok() {}
    gateway.signal(Signal::TERM);
    let (status, _) = gateway.end();
    assert_eq!(status.code(), Some(130));
}

#[test]
fn a_signal_right_after_the_start_is_heeded() {
    for _ in 0..5 {
        let gateway = Gateway::start(&["--upstream", "demo", "--limit", "1/s"]);
        gateway.signal(Signal::TERM);
        let (status, said) = gateway.end();
        assert_eq!(status.code(), Some(0), "{said:?}");
    }
}

#[test]
fn a_port_that_is_taken_is_refused_also_by_another_cupo() {
    let gateway = Gateway::start(&["--upstream", "demo", "--limit", "1/1000d"]);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for taken in [gateway.address, other.local_addr().unwrap()] {
        let mut command = cupo();
        command.args(["serve", "--upstream", "demo", "--limit", "1/1000d", "--listen", &taken.to_string()]);
        let ran = run_to_end(command, "");
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{ran:?}");
        for part in [format!("cannot listen on {taken}").as_str(), "in use", "--listen"] {
            assert!(ran.err.contains(part), "{part}: {ran:?}");
        }
    }
    // The first one was not disturbed, and is free to go.
    assert_eq!(get(gateway.address, "/").status, 200);
    assert_eq!(get(gateway.address, "/").status, 429);
    let address = gateway.address;
    gateway.signal(Signal::TERM);
    gateway.end();
    let mut command = cupo();
    command.args(["serve", "--upstream", "demo", "--limit", "1/1000d", "--listen", &address.to_string()]);
    let mut next = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut BufReader::new(next.stdout.take().unwrap()), &mut line).unwrap();
    next.kill().unwrap();
    next.wait().unwrap();
    assert_eq!(line, format!("cupo listens on http://{address}\n"));
}

#[test]
fn a_gateway_whose_reader_has_gone_serves_on() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = cupo();
    command.args(["serve", "--upstream", "demo", "--limit", "1/1000d", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut BufReader::new(child.stderr.take().unwrap()), &mut line).unwrap();
    assert!(line.contains("nobody could be told where cupo listens"), "{line}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn refusals_speak_the_callers_language() {
    let gateway = Gateway::start(&["--upstream", "demo", "--limit", "0/1s"]);
    let response = request(gateway.address, "GET", "/", &["Accept-Language: es", "Accept: application/json"]);
    assert_eq!((response.status, response.header("content-language")), (429, Some("es")));
    assert_eq!(response.json()["error"], "rate_limit_exceeded");
}
