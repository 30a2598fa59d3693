//! Who asks: nobody's word but the trusted proxies', and no spelling that evades a rule.

use crate::client::{Client, request};
use crate::process::{Gateway, PolicyFile, Stream, run};
use crate::upstream;

fn gateway(policy: &str) -> Gateway {
    Gateway::with_policy(&PolicyFile::new(policy), upstream::ok())
}

const TWO_PER_IP: &str = "rules:\n  - { name: two, key: ip, limit: 2/1000d }\n";

#[test]
fn nobody_is_believed_by_default() {
    let gateway = gateway(TWO_PER_IP);
    for number in 0..6 {
        let forged = format!("203.0.113.{number}");
        let fields = [
            format!("X-Forwarded-For: {forged}"),
            format!("X-Real-IP: {forged}"),
            format!("Forwarded: for={forged}"),
            format!("True-Client-IP: {forged}"),
        ];
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let status = request(gateway.address, "GET", "/", &fields).status;
        assert_eq!(status, if number < 2 { 200 } else { 429 }, "request {number}");
    }
}

#[test]
fn the_chain_is_walked_from_the_right_through_trusted_proxies() {
    let trusting = format!("trusted_proxies: [127.0.0.1, 10.0.0.0/8]\n{TWO_PER_IP}");
    let gateway = gateway(&trusting);
    let mut client = Client::new(gateway.address);
    let mut ask = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|line| format!("X-Forwarded-For: {line}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let response = client.request("GET", "/", &lines);
        (response.status, response.remaining())
    };
    // What the caller itself writes to the left says nothing.
    assert_eq!(ask(&["203.0.113.9"]), (200, 1));
    assert_eq!(ask(&["6.6.6.6, 203.0.113.9"]), (200, 0));
    assert_eq!(ask(&["7.7.7.7, 203.0.113.9, 10.1.2.3"]), (429, 0));
    assert_eq!(ask(&["8.8.8.8", "203.0.113.9:50000", "10.1.2.3"]), (429, 0));
    assert_eq!(ask(&["garbage, ::ffff:203.0.113.9"]), (429, 0));
    // Another client is another.
    assert_eq!(ask(&["203.0.113.9, 203.0.113.10"]), (200, 1));
    // IPv6 goes by /64.
    assert_eq!(ask(&["2001:db8::1"]), (200, 1));
    assert_eq!(ask(&["[2001:db8::ffff]:443"]), (200, 0));
    assert_eq!(ask(&["2001:db8:0:1::1"]), (200, 1));
    // A bad entry ends the walk at the last address that was vouched for.
    assert_eq!(ask(&["203.0.113.11, unknown, 10.9.9.9"]), (200, 1));
    assert_eq!(ask(&["203.0.113.12, unknown, 10.9.9.9"]), (200, 0));
}

#[test]
fn only_trusted_proxies_name_the_user() {
    let rule = "rules:\n  - { name: users, key: user, limit: 2/1000d, on_missing: deny }\n";
    let untrusting = gateway(rule);
    let response = request(untrusting.address, "GET", "/", &["X-User: alice"]);
    assert_eq!(response.status, 403, "{response:?}");
    assert!(response.json()["detail"].as_str().unwrap().contains("user"), "{response:?}");

    let trusting = gateway(&format!("trusted_proxies: [127.0.0.1]\nuser_header: X-Auth-User\n{rule}"));
    for (user, status) in [("alice", 200), ("alice", 200), ("alice", 429), ("bob", 200)] {
        let response =
            request(trusting.address, "GET", "/", &[&format!("X-Auth-User: {user}"), "X-User: bob"]);
        assert_eq!(response.status, status, "{user}");
    }
}

#[test]
fn secrets_are_counted_and_told_to_nobody() {
    let policy = PolicyFile::new(
        "access_log: true
rules:
  - { name: keys, key: 'api_key | cookie(session)', limit: 1/1000d, on_missing: deny }
  - { name: tokens, key: [header(authorization), query(token)], limit: 100/1000d }
",
    );
    let secrets = ["key-3c1f", "cookie-77ab", "bearer-90de", "query-41aa"];
    let mut gateway = Gateway::start(&["-c", &policy.path(), "--upstream", "demo", "--log", "debug"]);
    let by_key = ["X-API-Key: key-3c1f", "Authorization: Bearer bearer-90de"];
    let by_cookie = ["Cookie: session=cookie-77ab", "Authorization: Bearer bearer-90de"];
    for (fields, status) in [(by_key, 200), (by_key, 429), (by_cookie, 200), (by_cookie, 429)] {
        let response = request(gateway.address, "GET", "/x?token=query-41aa", &fields);
        assert_eq!(response.status, status);
        if status == 429 {
            let told = format!("{response:?}");
            assert!(!secrets.iter().any(|secret| told.contains(secret)), "{told}");
        }
        gateway.line(|line| line.contains(r#""path":"/x""#));
    }
    gateway.signal(rustix::process::Signal::TERM);
    let (_, said) = gateway.end();
    assert_eq!(said.iter().filter(|(stream, _)| *stream == Stream::Out).count(), 4);
    let said = format!("{said:?}");
    assert!(!secrets.iter().any(|secret| said.contains(secret)), "{said}");

    let event = r#"{"t_us":0,"path":"/x?token=query-41aa","headers":{"x-api-key":"key-3c1f","authorization":"bearer-90de"}}"#;
    let ran = run(&["replay", &policy.path()], event);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("api_key=sha256:"), "{}", ran.out);
    assert!(!secrets.iter().any(|secret| ran.out.contains(secret)), "{}", ran.out);
}

#[test]
fn no_spelling_of_a_path_evades_its_rule() {
    let rule =
        "rules:\n  - { name: login, match: { method: POST, path: /login }, key: global, limit: 3/1000d }\n";
    let gateway = gateway(rule);
    let mut client = Client::new(gateway.address);
    let mut post = |method: &str, target: &str| client.request(method, target, &["Content-Length: 0"]);
    for _ in 0..3 {
        assert_eq!(post("POST", "/login").status, 200);
    }
    for target in [
        "/login",
        "//login",
        "/login/",
        "/login//",
        "/%6cogin",
        "/%6Cogi%6e",
        "/./login",
        "/x/../login",
        "/x/%2e%2e/login",
        "/%2flogin",
        "/login;x",
        "/login;x=1;y",
        "/;a/login",
        "/login?next=/",
        "/login%2f",
        "/\\login",
        "http://shop.example/login",
    ] {
        let response = post("POST", target);
        assert_eq!(response.status, 429, "{target} evades: {response:?}");
    }
    assert_eq!(post("post", "/login").status, 429, "lower case evades");
    // What is another resource is another.
    for (method, target) in
        [("GET", "/login"), ("POST", "/Login"), ("POST", "/login/x"), ("POST", "/log%20in")]
    {
        let response = post(method, target);
        assert_eq!((response.status, response.header("ratelimit")), (200, None), "{method} {target}");
    }
}
