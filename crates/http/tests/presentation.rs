//! What a policy may choose: names, the upstream's fields, jitter, languages, forms, responses of single rules, gRPC.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use cupo_core::{Clock, Outcome};
use cupo_http::{
    Advice, Cors, Dialect, Dialects, FieldNames, MessageKind, Messages, Presentation, PresentationError,
    PresentationSource, ResetAs, RuleBody, RuleResponse, Template, UpstreamFields,
};
use http::StatusCode;
use http::header::{HeaderMap, HeaderName};
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use prost::Message as _;
use support::{NOW, Request, bucket, decide, engine, fixed, rule};

const NONE: Dialects = Dialects::NONE;

fn made(change: impl FnOnce(&mut PresentationSource)) -> Presentation {
    let mut source = PresentationSource::default();
    change(&mut source);
    Presentation::new(source).unwrap()
}

fn fields(fields: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(HeaderName::from_static(name), value.parse().unwrap());
    }
    headers
}

/// 40 of 100 are left for 60 s.
fn forty_left() -> Outcome {
    decide(&engine(vec![rule("burst", "ip", fixed(100, 60))]), &Request(60))
}

/// `burst` denies for 30 s.
fn denied() -> Outcome {
    let engine = engine(vec![rule("burst", "ip", bucket(100, 100, 60))]);
    assert!(decide(&engine, &Request(100)).is_admitted());
    decide(&engine, &Request(50))
}

#[test]
fn names_of_the_policys_own_are_written_and_read_back() {
    let epoch = FieldNames::new(Some("X-Q"), Some("X-Q-Left"), Some("X-Q-At"), ResetAs::Epoch).unwrap();
    let delta = FieldNames::new(None, Some("X-D-Left"), Some("X-D-In"), ResetAs::Delta).unwrap();
    let presentation = made(|source| {
        source.dialects = NONE;
        source.names = vec![epoch.clone(), delta.clone()];
    });
    let mut headers = HeaderMap::new();
    presentation.write(&forty_left(), &mut headers);
    assert_eq!(headers["x-q"], "100");
    assert_eq!(headers["x-q-at"], "1795986060");
    assert_eq!(headers["x-d-in"], "60");
    assert_eq!(headers.len(), 5);
    for names in [&epoch, &delta] {
        let quota = names.read(&headers, NOW).unwrap();
        assert_eq!((quota.remaining, quota.reset_after), (Some(40), Some(Duration::from_secs(60))));
    }
}

#[test]
fn no_field_has_two_writers() {
    let clash = FieldNames::new(Some("X-RateLimit-Limit"), None, None, ResetAs::Delta).unwrap();
    let source = PresentationSource { names: vec![clash.clone()], ..PresentationSource::default() };
    let twice = Err(PresentationError::FieldTwice("x-ratelimit-limit".into()));
    assert_eq!(Presentation::new(source).map(|_| ()), twice);
    let alone = PresentationSource { dialects: NONE, names: vec![clash], ..PresentationSource::default() };
    assert!(Presentation::new(alone).is_ok());
}

/// What is shown of an upstream's fields where 40 of 100 are left for 60 s.
fn shown(mode: UpstreamFields, theirs: &[(&'static str, &str)]) -> HeaderMap {
    let presentation = made(|source| {
        source.upstream_fields = mode;
        source.dialects = source.dialects.with(Dialect::Ietf06);
    });
    let mut headers = fields(theirs);
    presentation.write(&forty_left(), &mut headers);
    headers
}

fn x(limit: &'static str, remaining: &'static str, reset: &'static str) -> [(&'static str, &'static str); 3] {
    [("x-ratelimit-limit", limit), ("x-ratelimit-remaining", remaining), ("x-ratelimit-reset", reset)]
}

#[test]
fn the_tighter_of_two_is_shown_whole() {
    use UpstreamFields::{Keep, Replace, Tighter};
    let triple = |mode, theirs: &[(&'static str, &str)]| {
        let headers = shown(mode, theirs);
        let value =
            |name| headers.get_all(name).iter().map(|v| v.to_str().unwrap().to_owned()).collect::<Vec<_>>();
        [value("x-ratelimit-limit"), value("x-ratelimit-remaining"), value("x-ratelimit-reset")]
            .map(|v| v.join("|"))
    };
    let ours = ["100", "40", "1795986060"];
    // Fewer are left there; the same for longer; more; the same for less long.
    assert_eq!(triple(Tighter, &x("50", "39", "10")), ["50", "39", "10"]);
    assert_eq!(triple(Tighter, &x("50", "40", "61")), ["50", "40", "61"]);
    assert_eq!(triple(Tighter, &x("50", "41", "900")), ours);
    assert_eq!(triple(Tighter, &x("50", "40", "60")), ours);
    // What is malformed, repeated, or no comparison.
    for theirs in [x("50", "few", "10"), x("-1", "3", "10")] {
        assert_eq!(triple(Tighter, &theirs), ours);
        assert_eq!(triple(Keep, &theirs), ours);
    }
    let repeated = [x("50", "1", "10"), x("60", "2", "10")].concat();
    assert_eq!(triple(Tighter, &repeated), ours);
    assert_eq!(triple(Tighter, &x("50", "1", "10")[..1]), ours);
    assert_eq!(triple(Tighter, &x("50", "1", "10")[..2]), ["50", "1", ""], "never a mix");
    assert_eq!(triple(Keep, &x("50", "41", "900")), ["50", "41", "900"]);
    assert_eq!(triple(Replace, &x("50", "1", "10")), ours);
    // Each dialect by itself: the upstream says nothing in this one.
    assert_eq!(shown(Tighter, &x("50", "39", "10"))["ratelimit-remaining"], "40");
    let old = [("ratelimit-limit", "5"), ("ratelimit-remaining", "1"), ("ratelimit-reset", "2")];
    assert_eq!(shown(Tighter, &old)["ratelimit-remaining"], "1");
    assert_eq!(shown(Tighter, &old)["x-ratelimit-remaining"], "40");
    // A wait that the upstream asks for is its own.
    assert_eq!(shown(Replace, &[("retry-after", "7")])["retry-after"], "7");
}

#[test]
fn lists_of_both_are_one_list() {
    let theirs = [
        ("ratelimit-policy", "\"daily\";q=9;w=86400;qu=\"content-bytes\", \"burst\";q=10"),
        ("ratelimit", "\"daily\";r=8;t=100"),
        ("ratelimit", "\"burst\";r=7;pk=:YQ==:"),
    ];
    let headers = shown(UpstreamFields::Tighter, &theirs);
    assert_eq!(
        headers["ratelimit-policy"],
        "\"burst\";q=100;w=60, \"daily\";q=9;w=86400;qu=\"content-bytes\", \"burst-upstream\";q=10"
    );
    assert_eq!(
        headers["ratelimit"],
        "\"burst\";r=40;t=60, \"daily\";r=8;t=100, \"burst-upstream\";r=7;pk=:YQ==:"
    );
    let advice = Advice::read(&headers, NOW);
    let read = |name: &str| {
        let quota = advice.quotas.iter().find(|quota| quota.policy.as_deref() == Some(name)).unwrap();
        (quota.limit, quota.remaining)
    };
    assert_eq!(read("burst"), (Some(100), Some(40)));
    assert_eq!(read("daily"), (Some(9), Some(8)));
    assert_eq!(read("burst-upstream"), (Some(10), Some(7)));

    for malformed in ["\"a;r=1", "limit=5, remaining=1", "a;r=1", "\"a\"", "(\"a\");r=1"] {
        let headers = shown(UpstreamFields::Tighter, &[("ratelimit", malformed)]);
        assert_eq!(headers["ratelimit"], "\"burst\";r=40;t=60", "{malformed}");
    }
    let kept = shown(UpstreamFields::Keep, &theirs);
    assert_eq!(kept.get_all("ratelimit").iter().count(), 2);
    assert_eq!(shown(UpstreamFields::Replace, &theirs)["ratelimit"], "\"burst\";r=40;t=60");
}

#[test]
fn replaced_is_every_dialect_also_where_there_is_nothing_to_say() {
    let presentation = made(|source| {
        source.upstream_fields = UpstreamFields::Replace;
        source.dialects = NONE;
    });
    let mut headers = fields(&x("1", "2", "3"));
    headers.insert("ratelimit", "\"a\";r=1".parse().unwrap());
    headers.insert("etag", "x".parse().unwrap());
    presentation.write(&forty_left(), &mut headers);
    assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["etag"]);
}

#[test]
fn the_policy_of_an_old_draft_goes_with_its_fields() {
    let presentation = made(|source| source.dialects = NONE.with(Dialect::Ietf06));
    let old = [("ratelimit-limit", "90"), ("ratelimit-remaining", "80"), ("ratelimit-reset", "2")];
    let mut headers = fields(&[&old[..], &[("ratelimit-policy", "90;w=60")]].concat());
    presentation.write(&forty_left(), &mut headers);
    assert_eq!((headers["ratelimit-limit"].as_bytes(), headers.get("ratelimit-policy")), (&b"100"[..], None));
}

proptest! {
    #[test]
    fn a_jitter_only_ever_adds(random: u64, jitter in 0_u64..20) {
        let presentation = made(|source| {
            source.dialects = source.dialects.with(Dialect::Ietf06);
            source.retry_after_jitter = Duration::from_secs(jitter);
        });
        let engine = engine(vec![rule("fast", "ip", bucket(1, 10, 1)), rule("burst", "ip", bucket(100, 100, 60))]);
        let _ = decide(&engine, &Request(1));
        let outcome = decide(&engine, &Request(1));
        let wait = Duration::from_secs(1);
        let (parts, body) = presentation.refusal(&outcome, &HeaderMap::new(), random).into_parts();
        let advice = Advice::read(&parts.headers, engine.clock().now());
        let said = advice.retry_after.unwrap();
        prop_assert!(said >= wait && said <= wait + Duration::from_secs(jitter), "{said:?}");
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(&body["retry_after"], said.as_secs());
        for quota in &advice.quotas {
            let denies = quota.policy.as_deref() != Some("burst");
            if let (Some(reset), true) = (quota.reset_after, denies) {
                // No field contradicts another: none is before the true wait, and with a jitter none is before `Retry-After`.
                prop_assert!(reset >= outcome.retry_after().unwrap(), "{quota:?}");
                prop_assert!(said == wait || reset >= said, "{quota:?}");
                prop_assert!(quota.dialect != Dialect::Ietf11 || reset <= said, "{quota:?}");
            }
        }
        // The whole limit is there a minute after there is room for one more, and its instant is spread all the same.
        let engine = self::engine(vec![rule("slow", "ip", bucket(60, 60, 60))]);
        let _ = decide(&engine, &Request(60));
        let outcome = decide(&engine, &Request(1));
        let reset = |random| {
            let (parts, _) = presentation.refusal(&outcome, &HeaderMap::new(), random).into_parts();
            let advice = Advice::read(&parts.headers, engine.clock().now());
            let old = advice.quotas.iter().find(|quota| quota.dialect == Dialect::XRateLimit).unwrap();
            (advice.retry_after.unwrap(), old.reset_after.unwrap())
        };
        let ((first, whole), (wait, later)) = (reset(0), reset(random));
        prop_assert_eq!((first.as_secs(), whole.as_secs()), (1, 60));
        prop_assert_eq!(later - whole, wait - first);
        let (parts, _) = presentation.unavailable(&HeaderMap::new(), random).into_parts();
        prop_assert!(Advice::read(&parts.headers, NOW).retry_after.unwrap() >= wait);
    }
}

#[test]
fn a_jitter_is_whole_seconds_of_an_hour_at_most() {
    for (span, sound) in [(3_600_000, true), (3_601_000, false), (1_500, false), (0, true)] {
        let source = PresentationSource {
            retry_after_jitter: Duration::from_millis(span),
            ..PresentationSource::default()
        };
        assert_eq!(Presentation::new(source).is_ok(), sound, "{span}");
    }
    let presentation = made(|source| source.retry_after_jitter = Duration::from_secs(2));
    let waits: Vec<_> = (0..6)
        .map(|random| {
            presentation.refusal(&denied(), &HeaderMap::new(), random).headers()["retry-after"].clone()
        })
        .collect();
    assert_eq!(waits, ["30", "31", "32", "30", "31", "32"]);
}

#[test]
fn messages_come_in_the_callers_language() {
    let text = |text| Template::parse(text, MessageKind::Exceeded).unwrap();
    let presentation = made(|source| {
        let french = text("{rule} : {limit} en {window}, {remaining} de reste, attendez {retry_after}. {{}}");
        source.messages.set("fr", MessageKind::Exceeded, Some("Quota épuisé"), french).unwrap();
        source.messages.set("es-MX", MessageKind::Exceeded, None, text("Ya no: {retry_after}.")).unwrap();
        source.language = "es".into();
    });
    let said = |asked: &str| {
        let request = fields(&[("accept-language", asked)]);
        let response = presentation.refusal(&denied(), &request, 0);
        let body: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        let text = |name: &str| body[name].as_str().unwrap().to_owned();
        (response.headers()["content-language"].to_str().unwrap().to_owned(), text("title"), text("detail"))
    };
    let expected = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
    let spanish =
        "Demasiadas solicitudes: el límite `burst` está agotado. Inténtelo de nuevo en 30 segundos.";
    assert_eq!(
        said("fr-CA"),
        expected("fr", "Quota épuisé", "burst : 100 en 60 s, 0 de reste, attendez 30 s. {}")
    );
    assert_eq!(said("es-mx"), expected("es-MX", "Cuota agotada", "Ya no: 30 segundos."));
    assert_eq!(said("es-AR"), expected("es", "Cuota agotada", spanish));
    assert_eq!(said("de"), expected("es", "Cuota agotada", spanish));
    assert_eq!(said("de, en;q=0.1").0, "en");
    let unknown = PresentationSource { language: "de".into(), ..PresentationSource::default() };
    assert_eq!(Presentation::new(unknown).map(|_| ()), Err(PresentationError::NoMessages("de".into())));
}

#[test]
fn text_for_those_who_read_text() {
    let response = Presentation::default().refusal(&denied(), &fields(&[("accept", "text/plain")]), 0);
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(
        response.body(),
        "Too many requests: the limit `burst` is used up. Try again in 30 seconds.\n"
    );
}

fn with_response(response: RuleResponse) -> Presentation {
    made(|source| {
        source.responses.insert("burst".into(), response);
    })
}

#[test]
fn a_rule_answers_as_it_likes() {
    let response = RuleResponse::default().status(503).unwrap().header("X-Reason", "quota").unwrap();
    let body = RuleBody::fixed("text/html", "<h1>Later</h1>").unwrap();
    let (parts, body) =
        with_response(response.body(body)).refusal(&denied(), &HeaderMap::new(), 0).into_parts();
    assert_eq!((parts.status.as_u16(), &body[..]), (503, &b"<h1>Later</h1>"[..]));
    for (name, value) in [
        ("x-reason", "quota"),
        ("content-type", "text/html"),
        ("retry-after", "30"),
        ("x-ratelimit-remaining", "0"),
    ] {
        assert_eq!(parts.headers[name], value);
    }
    assert!(!parts.headers.contains_key("content-language"));

    // A wait means something with 429 and 503 only, and what caches would keep they must not.
    let gone = with_response(RuleResponse::default().status(404).unwrap());
    let (parts, body) = gone.refusal(&denied(), &HeaderMap::new(), 0).into_parts();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (parts.status.as_u16(), &body["status"], &body["retry_after"]),
        (404, &404.into(), &serde_json::Value::Null)
    );
    assert_eq!(
        (parts.headers.get("retry-after"), &parts.headers["cache-control"]),
        (None, &"no-store".parse().unwrap())
    );

    let mut messages = Messages::none();
    messages
        .set("es", MessageKind::Exceeded, None, Template::parse("Basta.", MessageKind::Exceeded).unwrap())
        .unwrap();
    let own = with_response(RuleResponse::default().body(RuleBody::Messages(messages)));
    let detail = |asked: &str| {
        let response = own.refusal(&denied(), &fields(&[("accept-language", asked)]), 0);
        serde_json::from_slice::<serde_json::Value>(response.body()).unwrap()["detail"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(detail("es"), "Basta.");
    assert!(detail("en").starts_with("Too many"), "its Spanish is no English");
    assert!(detail("fr").starts_with("Too many"));
    for status in [200, 302, 399, 600] {
        assert_eq!(RuleResponse::default().status(status), Err(PresentationError::Status(status)));
    }
    let clash = RuleResponse::default().header("X-RateLimit-Limit", "1").unwrap();
    let source =
        PresentationSource { responses: [("a".into(), clash)].into(), ..PresentationSource::default() };
    assert!(matches!(Presentation::new(source), Err(PresentationError::FieldReserved(_))));
}

#[test]
fn scripts_may_read_what_they_are_allowed_to() {
    let presentation = made(|source| source.cors = Some(Cors::new(["https://a.example"], true).unwrap()));
    let request = fields(&[("origin", "https://a.example")]);
    let headers = presentation.refusal(&denied(), &request, 0).into_parts().0.headers;
    assert_eq!(headers["access-control-allow-origin"], "https://a.example");
    let exposed = headers["access-control-expose-headers"].to_str().unwrap();
    for name in ["x-ratelimit-limit", "ratelimit-policy", "ratelimit", "retry-after"] {
        assert!(exposed.split(", ").any(|other| other == name), "{name} is not in {exposed}");
    }
    let other = fields(&[("origin", "https://b.example")]);
    let headers = presentation.unavailable(&other, 0).into_parts().0.headers;
    assert!(!headers.contains_key("access-control-allow-origin") && headers["vary"] == "origin");
}

#[derive(prost::Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(prost::Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Span>,
}

#[derive(prost::Message)]
struct Span {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

#[derive(prost::Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(message, repeated, tag = "3")]
    metadata: Vec<Pair>,
}

#[derive(prost::Message)]
struct Pair {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[test]
fn a_call_is_answered_with_a_status_that_clients_decode() {
    let request = fields(&[("content-type", "application/grpc+proto"), ("accept-language", "es")]);
    let response = Presentation::default().refusal(&denied(), &request, 0);
    let headers = response.headers();
    assert_eq!((response.status(), response.body().len()), (StatusCode::OK, 0));
    for (name, value) in [
        ("content-type", "application/grpc"),
        ("grpc-status", "8"),
        ("grpc-retry-pushback-ms", "30000"),
        ("retry-after", "30"),
        ("x-ratelimit-remaining", "0"),
        (
            "grpc-message",
            "Demasiadas solicitudes: el l%C3%ADmite `burst` est%C3%A1 agotado. Int%C3%A9ntelo de nuevo en 30 segundos.",
        ),
    ] {
        assert_eq!(headers[name], value);
    }
    let status =
        Status::decode(&*STANDARD_NO_PAD.decode(&headers["grpc-status-details-bin"]).unwrap()).unwrap();
    assert_eq!(status.code, 8);
    assert!(status.message.contains("el límite `burst`"), "{status:?}");
    let detail = |name: &str| {
        let url = format!("type.googleapis.com/google.rpc.{name}");
        status.details.iter().find(|any| any.type_url == url).unwrap().value.as_slice()
    };
    assert_eq!(status.details.len(), 2);
    let wait = RetryInfo::decode(detail("RetryInfo")).unwrap().retry_delay.unwrap();
    assert_eq!((wait.seconds, wait.nanos), (30, 0));
    let info = ErrorInfo::decode(detail("ErrorInfo")).unwrap();
    assert_eq!((info.reason.as_str(), info.domain.as_str()), ("RATE_LIMIT_EXCEEDED", "cupo"));
    assert_eq!((info.metadata[0].key.as_str(), info.metadata[0].value.as_str()), ("rule", "burst"));

    let unavailable = Presentation::default().unavailable(&request, 0);
    assert_eq!(
        (&unavailable.headers()["grpc-status"], unavailable.status().as_u16()),
        (&"14".parse().unwrap(), 200)
    );
    let never = decide(&engine(vec![rule("shut", "ip", fixed(0, 60))]), &Request(1));
    let headers = Presentation::default().refusal(&never, &request, 0).into_parts().0.headers;
    assert_eq!(
        (&headers["grpc-retry-pushback-ms"], headers.get("retry-after")),
        (&"-1".parse().unwrap(), None)
    );
}
