use super::{Hosts, canonical_host, pattern_key};

#[test]
fn every_spelling_of_a_host_is_one() {
    for spelling in [
        "api.example.com",
        "API.Example.COM",
        "api.example.com.",
        "api.example.com..",
        "api.example.com:8080",
        "Api.example.com.:443",
        " api.example.com ",
        "user@api.example.com",
        "a:b@api.example.com:1",
        "api.example.com:",
    ] {
        assert_eq!(canonical_host(spelling).as_deref(), Some("api.example.com"), "{spelling}");
    }
    for spelling in ["[2001:DB8::1]", "[2001:db8:0:0:0:0:0:1]:443", "2001:db8::1", "[2001:db8::0001]"] {
        assert_eq!(canonical_host(spelling).as_deref(), Some("[2001:db8::1]"), "{spelling}");
    }
    for nothing in ["", ".", "..", ":80", "@", " "] {
        assert_eq!(canonical_host(nothing), None, "{nothing}");
    }
}

#[test]
fn what_differs_stays_different() {
    let hosts = ["a.example", "b.example", "example", "xa.example", "[::1]", "127.0.0.1", "a..example"];
    for (i, a) in hosts.iter().enumerate() {
        for (j, b) in hosts.iter().enumerate() {
            assert_eq!(i == j, canonical_host(a) == canonical_host(b), "{a} {b}");
        }
    }
}

#[test]
fn a_canonical_host_stays_as_it_is() {
    for host in ["A.b.", "[::FFFF]:1", "x:y:z", "[broken", "[::1]x", "a@b@c", "é.example", "1:2"] {
        if let Some(once) = canonical_host(host) {
            assert_eq!(canonical_host(&once).as_deref(), Some(&*once), "{host}");
        }
    }
}

#[test]
fn patterns_match_a_host_or_all_below() {
    let hosts: Hosts = ["api.example.com", "*.example.org", "*.a.b.test", "[::1]"]
        .map(|pattern| pattern_key(pattern).unwrap())
        .into_iter()
        .collect();
    for host in ["api.example.com", "www.example.org", "a.b.c.example.org", "x.a.b.test", "[::1]"] {
        assert!(hosts.contain(host), "{host}");
    }
    for host in
        ["example.com", "www.api.example.com", "example.org", "badexample.org", "a.b.test", "org", "[::2]"]
    {
        assert!(!hosts.contain(host), "{host}");
    }
}

#[test]
fn patterns_are_canonical_too() {
    assert_eq!(pattern_key("API.Example.com.").as_deref(), Some("api.example.com"));
    assert_eq!(pattern_key("*.Example.org").as_deref(), Some(".example.org"));
    assert_eq!(pattern_key("[0:0:0:0:0:0:0:1]").as_deref(), Some("[::1]"));
    for bad in [
        "", "*", "*.", "a.*", "a*.b", "*a.b", "a..b", ".a", "a:80", "http://a", "a/b", "a b", "é", "[x]",
        "::1",
    ] {
        assert_eq!(pattern_key(bad), None, "{bad}");
    }
}
