//! Which rules a request meets.

use cupo_core::{
    Action, ExemptionSource, ExemptionsSource, HeaderSource, HeaderTest, MatchSource, OnMissing, Policy,
    PolicySource, Problem, RuleSource,
};

use crate::support::{Ask, engine, policy, ready, rule};

/// A rule with its own counter that says by its decision that it was met.
fn met(name: &str, matches: MatchSource) -> RuleSource {
    RuleSource { matches, ..rule(name, &["global"], 1_000) }
}

/// The names of the rules that decide about a request.
fn meets(rules: &[RuleSource], ask: &Ask) -> Vec<String> {
    let (engine, _) = engine(rules);
    let outcome = ready(engine.decide(ask)).unwrap();
    outcome
        .decisions()
        .chain(outcome.shadow_decisions())
        .map(|ruling| ruling.rule.name().to_owned())
        .collect()
}

fn fits(matches: &MatchSource, ask: &Ask) -> bool {
    !meets(&[met("r", matches.clone())], ask).is_empty()
}

fn on(hosts: &[&str]) -> MatchSource {
    MatchSource { hosts: hosts.iter().map(ToString::to_string).collect(), ..MatchSource::default() }
}

fn with(name: &str, test: HeaderTest) -> MatchSource {
    MatchSource { headers: vec![HeaderSource { name: name.to_owned(), test }], ..MatchSource::default() }
}

fn at(path: &str) -> MatchSource {
    MatchSource { path: Some(path.to_owned()), ..MatchSource::default() }
}

fn by(methods: &[&str]) -> MatchSource {
    MatchSource { methods: methods.iter().map(ToString::to_string).collect(), ..MatchSource::default() }
}

fn client(networks: &[&str]) -> MatchSource {
    let clients = networks.iter().map(|network| network.parse().unwrap()).collect();
    MatchSource { clients, ..MatchSource::default() }
}

fn but(matches: MatchSource, not: impl Into<Vec<MatchSource>>) -> MatchSource {
    MatchSource { not: not.into(), ..matches }
}

fn host(host: &'static str) -> Ask {
    Ask { host: Some(host), ..Ask::get("/") }
}

fn headers(lines: &[(&'static str, &'static str)]) -> Ask {
    Ask { named: lines.to_vec(), ..Ask::get("/") }
}

#[test]
fn get_covers_head() {
    let method = |method| Ask { method: Some(method), ..Ask::get("/") };
    let of = |methods: &[&str]| MatchSource {
        methods: methods.iter().map(ToString::to_string).collect(),
        ..MatchSource::default()
    };
    assert!(fits(&of(&["GET"]), &method("HEAD")) && fits(&of(&["GET"]), &method("GET")));
    assert!(fits(&of(&["HEAD"]), &method("HEAD")) && !fits(&of(&["HEAD"]), &method("GET")));
    assert!(!fits(&of(&["POST", "PUT"]), &method("HEAD")) && fits(&of(&["POST", "PUT"]), &method("PUT")));
    assert!(!fits(&of(&["GET"]), &Ask::default()), "a request without a method is none of them");
}

#[test]
fn hosts_are_compared_in_one_spelling() {
    let matches = on(&["API.example.com", "*.example.org"]);
    for spelling in ["api.example.com", "Api.Example.Com.", "api.example.com:8080", "api.example.com.:80"] {
        assert!(fits(&matches, &host(spelling)), "{spelling}");
    }
    for below in ["www.example.org", "a.b.c.EXAMPLE.org.", "x.example.org:1"] {
        assert!(fits(&matches, &host(below)), "{below}");
    }
    for other in ["example.org", "badexample.org", "example.com", "x.api.example.com", "org"] {
        assert!(!fits(&matches, &host(other)), "{other}");
    }
    assert!(!fits(&matches, &Ask::get("/")), "a request without a host is on none of them");
}

#[test]
fn headers_are_present_or_equal_or_like() {
    let present = with("X-Beta", HeaderTest::Present);
    assert!(fits(&present, &headers(&[("header:x-beta", "")])));
    assert!(!fits(&present, &headers(&[("header:x-bet", "1")])));

    let equal = with("x-kind", HeaderTest::Equals("batch job".to_owned()));
    assert!(fits(&equal, &headers(&[("header:x-kind", " batch job\t")])));
    for other in ["batch", "Batch job", "batch job, x", ""] {
        assert!(!fits(&equal, &headers(&[("header:x-kind", other)])), "{other}");
    }

    let like = with("x-version", HeaderTest::Regex("^2\\.\\d+$".to_owned()));
    for (value, fit) in [("2.0", true), ("2.15", true), ("12.0", false), ("2.x", false), ("2.٣", false)] {
        assert_eq!(fits(&like, &headers(&[("header:x-version", value)])), fit, "{value}");
    }
    assert!(
        fits(&with("a", HeaderTest::Regex("b".to_owned())), &headers(&[("header:a", "abc")])),
        "anywhere"
    );
    assert!(!fits(&like, &Ask::get("/")));
}

/// Of several lines nobody knows which one counts elsewhere, and doubt never frees from a rule.
#[test]
fn a_header_of_several_lines_fits_where_one_of_them_does() {
    let both = headers(&[("header:x-kind", "a"), ("header:x-kind", "b")]);
    let a = with("x-kind", HeaderTest::Equals("a".to_owned()));
    let b = with("x-kind", HeaderTest::Regex("^b$".to_owned()));
    assert!(fits(&a, &both) && fits(&b, &both));
    // Left out is only what fits by every line.
    assert!(fits(&but(MatchSource::default(), [a.clone()]), &both));
    assert!(!fits(&but(MatchSource::default(), [a.clone()]), &headers(&[("header:x-kind", "a")])));
    assert!(!fits(
        &but(MatchSource::default(), [a.clone()]),
        &headers(&[("header:x-kind", "a"), ("header:x-kind", "a")])
    ));
    // And twice negated is one of them again.
    let negated = but(MatchSource::default(), [but(at("/"), [a.clone()])]);
    assert!(fits(&negated, &both));
    // A rule that stops in doubt does not stop.
    let rules = [RuleSource { stop: true, ..met("a", a) }, met("after", MatchSource::default())];
    assert_eq!(meets(&rules, &both), ["a", "after"]);
    assert_eq!(meets(&rules, &headers(&[("header:x-kind", "a")])), ["a"]);
}

/// An exception from protection holds beyond doubt, and a refusal in doubt.
#[test]
fn a_header_of_several_lines_is_blocked_and_not_allowed() {
    let matches = with("x-kind", HeaderTest::Equals("a".to_owned()));
    let entry =
        || vec![ExemptionSource { name: "e".to_owned(), matches: matches.clone(), ..Default::default() }];
    let settled = |exemptions| {
        let rules = vec![met("r", MatchSource::default())];
        let policy = Policy::compile(PolicySource { rules, exemptions, ..PolicySource::default() }).unwrap();
        let (engine, _) = engine([met("r", MatchSource::default())]);
        engine.swap_policy(policy);
        move |ask: &Ask| ready(engine.decide(ask)).unwrap().settled().is_some()
    };
    let allowed = settled(ExemptionsSource { allow: entry(), ..ExemptionsSource::default() });
    let blocked = settled(ExemptionsSource { block: entry(), ..ExemptionsSource::default() });
    let (sure, doubtful) = ([("header:x-kind", "a")], [("header:x-kind", "a"), ("header:x-kind", "b")]);
    assert!(allowed(&headers(&sure)) && blocked(&headers(&sure)));
    assert!(!allowed(&headers(&doubtful)) && blocked(&headers(&doubtful)));
}

#[test]
fn clients_are_in_networks() {
    let clients = ["10.0.0.0/8", "2001:db8::/32", "::ffff:192.0.2.0/120"].map(|n| n.parse().unwrap());
    let matches = MatchSource { clients: clients.to_vec(), ..MatchSource::default() };
    for inside in ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2001:db8::9", "192.0.2.77"] {
        assert!(fits(&matches, &Ask::from(inside)), "{inside}");
    }
    for outside in ["11.0.0.1", "::ffff:11.0.0.1", "2001:db9::", "192.0.3.1"] {
        assert!(!fits(&matches, &Ask::from(outside)), "{outside}");
    }
    assert!(!fits(&matches, &Ask::get("/")));
}

#[test]
fn not_leaves_out() {
    let matches = but(at("/users/**"), [at("/users/me"), at("/users/{id}/avatar")]);
    for (path, fit) in [
        ("/users", true),
        ("/users/7", true),
        ("/users/me", false),
        ("/%75sers/me/", false),
        ("/users//me", false),
        // Who knows what the upstream takes these for?
        ("/users/./me", true),
        ("/users/me;x", true),
        ("/users/7/..;/me", true),
        ("/users/7/avatar", false),
        ("/users/7/avatar/x", true),
        ("/other", false),
    ] {
        assert_eq!(fits(&matches, &Ask::get(path)), fit, "{path}");
    }
    assert!(fits(&but(MatchSource::default(), [on(&["a.example"])]), &Ask::get("/")), "without a host");
}

#[test]
fn every_condition_has_to_hold() {
    let matches = MatchSource {
        methods: vec!["POST".to_owned()],
        clients: vec!["10.0.0.0/8".parse().unwrap()],
        headers: with("x-a", HeaderTest::Present).headers,
        ..but(MatchSource { hosts: on(&["a.example"]).hosts, ..at("/a/**") }, [at("/a/b")])
    };
    let whole = Ask {
        method: Some("POST"),
        host: Some("a.example"),
        named: vec![("header:x-a", "1")],
        path: Some("/a/c"),
        ..Ask::from("10.0.0.1")
    };
    assert!(fits(&matches, &whole));
    for (lacks, ask) in [
        ("method", Ask { method: Some("GET"), ..whole.clone() }),
        ("host", Ask { host: Some("b.example"), ..whole.clone() }),
        ("header", Ask { named: Vec::new(), ..whole.clone() }),
        ("path", Ask { path: Some("/b"), ..whole.clone() }),
        ("not", Ask { path: Some("/a/b"), ..whole.clone() }),
        ("client", Ask { client: Some("11.0.0.1".parse().unwrap()), ..whole }),
    ] {
        assert!(!fits(&matches, &ask), "{lacks}");
    }
}

#[test]
fn all_rules_that_match_decide_in_the_order_of_the_policy() {
    let rules = [
        met("b", at("/x/**")),
        met("everything", MatchSource::default()),
        met("a", at("/x/{y}")),
        met("elsewhere", at("/z")),
        met("host", on(&["a.example"])),
        met("c", at("/x/1")),
    ];
    let ask = Ask { host: Some("A.example."), ..Ask::get("//x/1/") };
    assert_eq!(meets(&rules, &ask), ["b", "everything", "a", "host", "c"]);
    let reversed: Vec<_> = rules.iter().cloned().rev().collect();
    assert_eq!(meets(&reversed, &ask), ["c", "host", "a", "everything", "b"]);
}

#[test]
fn a_rule_that_stops_hides_those_after_it() {
    let stops = |rule: RuleSource| RuleSource { stop: true, ..rule };
    let first = met("first", MatchSource::default());
    let last = met("last", MatchSource::default());
    let rules = [first.clone(), stops(met("hooks", at("/hooks/**"))), last.clone()];
    assert_eq!(meets(&rules, &Ask::get("/hooks/7")), ["first", "hooks"]);
    assert_eq!(meets(&rules, &Ask::get("/other")), ["first", "last"]);
    // One that only watches stops as well.
    let shadow = RuleSource { action: Action::Shadow, ..stops(met("watch", at("/hooks"))) };
    let ask = Ask::get("/hooks");
    assert_eq!(meets(&[first.clone(), shadow, last.clone()], &ask), ["first", "watch"]);
    // One that does not apply does not.
    let skips = RuleSource {
        on_missing: OnMissing::Skip,
        ..stops(RuleSource { matches: at("/hooks"), ..rule("skips", &["user"], 9) })
    };
    assert_eq!(meets(&[first.clone(), skips.clone(), last.clone()], &ask), ["first", "last"]);
    let known = Ask { user: Some("ada"), ..ask };
    assert_eq!(meets(&[first, skips, last], &known), ["first", "skips"]);
}

#[test]
fn head_and_get_share_the_budget_of_a_route() {
    let rules = [RuleSource { matches: at("/files/{name}"), ..rule("r", &["route"], 2) }];
    let (engine, _) = engine(rules);
    let head = Ask { method: Some("HEAD"), ..Ask::get("/files/a") };
    let passes = |ask: &Ask| ready(engine.decide(ask)).unwrap().is_admitted();
    assert!(passes(&head) && passes(&Ask::get("/files/b")));
    assert!(!passes(&head) && !passes(&Ask::get("/files/a")));
    assert!(passes(&Ask { method: Some("POST"), ..Ask::get("/files/a") }));
}

#[test]
fn bad_conditions_say_where_and_why() {
    let errors = |matches: MatchSource| {
        let rules = vec![met("r", matches)];
        Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap_err().0
    };
    let nested = but(at("/a"), [on(&["ok.example", "a:80"]), with("x", HeaderTest::Regex("(".to_owned()))]);
    let found = errors(nested);
    let paths: Vec<&str> = found.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["rules[0].match.not[0].host[1]", "rules[0].match.not[1].header.x.regex"]);
    assert!(matches!(&found[1].problem, Problem::Regex { reason, .. } if &**reason == "unclosed group"));
    let large = errors(with("x", HeaderTest::Regex("a{1000}{1000}".to_owned())));
    assert!(large[0].to_string().contains("takes more than 65536 bytes"), "{large:?}");
    for (matches, problem) in [
        (with("a b", HeaderTest::Present), Problem::HeaderName("a b".to_owned())),
        (with("Host", HeaderTest::Present), Problem::HostHeader),
        (with("x", HeaderTest::Equals(" a".to_owned())), Problem::HeaderBlanks(" a".into())),
        (on(&["*"]), Problem::Host("*".into())),
        (but(at("/a"), [MatchSource::default()]), Problem::NotEverything),
        (but(at("/a"), [at("/a")]), Problem::NeverMatches),
        (but(at("/a/b"), [at("/a/**")]), Problem::NeverMatches),
        (but(at("/a/{x}/c"), [at("/{a}/{b}/**")]), Problem::NeverMatches),
        (but(on(&["x.example.org"]), [on(&["*.example.org"])]), Problem::NeverMatches),
        (but(client(&["10.1.0.0/16", "10.2.0.0/16"]), [client(&["10.0.0.0/8"])]), Problem::NeverMatches),
        (but(by(&["HEAD", "POST"]), [by(&["POST", "GET"])]), Problem::NeverMatches),
    ] {
        assert_eq!(errors(matches)[0].problem, problem);
    }
    for matches in [
        but(at("/a/**"), [at("/a/b")]),
        but(at("/a/{x}"), [at("/a/b")]),
        but(at("/a"), [at("/a/{x}")]),
        but(MatchSource::default(), [at("/a/**")]),
        but(on(&["x.example.org", "example.org"]), [on(&["*.example.org"])]),
        but(client(&["10.0.0.0/8"]), [client(&["10.1.0.0/16"])]),
        but(by(&["GET", "POST"]), [by(&["GET"])]),
        but(by(&["GET"]), [by(&["HEAD"])]),
        but(at("/a/b"), [MatchSource { methods: vec!["GET".to_owned()], ..at("/a/**") }]),
    ] {
        let rules = vec![met("r", matches.clone())];
        let compiled = Policy::compile(PolicySource { rules, ..PolicySource::default() });
        assert!(compiled.is_ok(), "{matches:?}: {compiled:?}");
    }
    let stops = RuleSource { stop: true, ..met("a", MatchSource::default()) };
    let rules = vec![stops.clone(), met("b", MatchSource::default())];
    let error = Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap_err();
    assert_eq!((error.0[0].path.as_str(), &error.0[0].problem), ("rules[0].stop", &Problem::StopsAll));
    assert_eq!(policy([met("b", MatchSource::default()), stops]).rules().len(), 2);
}

#[test]
fn conditions_are_said_in_words() {
    let said = |matches| policy([met("r", matches)]).rules()[0].describe_match();
    assert_eq!(said(MatchSource::default()), "every request");
    let matches = MatchSource {
        methods: vec!["GET".to_owned(), "POST".to_owned()],
        clients: vec!["10.0.0.0/8".parse().unwrap()],
        headers: with("X-Kind", HeaderTest::Equals("a".to_owned())).headers,
        ..but(MatchSource { hosts: on(&["*.B.example", "a.example"]).hosts, ..at("/a/**") }, [at("/a/b")])
    };
    assert_eq!(
        said(matches),
        "GET or POST /a/** on *.b.example or a.example from 10.0.0.0/8 with x-kind equal to `a`, but not (/a/b)"
    );
    let many: Vec<String> = (10..30).map(|i| format!("h{i}.example")).collect();
    assert!(said(MatchSource { hosts: many, ..MatchSource::default() }).ends_with("h17.example or 12 more"));
}

#[test]
fn a_method_of_a_policy_is_met_in_any_spelling() {
    let purge =
        MatchSource { methods: vec!["PURGE".to_owned(), "X-MADE-UP".to_owned()], ..MatchSource::default() };
    for (method, met) in
        [("PURGE", true), ("purge", true), ("Purge", true), ("x-made-up", true), ("PURG", false)]
    {
        assert_eq!(fits(&purge, &Ask { method: Some(method), ..Ask::get("/") }), met, "{method}");
    }
}
