//! The exact text of what servers send. A change here is a change that callers see.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use bytes::Bytes;
use cupo_core::{
    Action, Attributes, ExemptionSource, ExemptionsSource, MatchSource, OnMissing, Outcome, Policy,
    PolicySource,
};
use cupo_http::{Dialect, Dialects, Presentation};
use http::header::{ACCEPT, ACCEPT_LANGUAGE, HeaderName};
use http::{HeaderMap, Response};
use support::{Request, bucket, decide, engine, fixed, rule};

/// The head and body as text, fields in the order of their names.
fn text<B: AsRef<[u8]>>(response: &Response<B>) -> String {
    let mut lines: Vec<String> = response
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort();
    let body = String::from_utf8(response.body().as_ref().to_vec()).unwrap();
    format!("{}\n{}\n\n{body}", response.status(), lines.join("\n"))
}

fn admitted(outcome: &Outcome, dialects: Dialects) -> String {
    assert!(outcome.is_admitted());
    let mut response = Response::new("");
    Presentation::from(dialects).write(outcome, response.headers_mut());
    text(&response)
}

fn request(fields: &[(HeaderName, &str)]) -> HeaderMap {
    fields.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
}

fn refusal(outcome: &Outcome, request: &HeaderMap, dialects: Dialects) -> Response<Bytes> {
    Presentation::from(dialects).refusal(outcome, request, 0)
}

fn unavailable(request: &HeaderMap) -> Response<Bytes> {
    Presentation::default().unavailable(request, 0)
}

#[test]
fn a_200_names_every_rule() {
    let engine = engine(vec![rule("burst", "ip", fixed(100, 60)), rule("daily", "ip", fixed(1_000, 86_400))]);
    let outcome = decide(&engine, &Request(50));
    assert_eq!(
        admitted(&outcome, Dialects::default()),
        "200 OK\n\
         ratelimit-policy: \"burst\";q=100;w=60, \"daily\";q=1000;w=86400\n\
         ratelimit: \"burst\";r=50;t=60, \"daily\";r=950;t=10800\n\
         x-ratelimit-limit: 100\n\
         x-ratelimit-remaining: 50\n\
         x-ratelimit-reset: 1795986060\n\n"
    );
    assert_eq!(
        admitted(&outcome, Dialects::NONE.with(Dialect::Ietf06)),
        "200 OK\nratelimit-limit: 100\nratelimit-remaining: 50\nratelimit-reset: 60\n\n"
    );
    assert_eq!(admitted(&outcome, Dialects::NONE), "200 OK\n\n\n");
}

#[test]
fn a_429_says_when_to_come_again() {
    let engine =
        engine(vec![rule("burst", "ip", bucket(100, 100, 60)), rule("daily", "ip", fixed(1_000, 86_400))]);
    assert!(decide(&engine, &Request(100)).is_admitted());
    // One token takes 0.6 s, 50 take 30 s. The day's reset is later than that, so it goes unsaid.
    let outcome = decide(&engine, &Request(50));
    let fields = "ratelimit-policy: \"burst\";q=100;w=60, \"daily\";q=1000;w=86400\n\
                  ratelimit: \"burst\";r=0;t=30, \"daily\";r=900\n\
                  retry-after: 30\n\
                  x-ratelimit-limit: 100\n\
                  x-ratelimit-remaining: 0\n\
                  x-ratelimit-reset: 1795986060\n\n";
    assert_eq!(
        text(&refusal(&outcome, &HeaderMap::new(), Dialects::default())),
        format!(
            "429 Too Many Requests\n\
             content-language: en\n\
             content-type: application/problem+json\n\
             {fields}\
             {{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
             \"title\":\"Quota Exceeded\",\"status\":429,\
             \"detail\":\"Too many requests: the limit `burst` is used up. Try again in 30 seconds.\",\
             \"violated-policies\":[\"burst\"],\"retry_after\":30}}"
        )
    );
    let plain_spanish =
        request(&[(ACCEPT, "application/json"), (ACCEPT_LANGUAGE, "es-MX,es;q=0.9,en;q=0.1")]);
    assert_eq!(
        text(&refusal(&outcome, &plain_spanish, Dialects::default())),
        format!(
            "429 Too Many Requests\n\
             content-language: es\n\
             content-type: application/json\n\
             {fields}\
             {{\"error\":\"rate_limit_exceeded\",\
             \"message\":\"Demasiadas solicitudes: el límite `burst` está agotado. Inténtelo de nuevo en 30 segundos.\",\
             \"retry_after\":30}}"
        )
    );
}

#[test]
fn the_wait_is_the_whole_requests_and_at_least_a_second() {
    let engine = engine(vec![rule("fast", "ip", bucket(1, 10, 1)), rule("slow", "ip", bucket(1, 1, 60))]);
    assert!(decide(&engine, &Request(1)).is_admitted());
    let response = refusal(&decide(&engine, &Request(1)), &HeaderMap::new(), Dialects::default());
    let text = text(&response);
    assert!(text.contains("retry-after: 60\n"), "{text}");
    assert!(text.contains("ratelimit: \"fast\";r=0;t=1, \"slow\";r=0;t=60\n"), "{text}");
    assert!(text.contains("\"violated-policies\":[\"fast\",\"slow\"]"), "{text}");

    let engine = support::engine(vec![rule("fast", "ip", bucket(1, 10, 1))]);
    assert!(decide(&engine, &Request(1)).is_admitted());
    let response = refusal(&decide(&engine, &Request(1)), &HeaderMap::new(), Dialects::NONE);
    assert_eq!(response.headers()["retry-after"], "1", "100 ms round up");
}

#[test]
fn what_never_fits_is_not_told_to_wait() {
    let engine = engine(vec![rule("burst", "ip", bucket(5, 1, 1)), rule("blocked", "ip", bucket(0, 0, 1))]);
    let response = refusal(&decide(&engine, &Request(1)), &HeaderMap::new(), Dialects::default());
    assert_eq!(
        text(&response),
        "429 Too Many Requests\n\
         content-language: en\n\
         content-type: application/problem+json\n\
         ratelimit-policy: \"burst\";q=5;w=5, \"blocked\";q=0\n\
         ratelimit: \"burst\";r=5;t=0, \"blocked\";r=0;t=0\n\
         x-ratelimit-limit: 0\n\
         x-ratelimit-remaining: 0\n\
         x-ratelimit-reset: 1795986000\n\n\
         {\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\",\
         \"title\":\"Quota Exceeded\",\"status\":429,\
         \"detail\":\"The limit `blocked` can never admit this request: it costs more than the limit can hold. \
         Waiting does not help.\",\
         \"violated-policies\":[\"blocked\"]}"
    );
}

#[test]
fn what_is_missing_is_said() {
    struct Anonymous;
    impl Attributes for Anonymous {}
    let mut source = rule("per-key", "api_key | user", fixed(10, 60));
    source.on_missing = OnMissing::Deny;
    let response =
        refusal(&decide(&engine(vec![source]), &Anonymous), &HeaderMap::new(), Dialects::default());
    assert_eq!(
        text(&response),
        "403 Forbidden\n\
         content-language: en\n\
         content-type: application/problem+json\n\n\
         {\"type\":\"about:blank\",\"title\":\"Forbidden\",\"status\":403,\
         \"detail\":\"The request lacks what the limit `per-key` counts by: api_key | user.\",\
         \"violated-policies\":[\"per-key\"]}"
    );
}

/// What the lists and the credentials settle, as the rule `burst` sees it.
fn settled(path: &'static str, bad: bool) -> Outcome {
    struct Ask(&'static str, bool);
    impl Attributes for Ask {
        fn path(&self) -> Option<&str> {
            Some(self.0)
        }
        fn has_bad_credentials(&self) -> bool {
            self.1
        }
    }
    let entry = |path: &str| ExemptionSource {
        name: "entry".to_owned() + &path.replace('/', "-"),
        matches: MatchSource { path: Some(path.to_owned()), ..MatchSource::default() },
        ..ExemptionSource::default()
    };
    let exemptions = ExemptionsSource { allow: vec![entry("/free")], block: vec![entry("/shut")] };
    let rules = vec![rule("burst", "global", fixed(100, 60))];
    let policy = Policy::compile(PolicySource { rules, exemptions, ..PolicySource::default() }).unwrap();
    let engine = engine(vec![rule("other", "global", fixed(1, 1))]);
    engine.swap_policy(policy);
    decide(&engine, &Ask(path, bad))
}

#[test]
fn what_is_allowed_says_nothing_of_limits() {
    assert_eq!(admitted(&settled("/free", false), Dialects::default()), "200 OK\n\n\n");
}

#[test]
fn what_is_blocked_is_told_so_and_not_by_what() {
    let outcome = settled("/shut", false);
    assert_eq!(
        text(&refusal(&outcome, &HeaderMap::new(), Dialects::default())),
        "403 Forbidden\n\
         content-language: en\n\
         content-type: application/problem+json\n\n\
         {\"type\":\"urn:cupo:problem:blocked\",\"title\":\"Blocked\",\"status\":403,\
         \"detail\":\"Requests like this one are blocked here. Waiting does not help.\"}"
    );
    let plain_spanish = request(&[(ACCEPT, "application/json"), (ACCEPT_LANGUAGE, "es")]);
    assert!(text(&refusal(&outcome, &plain_spanish, Dialects::default())).ends_with(
        "{\"error\":\"blocked\",\
         \"message\":\"Aquí se bloquean las solicitudes como esta. Esperar no ayuda.\"}"
    ));
}

#[test]
fn a_token_that_does_not_hold_is_challenged() {
    let outcome = settled("/", true);
    assert_eq!(
        text(&refusal(&outcome, &HeaderMap::new(), Dialects::default())),
        "401 Unauthorized\n\
         content-language: en\n\
         content-type: application/problem+json\n\
         ratelimit-policy: \"burst\";q=100;w=60\n\
         ratelimit: \"burst\";r=99;t=60\n\
         www-authenticate: Bearer error=\"invalid_token\"\n\
         x-ratelimit-limit: 100\n\
         x-ratelimit-remaining: 99\n\
         x-ratelimit-reset: 1795986060\n\n\
         {\"type\":\"urn:cupo:problem:invalid-token\",\"title\":\"Invalid Token\",\"status\":401,\
         \"detail\":\"The token of this request is not valid here: get a new one, \
         or send the request without a token.\"}"
    );
    let plain_spanish = request(&[(ACCEPT, "application/json"), (ACCEPT_LANGUAGE, "es")]);
    assert!(text(&refusal(&outcome, &plain_spanish, Dialects::default())).ends_with(
        "{\"error\":\"invalid_token\",\
         \"message\":\"El token de esta solicitud no es válido aquí: obtenga uno nuevo, \
         o envíe la solicitud sin token.\"}"
    ));
}

#[test]
fn a_broken_store_is_not_the_callers_fault() {
    assert_eq!(
        text(&unavailable(&HeaderMap::new())),
        "503 Service Unavailable\n\
         content-language: en\n\
         content-type: application/problem+json\n\
         retry-after: 1\n\n\
         {\"type\":\"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity\",\
         \"title\":\"Temporary Reduced Capacity\",\"status\":503,\
         \"detail\":\"The limits cannot be checked right now. Try again in a moment.\",\"retry_after\":1}"
    );
    let plain = request(&[(ACCEPT, "application/json")]);
    assert!(text(&unavailable(&plain)).ends_with(
        "{\"error\":\"temporary_reduced_capacity\",\
         \"message\":\"The limits cannot be checked right now. Try again in a moment.\",\"retry_after\":1}"
    ));
}

#[test]
fn rules_that_only_watch_go_unsaid() {
    let mut watching = rule("watching", "ip", fixed(1, 60));
    watching.action = Action::Shadow;
    assert_eq!(admitted(&decide(&engine(vec![watching]), &Request(1)), Dialects::default()), "200 OK\n\n\n");
}
