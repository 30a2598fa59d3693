//! `cupo replay` on access logs: each format, by itself and found out, and lines that are no requests.

use serde_json::Value;

use crate::process::{PolicyFile, Ran, run};

/// Counts by everything that a log may tell.
const EVERYTHING: &str = "trusted_proxies: [10.0.0.0/8]
rules:
  - { name: client, key: ip, limit: 100/minute, on_missing: skip }
  - { name: route, key: route, limit: 100/minute }
  - { name: host, key: host, limit: 100/minute, on_missing: skip }
  - { name: agent, key: header(user-agent), limit: 100/minute, on_missing: skip }
  - { name: page, key: query(page), limit: 100/minute, on_missing: skip }
  - { name: session, key: cookie(session), limit: 100/minute, on_missing: skip }
  - { name: team, key: header(x-team), limit: 100/minute, on_missing: skip }
";

/// 2026-11-29 21:00:00 UTC.
const NINE: u64 = 1_795_986_000_000_000;

fn replay(arguments: &[&str], log: &[u8]) -> Ran {
    let policy = PolicyFile::new(EVERYTHING);
    run(&[&["replay", &policy.path()], arguments].concat(), log)
}

/// When each request was, and what each rule counted it by.
fn seen(arguments: &[&str], log: &str) -> Vec<(u64, Vec<String>)> {
    let ran = replay(arguments, log.as_bytes());
    assert_eq!(ran.code, Some(0), "{log}: {ran:?}");
    assert!(!ran.err.contains("cannot be read"), "{log}: {}", ran.err);
    let answers = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers
        .map(|answer| {
            let keys = answer["decisions"].as_array().unwrap().iter();
            (
                answer["t_us"].as_u64().unwrap(),
                keys.map(|decision| decision["key"].as_str().unwrap().to_owned()).collect(),
            )
        })
        .collect()
}

/// The same request as events tell it.
fn keys(event: &str) -> Vec<String> {
    seen(&[], event).remove(0).1
}

/// Reads this line in the format that is named and in the one that is found out, and expects the request of this event.
fn same(format: &str, line: &str, t_us: u64, event: &str) {
    let expected = vec![(t_us, keys(event))];
    assert_eq!(seen(&["--format", format], line), expected, "{line}");
    assert_eq!(seen(&[], line), expected, "{line}");
    let said = replay(&[], line.as_bytes()).err;
    assert_eq!(said, format!("stdin is read as {format}\n"), "{line}");
}

#[test]
fn combined_and_its_relatives() {
    let agent = r#""headers":{"user-agent":"curl/8"}"#;
    let line = |rest: &str| format!("203.0.113.9 - - [29/Nov/2026:21:00:00 +0000] {rest}");
    let event = format!(r#"{{"t_us":0,"peer":"203.0.113.9","path":"/a/7?page=2",{agent}}}"#);
    same("combined", &line(r#""GET /a/7?page=2 HTTP/1.1" 200 5 "-" "curl/8""#), NINE, &event);
    same("combined", &line(r#""GET /a/7?page=2 HTTP/1.1" 200 5 "-" "curl/8" "-" 0.003 gzip"#), NINE, &event);
    // Another zone, users with blanks and brackets, a virtual host, no agent, a size that is not known.
    let west = r#"203.0.113.9 - J. [x] Doe [29/Nov/2026:14:00:00 -0700] "GET /a/7?page=2 HTTP/2.0" 304 - "http://a/" "curl/8""#;
    same("combined", west, NINE, &event);
    let common = r#"{"t_us":0,"peer":"2001:db8::1","method":"POST","path":"/a"}"#;
    same(
        "combined",
        r#"2001:db8::1 - - [29/Nov/2026:21:00:00 +0000] "POST /a HTTP/1.1" 200 5"#,
        NINE,
        common,
    );
    let host = r#"{"t_us":0,"peer":"203.0.113.9","headers":{"host":"shop.example:443","user-agent":"a\"b\\c\u00e9"}}"#;
    let escaped = r#"shop.example:443 203.0.113.9 - - [29/Nov/2026:21:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "a\"b\\c\xc3\xa9""#;
    same("combined", escaped, NINE, host);
    // Who a trusted proxy forwarded for, as the usual `main` format of nginx has it; of strangers it is not believed.
    let proxied = r#"10.0.0.1 - - [29/Nov/2026:21:00:00 +0000] "GET /a/7?page=2 HTTP/1.1" 200 5 "-" "curl/8" "6.6.6.6, 203.0.113.9""#;
    same("combined", proxied, NINE, &event);
    let stranger = line(r#""GET /a/7?page=2 HTTP/1.1" 200 5 "-" "curl/8" "6.6.6.6""#);
    same("combined", &stranger, NINE, &event);
    // Other fields in that place are none of it, and a Unix socket has no address.
    same("combined", &line(r#""GET /a/7?page=2 HTTP/1.1" 200 5 "-" "curl/8" "rt=0.1""#), NINE, &event);
    let socket = r#"unix: - - [29/Nov/2026:21:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-""#;
    same("combined", socket, NINE, r#"{"t_us":0}"#);
}

#[test]
fn json_of_nginx() {
    let event = r#"{"t_us":0,"peer":"203.0.113.9","method":"PUT","path":"/a/7?page=2","headers":
        {"host":"shop.example","user-agent":"a\"b","x-team":"red","cookie":"session=s1"}}"#
        .replace('\n', "");
    let rest = r#""remote_addr":"203.0.113.9","http_host":"shop.example","http_user_agent":"a\"b","http_x_team":"red","cookie_session":"s1","http_referer":"","status":200"#;
    for (time, asked) in [
        (r#""time_iso8601":"2026-11-29T22:00:00+01:00""#, r#""request":"PUT /a/7?page=2 HTTP/1.1""#),
        (r#""msec":"1795986000.000""#, r#""request_method":"PUT","request_uri":"/a/7?page=2""#),
        (
            r#""msec":1795986000.000,"time_local":"01/Jan/2000:00:00:00 +0000""#,
            r#""request_method":"PUT","uri":"/a/7","args":"page=2""#,
        ),
        (
            r#""time_local":"29/Nov/2026:21:00:00 +0000""#,
            r#""request_method":"PUT","request_uri":"/a/7?page=2","uri":"/index.php""#,
        ),
        // Written when it ended, a second and a half after it began.
        (r#""msec":"1795986001.500","request_time":"1.500""#, r#""request":"PUT /a/7?page=2 HTTP/1.1""#),
    ] {
        same("nginx-json", &format!("{{{time},{asked},{rest}}}"), NINE, &event);
    }
    // The peer as it was before nginx took it from a header.
    let real = r#"{"msec":"1795986000","remote_addr":"203.0.113.9","realip_remote_addr":"10.0.0.1","http_x_forwarded_for":"203.0.113.9","request":"GET / HTTP/1.1"}"#;
    same("nginx-json", real, NINE, r#"{"t_us":0,"peer":"203.0.113.9"}"#);
    // What is told twice is told once.
    let twice = r#"{"msec":"1795986000","remote_addr":"203.0.113.9","http_host":"a","host":"a","http_user_agent":"b","user_agent":"b","method":"GET","request_method":"GET","request_uri":"/"}"#;
    let once = r#"{"t_us":0,"peer":"203.0.113.9","headers":{"host":"a","user-agent":"b"}}"#;
    same("nginx-json", twice, NINE, once);
    // Bytes that are no text in a value that is.
    let bytes = b"{\"msec\":\"1795986000\",\"remote_addr\":\"203.0.113.9\",\"request\":\"GET / HTTP/1.1\",\"http_user_agent\":\"\xff\"}";
    assert_eq!(replay(&[], bytes).out.lines().count(), 1);
}

#[test]
fn caddy() {
    let line = |time: &str, more: &str| {
        format!(
            r#"{{"level":"info",{time},"logger":"http.log.access.log0","msg":"handled request","request":{{"remote_ip":"10.0.0.1",
            "remote_port":"41342","client_ip":"203.0.113.9","proto":"HTTP/2.0","method":"GET","host":"shop.example","uri":"/a/7?page=2",
            "headers":{{"User-Agent":["curl/8"],"X-Forwarded-For":["6.6.6.6","203.0.113.9"],"Cookie":["REDACTED"]{more}}},
            "tls":{{"version":772}}}},"bytes_read":0,"user_id":"","duration":0.25,"size":10,"status":200,"resp_headers":{{"Server":["Caddy"]}}}}"#
        )
        .replace('\n', "")
    };
    let event = r#"{"t_us":0,"peer":"203.0.113.9","path":"/a/7?page=2","headers":{"host":"shop.example","user-agent":"curl/8","x-team":"red"}}"#;
    let team = r#","X-Team":["red"]"#;
    for time in [r#""ts":1795986000.2500000"#, r#""ts":"2026-11-29T21:00:00.250Z""#, r#""ts":1795986000250"#]
    {
        same("caddy", &line(time, team), NINE, event);
    }
    // What else Caddy says in the same file is no request.
    let ran = replay(
        &[],
        format!("{}\n{{\"level\":\"info\",\"ts\":1.5,\"msg\":\"serving\"}}\n", line("\"ts\":1", ""))
            .as_bytes(),
    );
    assert_eq!(
        (ran.code, ran.err.as_str(), ran.out.lines().count()),
        (Some(0), "stdin is read as caddy\n", 1)
    );
}

#[test]
fn envoy() {
    let event = r#"{"t_us":0,"peer":"203.0.113.9","path":"/a/7?page=2","headers":{"host":"shop.example","user-agent":"curl/8"}}"#;
    let istio = r#"{"start_time":"2026-11-29T21:00:00.000Z","method":"GET","path":"/a/7?page=2","protocol":"HTTP/1.1","response_code":200,"duration":5000,
        "authority":"shop.example","user_agent":"curl/8","x_forwarded_for":"6.6.6.6","request_id":"1","downstream_remote_address":"203.0.113.9:41342",
        "upstream_host":null,"bytes_sent":5}"#.replace('\n', "");
    same("envoy", &istio, NINE, event);
    let rewritten = r#"{":method":"GET","path":"/rewritten","x-envoy-original-path":"/a/7?page=2",":authority":"shop.example","user-agent":"curl/8",
        "start_time":"2026-11-29T21:00:00.000Z","downstream_remote_address":"203.0.113.9:0","downstream_direct_remote_address":"10.0.0.1:5","x-forwarded-for":"203.0.113.9"}"#.replace('\n', "");
    same("envoy", &rewritten, NINE, event);
}

#[test]
fn the_log_of_cupo_itself() {
    let line = r#"{"time_us":1795986000000000,"peer":"[2001:db8::1]:41342","method":"GET","path":"/a/7","status":200,"bytes":5,"duration_us":70,"verdict":"admit","rule":"client"}"#;
    same("cupo", line, NINE, r#"{"t_us":0,"peer":"2001:db8::1","path":"/a/7"}"#);
}

fn combined(second: u64, path: &str) -> String {
    let (minute, second) = (second / 60 % 60, second % 60);
    format!(
        "203.0.113.9 - - [29/Nov/2026:21:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"-\"\n"
    )
}

#[test]
fn lines_out_of_order_are_decided_in_order() {
    let log: String = [30, 21, 25, 20, 31, 29].map(|second| combined(second, "/")).concat();
    let times: Vec<u64> = seen(&[], &log).iter().map(|(t_us, _)| (t_us - NINE) / 1_000_000).collect();
    assert_eq!(times, [20, 21, 25, 29, 30, 31]);
    // Later than that they come as they come, and the summary says how many.
    let late: String = [0, 50, 100, 40].map(|second| combined(second, "/")).concat();
    let ran = replay(&["--summary"], late.as_bytes());
    assert!(ran.out.contains("lines too late to be put in order: 1 (25.00 %)"), "{ran:?}");
}

#[test]
fn one_instant_keeps_the_order_of_lines() {
    let log: String = ["/a", "/b", "/c", "/d"].map(|path| combined(0, path)).concat();
    let paths: Vec<String> = seen(&[], &log).into_iter().map(|(_, keys)| keys[1].clone()).collect();
    assert_eq!(
        paths,
        ["route route=GET:/a", "route route=GET:/b", "route route=GET:/c", "route route=GET:/d"]
    );
}

#[test]
fn what_was_logged_but_is_no_request_is_left_out() {
    let line = |request: &str| {
        format!("203.0.113.9 - - [29/Nov/2026:21:00:00 +0000] \"{request}\" 400 0 \"-\" \"-\"\n")
    };
    let log =
        ["-", "", r"\x16\x03\x01\x02", "GET", "GET /a b c HTTP/1.1", "GET / HTTP/1.1"].map(line).concat();
    let ran = replay(&["-s"], log.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.out.contains("lines without a request: 5 (83.33 %)") && !ran.err.contains("cannot"),
        "{ran:?}"
    );
    assert_eq!(seen(&[], &log).len(), 1);
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_shown() {
    let mut log = Vec::new();
    for second in 0..20 {
        log.extend(combined(second, "/").bytes());
    }
    let good = log.clone();
    log.extend(b"nonsense\n\n\xff\xfe\n");
    log.extend(b"shop - - [29/Nov/2026:21:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    log.extend(b"203.0.113.9 - - [31/Feb/2026:21:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    log.resize(log.len() + (3 << 20), b'x');
    log.extend(b"\n\x1b[31mred\n203.0.113.9 - - [29/Nov/2026:21:00:00 +0000] \"GET / HTTP/1.1\n");
    log.extend(&good);
    let ran = replay(&[], &log);
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 40), "{}", ran.err);
    let said: Vec<&str> = ran.err.lines().collect();
    assert_eq!(
        said,
        [
            "stdin is read as combined",
            "warning: 7 lines cannot be read (14.89 %); the first of them:",
            "  stdin, line 21: it has no time in brackets before a request in quotes",
            "  stdin, line 23: it has no time in brackets before a request in quotes",
            "  stdin, line 24: `shop` is not an IP address",
            "  stdin, line 25: `31/Feb/2026:21:00:00 +0000` is not a time",
            "  stdin, line 26: it is longer than 1 MiB",
        ]
    );
    // With --strict the first of them ends it, and what came before has been answered.
    let ran = replay(&["--strict"], &log);
    assert_eq!((ran.code, ran.out.lines().count()), (Some(1), 0), "{}", ran.err);
    assert!(
        ran.err.ends_with("error: stdin, line 21: it has no time in brackets before a request in quotes\n"),
        "{}",
        ran.err
    );
}

#[test]
fn a_log_of_which_little_can_be_read_fails() {
    let ran = replay(&[], b"nonsense\nmore\n");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert_eq!(
        ran.err,
        "error: stdin: the first lines are of no format that is known; name it with --format, see `cupo replay --help`\n"
    );
    let ran = replay(&["--format", "combined"], b"nonsense\nmore\n");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.ends_with("error: 2 of 2 lines cannot be read; is --format right?\n"), "{}", ran.err);
    let half = format!("{}no\n", combined(0, "/"));
    assert_eq!(replay(&[], half.as_bytes()).code, Some(0));
    let less = format!("{half}no\n");
    assert_eq!(replay(&["--summary"], less.as_bytes()).code, Some(1));
    // The wrong format altogether.
    let ran = replay(&["--format", "caddy"], half.as_bytes());
    assert!(ran.code == Some(1) && ran.err.contains("line 1: it is no JSON object"), "{ran:?}");
    // Nonsense before the first line that shows the format is no harm.
    let later = format!("#Software: x\n\n{}", combined(0, "/"));
    assert_eq!(replay(&[], later.as_bytes()).out.lines().count(), 1);
}

/// The plan that a trusted proxy names counts here as it does in service.
#[test]
fn plans_that_a_trusted_proxy_names() {
    let policy = PolicyFile::new(
        "trusted_proxies: [10.0.0.0/8]
plans: { free: { requests: 1/minute }, pro: { requests: 3/minute } }
plan: { from: [header(x-plan)], default: free }
rules:
  - { name: r, key: ip, limit: { plan: requests } }
",
    );
    let line = |peer: &str| {
        format!(
            "{{\"msec\":\"1795986000\",\"remote_addr\":\"{peer}\",\"request\":\"GET / HTTP/1.1\",\"http_x_plan\":\"pro\"}}\n"
        )
    };
    for (peer, admitted) in [("10.0.0.1", 3), ("203.0.113.9", 1)] {
        let ran = run(&["replay", &policy.path()], line(peer).repeat(5));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(ran.out.matches("\"allowed\":true").count(), admitted, "{peer}: {}", ran.out);
    }
}
