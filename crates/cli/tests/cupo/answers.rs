//! What callers see: fields, languages, forms, responses of single rules, preflights.

use std::io::{BufReader, Write};
use std::net::SocketAddr;

use crate::client::{Client, Response, request};
use crate::process::{Gateway, PolicyFile, run};
use crate::upstream;

/// Answers 200 with these lines in the head.
fn saying(lines: &'static str) -> SocketAddr {
    upstream::serving(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while upstream::read_head(&mut reader).is_some() {
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{lines}\r\nok");
            if writer.write_all(response.as_bytes()).is_err() {
                return;
            }
        }
    })
}

fn gateway(responses: &str, response: &str, upstream: SocketAddr) -> Gateway {
    let policy = format!(
        "responses: {{ {responses} }}\nrules:\n  - {{ name: two, key: ip, limit: {{ algorithm: token_bucket, capacity: 2, refill: 1/1000d }}, response: {{ {response} }} }}\n"
    );
    Gateway::with_policy(&PolicyFile::new(&policy), upstream)
}

fn limit_fields(response: &Response) -> Vec<&str> {
    let mut names: Vec<&str> = response.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.retain(|name| name.contains("limit") || name.contains("quota"));
    names.sort_unstable();
    names
}

#[test]
fn dialects_are_a_choice_of_the_policy() {
    const X: [&str; 3] = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    const OLD: [&str; 3] = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
    const NEW: [&str; 2] = ["ratelimit", "ratelimit-policy"];
    for (headers, mut expected) in [
        ("[]", vec![]),
        ("none", vec![]),
        ("x-ratelimit", X.to_vec()),
        ("[ietf-11]", NEW.to_vec()),
        ("[ietf-06]", OLD.to_vec()),
        ("[x-ratelimit, ietf-11, ietf-06]", [&X[..], &OLD, &NEW].concat()),
        (
            "[{ limit: X-Quota, remaining: X-Quota-Left, reset: X-Quota-In, reset_as: delta }]",
            vec!["x-quota", "x-quota-in", "x-quota-left"],
        ),
    ] {
        expected.sort_unstable();
        let gateway = gateway(&format!("headers: {headers}"), "", upstream::ok());
        let mut client = Client::new(gateway.address);
        for status in [200, 200, 429] {
            let response = client.get("/");
            assert_eq!((response.status, limit_fields(&response)), (status, expected.clone()), "{headers}");
            assert_eq!(response.header("retry-after").is_some(), status == 429);
        }
    }
}

#[test]
fn the_upstreams_own_fields_are_shown_as_the_policy_says() {
    const TIGHT: &str = "X-RateLimit-Limit: 9\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 5\r\nRateLimit: \"two\";r=7\r\nRetry-After: 3\r\n";
    const LOOSE: &str = "X-RateLimit-Limit: 900\r\nX-RateLimit-Remaining: 800\r\nX-RateLimit-Reset: 5\r\n";
    for (mode, lines, limit, list) in [
        ("", TIGHT, 9, "\"two\";r=1;t=N, \"two-upstream\";r=7"),
        ("", LOOSE, 2, "\"two\";r=1;t=N"),
        ("upstream_headers: keep", TIGHT, 9, "\"two\";r=7"),
        ("upstream_headers: keep", LOOSE, 900, "\"two\";r=1;t=N"),
        ("upstream_headers: replace", TIGHT, 2, "\"two\";r=1;t=N"),
        ("", "X-RateLimit-Remaining: none\r\n", 2, "\"two\";r=1;t=N"),
    ] {
        let gateway = gateway(mode, "", saying(lines));
        let response = request(gateway.address, "GET", "/", &[]);
        assert_eq!(response.number("x-ratelimit-limit"), Some(limit), "{mode} {lines}");
        let shown = response.header("ratelimit").unwrap();
        let t = response.of_rules("t").get("two").copied().unwrap_or_default().to_string();
        assert_eq!(shown, list.replace('N', &t), "{mode} {lines}");
        assert_eq!(response.header("retry-after"), lines.contains("Retry-After").then_some("3"));
    }
}

#[test]
fn scripts_of_another_origin_may_read_the_fields() {
    let upstream = saying("Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: ETag\r\n");
    let gateway = gateway("headers: x-ratelimit, cors: { origins: [\"https://a.example\"] }", "", upstream);
    let mut client = Client::new(gateway.address);
    for status in [200, 200, 429] {
        let response = client.request("GET", "/", &["Origin: https://a.example"]);
        assert_eq!(response.status, status);
        let exposed = response.header("access-control-expose-headers").unwrap();
        let own = "x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after";
        assert_eq!(exposed, if status == 200 { format!("ETag, {own}") } else { own.to_owned() });
    }
}

#[test]
fn preflights_are_not_counted_unless_asked() {
    let preflight = ["Origin: https://a.example", "Access-Control-Request-Method: PUT"];
    let skipping = gateway("", "", upstream::ok());
    let mut client = Client::new(skipping.address);
    for _ in 0..5 {
        let response = client.request("OPTIONS", "/", &preflight);
        assert_eq!((response.status, limit_fields(&response)), (200, vec![]));
    }
    // What only looks like one is counted.
    for (disguise, status) in
        [("Cookie: a=b", 200), ("X-HTTP-Method-Override: DELETE", 200), ("Authorization: Bearer x", 429)]
    {
        let response = client.request("OPTIONS", "/", &[preflight[0], preflight[1], disguise]);
        assert_eq!(response.status, status, "{disguise}");
    }
    let counting = gateway("preflight: count", "", upstream::ok());
    let mut client = Client::new(counting.address);
    let statuses = [(); 3].map(|()| client.request("OPTIONS", "/", &preflight).status);
    assert_eq!(statuses, [200, 200, 429]);

    // In a replay it is the same, and the block-list is asked all the same.
    let policy = PolicyFile::new("rules: [{ name: one, key: ip, limit: 1/1000d }]\n");
    let event = r#"{"t_us":0,"method":"OPTIONS","headers":{"origin":"https://a.example","access-control-request-method":"PUT"}}"#;
    let ran = run(&["replay", &policy.path()], format!("{event}\n{event}\n{event}\n"));
    assert_eq!(ran.out.matches("\"allowed\":true").count(), 3, "{ran:?}");
}

#[test]
fn languages_and_forms_are_the_callers_choice() {
    let responses = "language: fr, messages: { fr: { exceeded: { title: Assez, message: '{limit} en {window} ; {retry_after}' } } }";
    let gateway = gateway(responses, "", upstream::ok());
    let mut client = Client::new(gateway.address);
    assert_eq!([(); 2].map(|()| client.get("/").status), [200, 200]);
    let mut ask = |fields: &[&str]| client.request("GET", "/", fields);
    let response = ask(&[]);
    assert_eq!(
        (response.header("content-language"), response.json()["title"].as_str()),
        (Some("fr"), Some("Assez"))
    );
    assert!(response.json()["detail"].as_str().unwrap().starts_with("2 en 172800000 s ; "), "{response:?}");
    let response = ask(&["Accept-Language: es-MX, fr;q=0.5"]);
    assert_eq!(response.json()["title"], "Cuota agotada");
    assert!(response.json()["detail"].as_str().unwrap().contains("está agotado"), "{response:?}");
    let response = ask(&["Accept: text/html,*/*;q=0.8", "Accept-Language: en"]);
    assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(response.body.starts_with("Too many requests: the limit `two` is used up."), "{response:?}");
    assert_eq!(ask(&["Accept: application/json"]).json()["error"], "rate_limit_exceeded");
}

#[test]
fn a_rule_has_a_response_of_its_own() {
    let own =
        "status: 503, headers: { X-Reason: maintenance }, message: { en: 'Closed: {rule}.', es: 'Cerrado.' }";
    let gateway = gateway("retry_after_jitter: 5s", own, upstream::ok());
    let mut client = Client::new(gateway.address);
    assert_eq!([(); 2].map(|()| client.get("/").status), [200, 200]);
    let mut waits = std::collections::BTreeSet::new();
    for _ in 0..60 {
        let response = client.get("/");
        assert_eq!((response.status, response.header("x-reason")), (503, Some("maintenance")));
        assert_eq!(
            (response.json()["detail"].as_str(), &response.json()["status"]),
            (Some("Closed: two."), &503.into())
        );
        let wait = response.number("retry-after").unwrap();
        assert_eq!(response.json()["retry_after"], wait);
        waits.insert(wait);
    }
    // Sixty throws of six sides are not all alike; a day's clock may tick meanwhile.
    assert!(waits.len() > 1 && waits.last().unwrap() - waits.first().unwrap() <= 10, "{waits:?}");
    let response = client.request("GET", "/", &["Accept-Language: es"]);
    assert_eq!(response.json()["detail"], "Cerrado.");
}
