//! Whom the walk believes: proxies by number, by socket and by PROXY header, in each of the fields, and what is doubtful.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::net::IpAddr;
use std::time::Duration;

use cupo_core::{
    Attributes, ClientAddressHeader, CostSource, KeySpec, Limit, PlanFrom, PlansSource, Policy, PolicySource,
    Proxies, RuleSource, TierSource, Trust,
};
use cupo_http::{
    Diagnostic, Diagnostics, Peer, RequestAttributes, client_address, is_trusted, strip_unvouched,
};
use http::Request;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};

const PROXY: Peer = Peer::Address(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)));
const STRANGER: Peer = Peer::Address(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)));

fn known(unix: bool) -> Proxies {
    let networks = ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().unwrap()).to_vec();
    Proxies::Known { networks, unix }
}

fn hops(number: u8) -> Proxies {
    Proxies::Hops(number.try_into().unwrap())
}

fn trust(proxies: Proxies, header: &str) -> Trust {
    Trust { proxies, client_address_header: ClientAddressHeader::named(header), ..Trust::default() }
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    }
    headers
}

fn client(peer: Peer, trust: &Trust, lines: &[&str]) -> String {
    let name = trust.client_address_header.name();
    let lines: Vec<(&str, &str)> = lines.iter().map(|line| (name, *line)).collect();
    client_address(peer, &headers(&lines), trust).map_or_else(|| "none".to_owned(), |found| found.to_string())
}

#[test]
fn hops_are_counted_from_the_peer() {
    let chain = &["6.6.6.6, 203.0.113.9, 198.51.100.2"][..];
    let split = &["6.6.6.6", "203.0.113.9", "198.51.100.2"][..];
    for lines in [chain, split] {
        for (number, expected) in
            [(1, "198.51.100.2"), (2, "203.0.113.9"), (3, "6.6.6.6"), (4, "6.6.6.6"), (32, "6.6.6.6")]
        {
            assert_eq!(
                client(STRANGER, &trust(hops(number), "x-forwarded-for"), lines),
                expected,
                "{number}"
            );
        }
    }
    let two = trust(hops(2), "x-forwarded-for");
    for (lines, expected) in [
        (&[][..], "192.0.2.1"),
        (&["203.0.113.9"], "203.0.113.9"),
        // Ours between are counted, whatever they are called.
        (&["203.0.113.9, unknown"], "203.0.113.9"),
        (&["203.0.113.9, , ,198.51.100.2,"], "203.0.113.9"),
        // What should be the client is no address.
        (&["203.0.113.9, garbage, 198.51.100.2"], "198.51.100.2"),
        (&["203.0.113.9, garbage, unknown"], "192.0.2.1"),
    ] {
        assert_eq!(client(STRANGER, &two, lines), expected, "{lines:?}");
    }
}

#[test]
fn forwarded_is_walked_like_the_other_list() {
    let known = trust(known(false), "forwarded");
    for (lines, expected) in [
        (&[][..], "10.0.0.1"),
        (&["for=203.0.113.9"], "203.0.113.9"),
        (&["for=6.6.6.6, for=203.0.113.9;proto=https, For=\"[fd00::1]:80\""], "203.0.113.9"),
        (&["for=6.6.6.6", "for=203.0.113.9", "for=10.0.0.3,for=10.0.0.2"], "203.0.113.9"),
        (&["for=10.0.0.4, for=10.0.0.3"], "10.0.0.4"),
        (&["for=203.0.113.9, for=unknown, for=10.0.0.2"], "10.0.0.2"),
        (&["for=203.0.113.9, for=_hidden"], "10.0.0.1"),
        (&["for=203.0.113.9, by=10.0.0.7, for=10.0.0.2"], "10.0.0.2"),
        (&["for=\"", "for=203.0.113.9"], "203.0.113.9"),
        (&["for=203.0.113.9, for=\"10.0.0.2"], "10.0.0.1"),
        (&["for=203.0.113.9\"", "for=10.0.0.2"], "10.0.0.2"),
        (&["203.0.113.9"], "10.0.0.1"),
    ] {
        assert_eq!(client(PROXY, &known, lines), expected, "{lines:?}");
    }
    let two = trust(hops(2), "forwarded");
    assert_eq!(client(PROXY, &two, &["for=203.0.113.9, for=_ours"]), "203.0.113.9");
    assert_eq!(client(PROXY, &two, &["for=203.0.113.9, for=\"broken"]), "10.0.0.1");
}

#[test]
fn a_single_value_is_believed_once() {
    let real = trust(known(false), "x-real-ip");
    for (lines, expected) in [
        (&[][..], "10.0.0.1"),
        (&["203.0.113.9"], "203.0.113.9"),
        (&["[2001:db8::1]:80"], "2001:db8::1"),
        (&["10.0.0.9"], "10.0.0.9"),
        (&["203.0.113.9, 203.0.113.10"], "10.0.0.1"),
        (&["203.0.113.9", "203.0.113.9"], "10.0.0.1"),
        (&[""], "10.0.0.1"),
        (&["::ffff:203.0.113.9"], "203.0.113.9"),
    ] {
        assert_eq!(client(PROXY, &real, lines), expected, "{lines:?}");
    }
    assert_eq!(client(STRANGER, &real, &["203.0.113.9"]), "192.0.2.1");
    assert_eq!(client(STRANGER, &trust(hops(3), "x-real-ip"), &["203.0.113.9"]), "203.0.113.9");
}

#[test]
fn sockets_and_relays_are_peers_of_their_own() {
    let chain = &["6.6.6.6, 203.0.113.9"][..];
    let relayed = |address: [u8; 4]| Peer::Relayed(address.into());
    for (proxies, peer, trusted, expected) in [
        (known(false), Peer::Unix, false, "none"),
        (known(true), Peer::Unix, true, "203.0.113.9"),
        (hops(1), Peer::Unix, true, "203.0.113.9"),
        (hops(2), Peer::Unix, true, "6.6.6.6"),
        (known(true), Peer::Unknown, false, "none"),
        (hops(1), Peer::Unknown, false, "none"),
        (known(true), STRANGER, false, "192.0.2.1"),
        // The address in a PROXY header is the peer: it has to be a trusted proxy itself to be believed.
        (known(false), relayed([198, 51, 100, 7]), false, "198.51.100.7"),
        (known(false), relayed([10, 9, 9, 9]), true, "203.0.113.9"),
        // Whoever sent the header is the first hop.
        (hops(1), relayed([198, 51, 100, 7]), false, "198.51.100.7"),
        (hops(2), relayed([198, 51, 100, 7]), true, "203.0.113.9"),
        (hops(3), relayed([198, 51, 100, 7]), true, "6.6.6.6"),
    ] {
        let trust = trust(proxies, "x-forwarded-for");
        assert_eq!(is_trusted(peer, &trust), trusted, "{peer:?} {trust:?}");
        assert_eq!(client(peer, &trust, chain), expected, "{peer:?} {trust:?}");
    }
    assert_eq!(client(Peer::Unix, &trust(known(true), "x-forwarded-for"), &[]), "none");
    let nobody = Trust::default();
    assert!(!is_trusted(Peer::Unix, &nobody) && !is_trusted(PROXY, &nobody));
}

#[test]
fn the_user_is_named_by_whoever_is_vouched_for() {
    let (parts, ()) = Request::get("/").header("x-user", "ana").body(()).unwrap().into_parts();
    let user = |peer: Peer, proxies: Proxies| {
        let trust = trust(proxies, "x-forwarded-for");
        RequestAttributes::new(&parts, peer, &trust).user().is_some()
    };
    assert!(user(PROXY, known(false)) && user(Peer::Unix, known(true)) && user(STRANGER, hops(1)));
    assert!(!user(STRANGER, known(true)) && !user(Peer::Unix, known(false)));
    assert!(!user(Peer::Relayed([198, 51, 100, 7].into()), hops(1)));
    assert!(user(Peer::Relayed([198, 51, 100, 7].into()), hops(2)));
}

#[test]
fn every_doubt_is_named() {
    use Diagnostic as D;
    let xff = |value: &'static str| ("x-forwarded-for", value);
    let (real, user) = (("x-real-ip", "203.0.113.9"), ("x-user", "ana"));
    let relayed = Peer::Relayed([198, 51, 100, 7].into());
    for (proxies, header, peer, lines, expected) in [
        (known(false), "x-forwarded-for", STRANGER, &[][..], &[][..]),
        (known(false), "x-forwarded-for", PROXY, &[xff("203.0.113.9")], &[]),
        (known(false), "x-forwarded-for", PROXY, &[], &[]),
        (known(false), "x-forwarded-for", STRANGER, &[xff("1.1.1.1")], &[D::UntrustedClientAddress]),
        (known(false), "x-forwarded-for", STRANGER, &[real], &[D::UntrustedClientAddress]),
        (
            known(false),
            "cf-connecting-ip",
            STRANGER,
            &[("cf-connecting-ip", "x")],
            &[D::UntrustedClientAddress],
        ),
        (
            known(false),
            "x-forwarded-for",
            Peer::Unix,
            &[real, user],
            &[D::UntrustedClientAddress, D::UntrustedUser],
        ),
        (known(false), "x-forwarded-for", STRANGER, &[user], &[D::UntrustedUser]),
        (known(false), "x-forwarded-for", PROXY, &[user, xff("203.0.113.9")], &[]),
        (known(false), "x-forwarded-for", PROXY, &[xff("203.0.113.9, unknown")], &[D::NoAddress]),
        (known(false), "forwarded", PROXY, &[("forwarded", "for=\"")], &[D::NoAddress]),
        (known(false), "x-real-ip", PROXY, &[real, real], &[D::RepeatedClientAddress]),
        (known(false), "x-real-ip", PROXY, &[("x-real-ip", "a")], &[D::NoAddress]),
        (known(false), "x-forwarded-for", PROXY, &[xff("10.0.0.9")], &[D::AllTrusted]),
        (hops(2), "x-forwarded-for", PROXY, &[xff("203.0.113.9")], &[D::ShortChain]),
        (hops(2), "x-forwarded-for", PROXY, &[xff("203.0.113.9, 10.0.0.3")], &[]),
        (known(false), "x-forwarded-for", PROXY, &[real], &[D::OtherField]),
        (known(false), "forwarded", PROXY, &[xff("203.0.113.9")], &[D::OtherField]),
        (known(false), "x-forwarded-for", PROXY, &[xff("203.0.113.9"), real], &[D::FurtherField]),
        (known(false), "x-forwarded-for", relayed, &[xff("198.51.100.7")], &[]),
        (known(false), "x-forwarded-for", relayed, &[xff("1.1.1.1, 198.51.100.7")], &[]),
        (known(false), "x-forwarded-for", relayed, &[xff("198.51.100.7, 1.1.1.1")], &[D::Disagreement]),
        (hops(1), "x-forwarded-for", relayed, &[xff("1.1.1.1")], &[D::Disagreement]),
        (known(false), "x-forwarded-for", Peer::Relayed([10, 0, 0, 9].into()), &[xff("1.1.1.1")], &[]),
    ] {
        let trust = trust(proxies, header);
        let mut parts: Parts = Request::get("/").body(()).unwrap().into_parts().0;
        parts.headers = headers(lines);
        let attributes = RequestAttributes::new(&parts, peer, &trust);
        let found: Vec<Diagnostic> = attributes.diagnostics(Diagnostics::NONE).iter().collect();
        assert_eq!(found, expected, "{header} {peer:?} {lines:?}");
        let known = attributes.diagnostics(Diagnostics::NONE);
        assert!(attributes.diagnostics(known).is_empty(), "what is known is not looked for");
    }
}

#[test]
fn codes_are_distinct_and_in_order() {
    let codes: Vec<&str> = Diagnostic::ALL.iter().map(|diagnostic| diagnostic.code()).collect();
    let expected: Vec<String> = (1..=codes.len()).map(|number| format!("CUPO-T{number:03}")).collect();
    assert_eq!(codes, expected);
    let all = Diagnostic::ALL.iter().fold(Diagnostics::NONE, |all, one| all | (*one).into());
    assert_eq!(all.iter().count(), codes.len());
    assert_eq!(
        Diagnostics::from_bits(all.bits()).without(Diagnostic::ALL[0].into()).iter().count(),
        codes.len() - 1
    );
}

#[test]
fn every_code_has_its_section() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diagnostics.md");
    let page = std::fs::read_to_string(page).unwrap();
    let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    let codes: Vec<&str> = sections.iter().map(|section| section.lines().next().unwrap()).collect();
    assert_eq!(codes, Diagnostic::ALL.map(Diagnostic::code));
    for (section, diagnostic) in sections.iter().zip(Diagnostic::ALL) {
        let text = section.split_once("\n\n").unwrap().1;
        assert_eq!(text.starts_with("*info.* "), diagnostic.is_usual(), "{}", diagnostic.code());
        assert!(
            text.len() > 100 && text.contains("**"),
            "{} says what happened and what to do",
            diagnostic.code()
        );
        assert!(!diagnostic.says().is_empty() && !diagnostic.says().ends_with('.'));
    }
}

#[test]
fn what_only_a_proxy_may_say_is_removed() {
    let mut found = headers(&[
        ("x-auth-user", "ana"),
        ("x_auth_user", "ana"),
        ("x-auth_user", "ana"),
        ("cf-connecting-ip", "1.1.1.1"),
        ("cf-connecting-ip", "1.1.1.2"),
        ("x-cost", "0"),
        ("x-plan", "gold"),
        ("x_plan", "gold"),
        ("x-auth-users", "kept"),
        ("x-user", "kept"),
        ("host", "kept"),
    ]);
    let trust = Trust { user_header: "x-auth-user".to_owned(), ..trust(known(false), "cf-connecting-ip") };
    let tier = TierSource { name: "free".to_owned(), numbers: Vec::new() };
    let from = vec![PlanFrom::Callers, PlanFrom::Header("x-plan".to_owned())];
    let plans = PlansSource { tiers: vec![tier], from, default: "free".to_owned() };
    let limit = Limit::sliding_window_log(1, Duration::from_secs(1)).unwrap();
    let cost = CostSource::Request { header: "x-cost".to_owned(), max: 1, default: 1 };
    let rules = vec![RuleSource { cost, ..RuleSource::new("all", KeySpec::parse(&["ip"]).unwrap(), limit) }];
    let policy = Policy::compile(PolicySource { trust, plans, rules, ..PolicySource::default() }).unwrap();
    strip_unvouched(&mut found, &policy);
    let mut left: Vec<&str> = found.keys().map(HeaderName::as_str).collect();
    left.sort_unstable();
    assert_eq!(left, ["host", "x-auth-users", "x-user"]);
}

fn element(address: IpAddr, style: u8) -> String {
    let quoted = match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    };
    match style % 4 {
        0 => format!("for=\"{quoted}\""),
        1 => format!("proto=https;For=\"{quoted}:443\";host=\"a,b\\\"c\""),
        2 => format!("by=_me; for=\"{quoted}:_x\""),
        _ => format!("FOR={quoted};"),
    }
}

proptest! {
    /// Whatever a caller wrote, the client is the address that our proxies saw.
    #[test]
    fn no_forged_element_has_a_say(
        forged in prop::collection::vec("[ -~]{0,40}", 0..3),
        glued in "[\"\\\\,;=for a-z0-9.\\[\\]:_]{0,30}",
        caller in public(),
        ours in prop::collection::vec((any::<u8>(), any::<u8>()), 0..4),
        style in any::<u8>(),
        by_number in any::<bool>(),
    ) {
        let proxies = if by_number { hops(u8::try_from(ours.len() + 1).unwrap()) } else { known(false) };
        let mut map = HeaderMap::new();
        for line in &forged {
            map.append("forwarded", HeaderValue::from_str(line).unwrap());
        }
        let mut line = glued;
        for (address, style) in std::iter::once((caller, style))
            .chain(ours.iter().map(|(last, style)| (IpAddr::from([10, 0, 0, *last]), *style)))
        {
            line = format!("{line}, {}", element(address, style));
        }
        map.append("forwarded", HeaderValue::from_str(&line).unwrap());
        let trust = trust(proxies, "forwarded");
        prop_assert_eq!(client_address(PROXY, &map, &trust), Some(caller), "{}", line);
    }

    #[test]
    fn no_bytes_break_a_walk(
        lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..5),
        number in 1_u8..=32,
        name in prop::sample::select(vec!["x-forwarded-for", "forwarded", "x-real-ip"]),
    ) {
        let mut map = HeaderMap::new();
        for value in lines.iter().filter_map(|line| HeaderValue::from_bytes(line).ok()) {
            map.append(name, value);
        }
        for proxies in [known(true), hops(number)] {
            for peer in [PROXY, STRANGER, Peer::Unix, Peer::Unknown, Peer::Relayed([10, 0, 0, 2].into())] {
                let trust = trust(proxies.clone(), name);
                let found = client_address(peer, &map, &trust);
                prop_assert!(found.is_some() || peer.address().is_none());
            }
        }
    }
}

/// An address that is no proxy's.
fn public() -> impl Strategy<Value = IpAddr> {
    (any::<bool>(), any::<u8>()).prop_map(|(v4, last)| {
        if v4 {
            IpAddr::from([203, 0, 113, last])
        } else {
            IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(last)])
        }
    })
}
