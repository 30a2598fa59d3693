//! What would become of a request: what the layer says is what it then does, to the last header.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use cupo_core::{
    Engine, ExemptionSource, ExemptionsSource, ManualClock, MatchSource, OnMissing, OnStoreError, Policy,
    PolicySource, Timestamp, Trust,
};
use cupo_http::{
    Claims, ExplainedRequest, HeaderLines, Identify, Identity, Presentation, PresentationSource, Question,
};
use cupo_tower::{Answers, CupoLayer, PeerAddr};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use support::{NOW, TestStore, per_client, shaped};
use tower_layer::Layer;
use tower_service::Service;

/// A service that says hello.
#[derive(Clone)]
struct Hello;

impl Service<Request<Full<Bytes>>> for Hello {
    type Response = http::Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Full<Bytes>>) -> Self::Future {
        ready(Ok(http::Response::new(Full::new(Bytes::from_static(b"hello")))))
    }
}

/// Who says `x-bad` has a token that does not hold, and who says `x-ada` is ada.
#[derive(Debug)]
struct BySaying;

impl Identify for BySaying {
    fn identify(&self, headers: &HeaderMap, _: Timestamp) -> Identity {
        if headers.contains_key("x-bad") {
            return Identity::Refused;
        }
        if headers.contains_key("x-ada") {
            let claims = Claims::new([("sub", "ada")]).with_user("ada");
            return Identity::Known(Arc::new(claims));
        }
        Identity::Anonymous
    }
}

type Limited = CupoLayer<TestStore, ManualClock>;

fn layer(source: PolicySource) -> (Limited, Arc<Engine<TestStore, ManualClock>>) {
    let policy = Policy::compile(source).unwrap();
    let engine = Engine::new(policy, TestStore::default()).with_clock(ManualClock::at(NOW));
    let engine = Arc::new(engine);
    let presentation = Presentation::new(PresentationSource::default()).unwrap();
    let answers = Answers::default()
        .presentation(Arc::new(presentation))
        .status_at("/limits")
        .identify_by(Arc::new(BySaying));
    (CupoLayer::new(Arc::clone(&engine)).answers(answers), engine)
}

/// Explains a request, sends it, and compares; what was explained.
async fn explained_and_sent(layer: &Limited, question: &Question) -> ExplainedRequest {
    let explained = layer.reload_handle().explain(question).await.unwrap();
    let peer: SocketAddr = format!("{}:99", question.peer.as_deref().unwrap_or("127.0.0.1")).parse().unwrap();
    let mut request = Request::from_parts(question.head().unwrap(), Full::new(Bytes::new()));
    request.extensions_mut().insert(PeerAddr(peer));
    let response = layer.layer(Hello).call(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let headers: Vec<(String, String)> = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.to_str().unwrap().to_owned()))
        .collect();
    let refused = explained.response.status.is_some();
    assert_eq!(explained.response.status.unwrap_or(200), head.status.as_u16(), "{explained}");
    assert_eq!(explained.response.headers, headers, "{explained}");
    assert_eq!(explained.response.body.as_deref(), refused.then_some(&*body), "{explained}");
    let json = serde_json::to_string(&explained).unwrap();
    assert_eq!(serde_json::from_str::<ExplainedRequest>(&json).unwrap(), explained, "{json}");
    explained
}

fn with(path: &str, headers: &[(&str, &str)]) -> Question {
    let mut question = Question::about(path);
    headers.iter().for_each(|(name, value)| question.add_header(name, value));
    question
}

#[tokio::test(start_paused = true)]
async fn what_is_explained_is_what_is_answered() {
    let path = |path: &str| MatchSource { path: Some(path.to_owned()), ..MatchSource::default() };
    let entry = |name: &str, matches| ExemptionSource {
        name: name.to_owned(),
        matches,
        ..ExemptionSource::default()
    };
    let mut by_user = per_client("by-user", 5);
    by_user.key = cupo_core::KeySpec::parse(&["user"]).unwrap();
    by_user.on_missing = OnMissing::Deny;
    by_user.matches = path("/account/**");
    let mut held = shaped(Duration::from_secs(1), 2);
    held.matches = path("/held");
    let (layer, _) = layer(PolicySource {
        rules: vec![per_client("all", 3), by_user, held],
        exemptions: ExemptionsSource {
            allow: vec![entry("health", path("/healthz"))],
            block: vec![entry("gone", path("/v1/**"))],
        },
        ..PolicySource::default()
    });
    let (mut verdicts, mut held) = (Vec::new(), Vec::new());
    for question in [
        with("/", &[]),
        with("/account", &[]),
        with("/account", &[("x-ada", "1")]),
        with("/", &[("x-bad", "1")]),
        with("/?page=2", &[("accept-language", "es"), ("accept", "application/json")]),
        with("/", &[("content-type", "application/grpc")]),
        with("/", &[("x-bad", "1")]),
        with("/healthz", &[]),
        with("/v1/x", &[]),
        Question { peer: Some("192.0.2.8".to_owned()), ..with("/held", &[]) },
        Question { peer: Some("192.0.2.8".to_owned()), ..with("/held", &[]) },
        Question {
            method: Some("OPTIONS".to_owned()),
            ..with("/", &[("origin", "https://a.example"), ("access-control-request-method", "PUT")])
        },
    ] {
        let explained = explained_and_sent(&layer, &question).await;
        held.push(explained.delay_us);
        let settled = explained.settled.map(|settled| settled.by);
        verdicts.push((explained.verdict, explained.binding, settled.unwrap_or_default()));
    }
    let verdict = |verdict: &str, binding: Option<&str>, settled: &str| {
        (verdict.to_owned(), binding.map(ToOwned::to_owned), settled.to_owned())
    };
    assert_eq!(held, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000_000, 0]);
    assert_eq!(
        verdicts,
        [
            verdict("admit", Some("all"), ""),
            verdict("refuse", Some("by-user"), "missing"),
            verdict("admit", Some("all"), ""),
            verdict("refuse", Some("all"), "bad_credentials"),
            verdict("deny", Some("all"), ""),
            verdict("deny", Some("all"), ""),
            verdict("deny", Some("all"), ""),
            verdict("admit", None, "allow"),
            verdict("refuse", None, "block"),
            verdict("admit", Some("all"), ""),
            verdict("admit", Some("all"), ""),
            verdict("admit", None, "uncounted"),
        ]
    );
}

#[tokio::test]
async fn without_the_store_it_says_what_rules_do_then() {
    for (action, verdict, status) in
        [(OnStoreError::Allow, "admit", None), (OnStoreError::Deny, "unavailable", Some(503))]
    {
        let mut rule = per_client("all", 3);
        rule.on_store_error = action;
        let (layer, engine) = layer(PolicySource { rules: vec![rule], ..PolicySource::default() });
        engine.store().broken.store(true, Ordering::SeqCst);
        let explained = explained_and_sent(&layer, &Question::about("/")).await;
        assert_eq!((explained.verdict.as_str(), explained.response.status), (verdict, status));
        assert!(explained.store_error.is_some());
        assert!(explained.to_string().contains("the store cannot decide"), "{explained}");
    }
}

#[tokio::test]
async fn the_status_endpoint_is_told_apart_and_the_caller_is_known() {
    let trust = Trust { proxies: vec!["10.0.0.0/8".parse().unwrap()].into(), ..Trust::default() };
    let (layer, _) =
        layer(PolicySource { trust, rules: vec![per_client("all", 3)], ..PolicySource::default() });
    let handle = layer.reload_handle();
    let explained = handle.explain(&Question::about("/limits")).await.unwrap();
    assert_eq!((explained.verdict.as_str(), explained.rules[0].applies), ("status", false));
    let ask = async |peer: &str, headers: &[(&str, &str)]| {
        let question = Question { peer: Some(peer.to_owned()), ..with("/", headers) };
        handle.explain(&question).await.unwrap().caller
    };
    let proxied = ask("10.0.0.1", &[("x-forwarded-for", "203.0.113.9, 10.0.0.2"), ("x-user", "ada")]).await;
    assert_eq!(proxied.client.as_deref(), Some("203.0.113.9"));
    assert_eq!(proxied.client_by, "from x-forwarded-for, by the word of a trusted proxy");
    assert_eq!((proxied.user.as_deref(), proxied.diagnostics.len()), (Some("ada"), 0));
    let stranger = ask("192.0.2.1", &[("x-forwarded-for", "203.0.113.9"), ("x-user", "ada")]).await;
    assert_eq!((stranger.client.as_deref(), stranger.user), (Some("192.0.2.1"), None));
    let codes: Vec<&str> = stranger.diagnostics.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["CUPO-T001", "CUPO-T002"]);
    let unix = ask("unix", &[]).await;
    assert_eq!((unix.client, unix.peer.as_str()), (None, "unix"));
}

#[test]
fn a_question_that_is_no_request_is_told() {
    let bad = |json: &str| {
        let question: Result<Question, _> = serde_json::from_str(json);
        match question {
            Err(error) => error.to_string(),
            Ok(question) => match question.head().and_then(|_| question.peer()) {
                Err(error) => error.to_string(),
                Ok(peer) => format!("{peer:?}"),
            },
        }
    };
    for (json, says) in [
        (r#"{"path":"/"}"#, "Address(127.0.0.1)"),
        (r#"{"path":"/","peer":"[2001:db8::1]","relayed":true}"#, "Relayed(2001:db8::1)"),
        (r#"{}"#, "missing field `path`"),
        (r#"{"path":"/","cost":1}"#, "unknown field `cost`"),
        (r#"{"path":"orders"}"#, "`orders` is no path"),
        (r#"{"path":"/a b"}"#, "`/a b` is no path"),
        (r#"{"path":"/","method":"GE T"}"#, "`GE T` is no method"),
        (r#"{"path":"/","peer":"host.example"}"#, "`host.example` is no peer"),
        (r#"{"path":"/","headers":{"a b":"c"}}"#, "`a b` is no header name"),
        (r#"{"path":"/","headers":{"x-key":["a","s3cret\n"]}}"#, "Address(127.0.0.1)"),
        (r#"{"path":"/","headers":{"x-key":["a","s3\ncret"]}}"#, "the value of the header x-key"),
        (r#"{"path":"/","host":"a","headers":{"Host":"b"}}"#, "the host is said twice"),
    ] {
        let told = bad(json);
        assert!(told.starts_with(says), "{json}: {told}");
        assert!(!told.contains("cret"), "{told}");
    }
    let mut question = Question::about("/");
    ["1", "2", "3"].iter().for_each(|value| question.add_header("x-a", value));
    let lines = HeaderLines::Several(["1", "2", "3"].map(ToOwned::to_owned).to_vec());
    assert_eq!(question.headers.get("x-a"), Some(&lines));
    assert_eq!(serde_json::to_string(&question).unwrap(), r#"{"path":"/","headers":{"x-a":["1","2","3"]}}"#);
}
