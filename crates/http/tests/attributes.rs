//! What is read from a request, and from whom it is believed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::borrow::Cow;
use std::net::IpAddr;

use cupo_core::{Attributes, Trust};
use cupo_http::{RequestAttributes, client_address};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::request::{Builder, Parts};
use http::{Method, Request};
use proptest::prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

fn trust() -> Trust {
    let nets = ["10.0.0.0/8", "fd00::/8", "64:ff9b::/96"];
    Trust { proxies: nets.map(|net| net.parse().unwrap()).to_vec().into(), ..Trust::default() }
}

fn parts(builder: Builder) -> Parts {
    builder.body(()).unwrap().into_parts().0
}

fn walk(peer: &str, lines: &[&str]) -> String {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(FORWARDED_FOR, line.parse().unwrap());
    }
    client_address(peer.parse::<IpAddr>().unwrap(), &headers, &trust()).unwrap().to_string()
}

#[test]
fn a_stranger_is_who_it_is() {
    assert_eq!(walk("192.0.2.1", &["203.0.113.9"]), "192.0.2.1");
    assert_eq!(walk("::ffff:192.0.2.1", &["203.0.113.9"]), "192.0.2.1");
    let mut headers = HeaderMap::new();
    headers.append(FORWARDED_FOR, HeaderValue::from_static("203.0.113.9"));
    let peer: IpAddr = [10, 0, 0, 1].into();
    assert_eq!(client_address(peer, &headers, &Trust::default()), Some(peer), "nobody is trusted by default");
}

#[test]
fn the_walk_ends_at_the_first_stranger() {
    for (lines, client) in [
        (&[][..], "10.0.0.1"),
        (&["203.0.113.9"], "203.0.113.9"),
        (&["6.6.6.6, 203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        (&["6.6.6.6", "203.0.113.9", "10.0.0.3,10.0.0.2"], "203.0.113.9"),
        (&["6.6.6.6, 203.0.113.9:1234 ,, [fd00::1]:80,"], "203.0.113.9"),
        (&["203.0.113.9, ::ffff:10.0.0.2"], "203.0.113.9"),
        (&["64:ff9b::203.0.113.9"], "203.0.113.9"),
        (&["fe80::1%eth0, fd00::2%lan"], "fe80::1"),
        // All trusted: the farthest.
        (&["10.0.0.4, 10.0.0.3", "10.0.0.2"], "10.0.0.4"),
        // A bad entry: the last that was vouched for.
        (&["203.0.113.9, unknown, 10.0.0.2"], "10.0.0.2"),
        (&["203.0.113.9, _secret"], "10.0.0.1"),
        (&["203.0.113.9 10.0.0.2"], "10.0.0.1"),
        (&[" , ,"], "10.0.0.1"),
    ] {
        assert_eq!(walk("10.0.0.1", lines), client, "{lines:?}");
        assert_eq!(walk("::ffff:10.0.0.1", lines), client, "{lines:?}");
    }
}

#[test]
fn ten_thousand_entries_change_nothing() {
    let flood = "6.6.6.6,".repeat(10_000);
    assert_eq!(walk("10.0.0.1", &[&flood, "203.0.113.9"]), "203.0.113.9");
    assert_eq!(walk("10.0.0.1", &[&"10.9.9.9,".repeat(10_000)]), "10.9.9.9");
}

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let bytes =
        prop::collection::vec(prop_oneof![32_u8..127, 128_u8..=255, proptest::strategy::Just(9_u8)], 0..80);
    let likely =
        "(10\\.0\\.0\\.[0-9]|6\\.6\\.6\\.6|fd00::1|\\[|\\]|%|:|,| |unknown|\"|;|=){0,12}".prop_map(Vec::from);
    prop_oneof![bytes, likely]
}

proptest! {
    #[test]
    fn nothing_that_a_caller_writes_has_a_say(
        forged in prop::collection::vec(any_line(), 0..4),
        glued in any_line(),
        caller in (1_u32..=8).prop_map(|n| IpAddr::from([203, 0, 113, u8::try_from(n).unwrap()])),
        hops in prop::collection::vec(any::<u8>().prop_map(|n| IpAddr::from([10, 0, 0, n])), 0..4),
        split in any::<bool>(),
    ) {
        // What the caller wrote, then what each trusted proxy appended: to the last line or in a line of its own.
        let mut headers = HeaderMap::new();
        for line in &forged {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(line).unwrap());
        }
        let mut last = glued;
        for address in [caller].iter().chain(&hops) {
            if split {
                headers.append(FORWARDED_FOR, HeaderValue::from_bytes(&last).unwrap());
                last = address.to_string().into_bytes();
            } else {
                last.extend_from_slice(format!(", {address}").as_bytes());
            }
        }
        headers.append(FORWARDED_FOR, HeaderValue::from_bytes(&last).unwrap());
        prop_assert_eq!(client_address(IpAddr::from([10, 1, 1, 1]), &headers, &trust()), Some(caller));
    }

    #[test]
    fn no_bytes_break_the_walk(peer in any::<IpAddr>(), lines in prop::collection::vec(any_line(), 0..6)) {
        let mut headers = HeaderMap::new();
        for line in &lines {
            headers.append(FORWARDED_FOR, HeaderValue::from_bytes(line).unwrap());
        }
        let _ = client_address(peer, &headers, &trust());
    }

    #[test]
    fn no_bytes_break_the_attributes(lines in prop::collection::vec(any_line(), 0..4), name in "[ -~]{0,8}") {
        let mut parts = parts(Request::get("/p?a=%&=&b=%2"));
        for (i, line) in lines.iter().enumerate() {
            let field = ["cookie", "host", "x-user", "x-api-key"][i % 4];
            parts.headers.append(field, HeaderValue::from_bytes(line).unwrap());
        }
        let trust = trust();
        let attributes = RequestAttributes::new(&parts, IpAddr::from([10, 0, 0, 1]), &trust);
        let _ = (attributes.host().map(str::len), attributes.user(), attributes.api_key());
        let _ = (attributes.cookie(&name), attributes.query(&name), attributes.header(&name));
    }
}

#[test]
fn users_are_named_by_trusted_proxies_only() {
    let parts =
        parts(Request::get("/").header("x-user", "ana").header("x-api-key", "k1").header("x-api-key", "k2"));
    let trust = trust();
    let from = |peer: Option<[u8; 4]>| RequestAttributes::new(&parts, peer.map(IpAddr::from), &trust);
    assert_eq!(from(Some([10, 0, 0, 1])).user().as_deref(), Some(&b"ana"[..]));
    assert_eq!(from(Some([192, 0, 2, 1])).user(), None);
    assert_eq!(from(None).user(), None);
    assert_eq!(from(None).client(), None);
}

#[test]
fn what_is_repeated_is_one_client_whatever_the_values() {
    let key = |lines: &[&str]| {
        let mut builder = Request::get("/");
        for line in lines {
            builder = builder.header("x-api-key", *line).header("x-user", *line).header("x-other", *line);
        }
        let (parts, trust) = (parts(builder), trust());
        let attributes = RequestAttributes::new(&parts, IpAddr::from([10, 0, 0, 1]), &trust);
        [attributes.api_key(), attributes.user(), attributes.header("x-other")]
            .map(|value| value.map(Cow::into_owned))
    };
    let twice = key(&["victim", "junk-1"]);
    assert!(twice.iter().all(Option::is_some));
    for lines in [
        &["victim", "junk-2"][..],
        &["junk", "victim"],
        &["victim", "victim"],
        &["", "victim"],
        &["a", "b", "c"],
    ] {
        assert_eq!(key(lines), twice, "{lines:?}");
    }
    assert_ne!(key(&["victim"]), twice);
    assert_ne!(key(&["victim, junk"]), twice);

    let query = |uri: &str| {
        let (parts, trust) = (parts(Request::get(uri)), trust());
        RequestAttributes::new(&parts, None, &trust).query("k").map(Cow::into_owned)
    };
    assert_eq!(query("/?k=victim&k=1"), query("/?k=2&k=victim"));
    assert_eq!(query("/?k=victim&%6b=1"), query("/?k=&k=victim"));
    assert_ne!(query("/?k=victim&k=1"), query("/?k=victim"));
}

#[test]
fn hosts_have_no_ports() {
    let host = |uri: &str, host: Option<&str>| {
        let mut builder = Request::get(uri);
        if let Some(host) = host {
            builder = builder.header("host", host);
        }
        let parts = parts(builder);
        RequestAttributes::new(&parts, None, &Trust::default()).host().map(str::to_owned)
    };
    assert_eq!(host("/", None), None);
    assert_eq!(host("/", Some("")), None);
    assert_eq!(host("/", Some("Example.org:8080")).as_deref(), Some("Example.org"));
    assert_eq!(host("/", Some("[2001:db8::1]:80")).as_deref(), Some("[2001:db8::1]"));
    assert_eq!(host("/", Some("[2001:db8::1]")).as_deref(), Some("[2001:db8::1]"));
    assert_eq!(host("http://a.example:80/x", Some("b.example")).as_deref(), Some("a.example"));
    assert_eq!(host("http://[::1]:80/x", None).as_deref(), Some("[::1]"));
}

#[test]
fn the_usual_request_is_only_borrowed() {
    let parts = parts(
        Request::post("/a/b?page=2")
            .header("cookie", "sid=1")
            .header("x-api-key", "k")
            .header("x-user", "ana")
            .header("x-tenant", "t"),
    );
    let trust = trust();
    let attributes = RequestAttributes::new(&parts, IpAddr::from([10, 0, 0, 1]), &trust);
    for (value, expected) in [
        (attributes.api_key(), "k"),
        (attributes.user(), "ana"),
        (attributes.header("x-tenant"), "t"),
        (attributes.query("page"), "2"),
        (attributes.cookie("sid"), "1"),
    ] {
        assert!(matches!(value, Some(Cow::Borrowed(bytes)) if bytes == expected.as_bytes()), "{expected}");
    }
    assert_eq!((attributes.method(), attributes.path()), (Some("POST"), Some("/a/b")));
    assert_eq!((attributes.header("absent"), attributes.query("absent")), (None, None));
}

#[test]
fn methods_are_in_upper_case_where_a_server_might_think_so() {
    for (sent, seen) in
        [("GET", "GET"), ("get", "GET"), ("dElete", "DELETE"), ("PURGE", "PURGE"), ("purge", "purge")]
    {
        let parts = parts(Request::builder().method(Method::from_bytes(sent.as_bytes()).unwrap()).uri("/"));
        assert_eq!(RequestAttributes::new(&parts, None, &Trust::default()).method(), Some(seen));
    }
}

#[test]
fn every_line_of_a_header_is_told() {
    let (parts, ()) = Request::get("/")
        .header("x-kind", "a")
        .header("x-kind", "b, c")
        .header("x-other", "d")
        .body(())
        .unwrap()
        .into_parts();
    let trust = Trust::default();
    let attributes = RequestAttributes::new(&parts, None, &trust);
    let lines = |name: &str| {
        let mut lines = Vec::new();
        attributes.header_lines(name, &mut |line| lines.push(line.to_vec()));
        lines
    };
    assert_eq!(lines("x-kind"), [&b"a"[..], b"b, c"]);
    assert_eq!(lines("x-other"), [b"d"]);
    assert!(lines("x-none").is_empty());
}
