//! Limits over real connections.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::routing::get as route;
use axum::{Extension, Router};
use bytes::Bytes;
use cupo_core::{Clock, KeySpec, OnStoreError, RuleSource, Trust};
use cupo_http::{Advice, Dialect, Dialects, Peer};
use cupo_tower::{CupoLayer, PeerAddr};
use http::{Extensions, Request, StatusCode};
use http_body_util::Empty;
use hyper::server::conn::http2 as http2_server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use support::{TestEngine, ask, engine, get, per_client, serve, trusting};
use tokio::task::JoinSet;
use tower_layer::Layer;
use tower_service::Service;

fn connected(extensions: &Extensions) -> Peer {
    extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip()).into()
}

fn app(engine: &Arc<TestEngine>) -> Router {
    let layer = CupoLayer::new(Arc::clone(engine)).peer_by(connected);
    Router::new().route("/", route(|| async { "hola" })).layer(layer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_connections_share_one_limit() {
    let (served, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let handler = {
        let served = Arc::clone(&served);
        move || async move { served.fetch_add(1, Ordering::SeqCst).to_string() }
    };
    let layer = CupoLayer::new(engine(vec![per_client("burst", 10)])).peer_by(connected);
    let server = serve(Router::new().route("/", route(handler)).layer(layer)).await;

    let clients: Vec<_> = (0..50)
        .map(|_| {
            let seen = Arc::clone(&seen);
            tokio::spawn(async move {
                let response = ask(server, get("/")).await;
                match response.status() {
                    StatusCode::OK => seen.fetch_add(1, Ordering::SeqCst),
                    StatusCode::TOO_MANY_REQUESTS => 0,
                    other => panic!("unexpected: {other}"),
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(seen.load(Ordering::SeqCst), 10);
    assert_eq!(served.load(Ordering::SeqCst), 10, "the refused never reach the service");
}

#[tokio::test]
async fn every_response_says_what_is_left_and_a_429_when_to_come_again() {
    let engine = engine(vec![per_client("burst", 2)]);
    let server = serve(app(&engine)).await;

    let response = ask(server, get("/")).await;
    assert_eq!((response.status(), &response.body()[..]), (StatusCode::OK, &b"hola"[..]));
    assert_eq!(response.headers()["ratelimit-policy"], "\"burst\";q=2;w=60");
    assert_eq!(response.headers()["ratelimit"], "\"burst\";r=1;t=60");
    assert_eq!(response.headers()["x-ratelimit-remaining"], "1");

    let missing = ask(server, get("/nowhere")).await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    assert_eq!(missing.headers()["ratelimit"], "\"burst\";r=0;t=60");

    engine.clock().advance(Duration::from_millis(20_500));
    let refused = ask(server, get("/")).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()["retry-after"], "40");
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
    assert_eq!(refused.headers()["content-length"], refused.body().len().to_string().as_str());
    assert!(
        refused
            .body()
            .starts_with(b"{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\"")
    );

    let advice = Advice::read(refused.headers(), engine.clock().now());
    engine.clock().advance(advice.wait().unwrap());
    assert_eq!(ask(server, get("/")).await.status(), StatusCode::OK, "obeying is enough");
}

#[tokio::test]
async fn clones_of_a_layer_share_its_state() {
    let engine = engine(vec![per_client("burst", 1)]);
    let (one, other) = (serve(app(&engine)).await, serve(app(&engine)).await);
    assert_eq!(ask(one, get("/")).await.status(), StatusCode::OK);
    assert_eq!(ask(other, get("/")).await.status(), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn dialects_are_a_choice() {
    let layer =
        CupoLayer::new(engine(vec![per_client("burst", 1)])).dialects(Dialects::NONE.with(Dialect::Ietf06));
    let server = serve(Router::new().route("/", route(|| async {})).layer(layer)).await;
    let response = ask(server, get("/")).await;
    let mut names: Vec<_> = response.headers().keys().map(|name| name.as_str()).collect();
    names.retain(|name| name.contains("limit"));
    names.sort_unstable();
    assert_eq!(names, ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]);
}

#[tokio::test]
async fn a_broken_store_is_a_503_that_is_not_the_callers_fault() {
    let engine = engine(vec![RuleSource { on_store_error: OnStoreError::Deny, ..per_client("burst", 1) }]);
    let server = serve(app(&engine)).await;
    engine.store().broken.store(true, Ordering::SeqCst);
    let response = ask(server, get("/")).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["retry-after"], "1");
    assert!(!response.headers().contains_key("ratelimit"));
    engine.store().broken.store(false, Ordering::SeqCst);
    assert_eq!(ask(server, get("/")).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_rule_may_pass_over_a_broken_store() {
    let engine = engine(vec![RuleSource { on_store_error: OnStoreError::Allow, ..per_client("burst", 1) }]);
    let server = serve(app(&engine)).await;
    engine.store().broken.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        let response = ask(server, get("/")).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert!(!response.headers().contains_key("ratelimit"), "nobody knows what is left");
    }
}

#[tokio::test]
async fn a_store_across_a_network_is_waited_for() {
    let engine = engine(vec![per_client("burst", 1)]);
    engine.store().remote.store(true, Ordering::SeqCst);
    let server = serve(app(&engine)).await;
    assert_eq!(ask(server, get("/")).await.status(), StatusCode::OK);
    assert_eq!(ask(server, get("/")).await.status(), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn only_a_trusted_peer_speaks_for_others() {
    let ask_as = async |server, client: &str| {
        let mut request = get("/");
        request.headers_mut().insert("x-forwarded-for", client.parse().unwrap());
        ask(server, request).await.status()
    };
    let stranger = serve(app(&engine(vec![per_client("burst", 1)]))).await;
    assert_eq!(ask_as(stranger, "203.0.113.1").await, StatusCode::OK);
    assert_eq!(ask_as(stranger, "203.0.113.2").await, StatusCode::TOO_MANY_REQUESTS);

    let trust = Trust { proxies: vec!["127.0.0.0/8".parse().unwrap()].into(), ..Trust::default() };
    let trusted = serve(app(&trusting(trust, vec![per_client("burst", 1)]))).await;
    assert_eq!(ask_as(trusted, "203.0.113.1").await, StatusCode::OK);
    assert_eq!(ask_as(trusted, "203.0.113.2").await, StatusCode::OK);
    assert_eq!(ask_as(trusted, "6.6.6.6, 203.0.113.2").await, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn the_address_may_come_from_any_server() {
    let engine = engine(vec![per_client("burst", 1)]);
    let from = async |address: [u8; 4]| {
        let peer = Extension(PeerAddr(SocketAddr::from((address, 1))));
        let routes = Router::new().route("/", route(|| async {}));
        serve(routes.layer(CupoLayer::new(Arc::clone(&engine))).layer(peer)).await
    };
    let (one, other) = (from([203, 0, 113, 1]).await, from([203, 0, 113, 2]).await);
    assert_eq!(ask(one, get("/")).await.status(), StatusCode::OK);
    assert_eq!(ask(other, get("/")).await.status(), StatusCode::OK);
    assert_eq!(ask(other, get("/")).await.status(), StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn streams_of_one_connection_share_the_limit_too() {
    let per_host = RuleSource { key: KeySpec::parse(&["host"]).unwrap(), ..per_client("host", 10) };
    let service = CupoLayer::new(engine(vec![per_host])).layer(Router::new().route("/", route(|| async {})));
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = service_fn(move |request| service.clone().call(request));
    let server = http2_server::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(far), server);
    tokio::spawn(server);
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near)).await.unwrap();
    tokio::spawn(connection);

    let mut streams = JoinSet::new();
    for n in 0..40 {
        let (mut sender, host) = (sender.clone(), if n % 2 == 0 { "a.example" } else { "b.example" });
        let request = Request::get(format!("http://{host}/")).body(Empty::<Bytes>::new()).unwrap();
        streams.spawn(async move { (host, sender.send_request(request).await.unwrap().status()) });
    }
    let answers = streams.join_all().await;
    for host in ["a.example", "b.example"] {
        let passed = answers.iter().filter(|answer| **answer == (host, StatusCode::OK)).count();
        assert_eq!(passed, 10, "{host}");
    }
}

#[tokio::test]
async fn a_preflight_is_counted_where_it_has_a_body_whatever_its_fields_say() {
    let layer = CupoLayer::new(engine(vec![per_client("one", 1)]));
    let mut app = Router::new().fallback(|| async { "hola" }).layer(layer);
    let mut preflight = async |body: axum::body::Body| {
        let request = Request::options("/")
            .header("origin", "https://a.example")
            .header("access-control-request-method", "PUT");
        app.call(request.body(body).unwrap()).await.unwrap().status()
    };
    for _ in 0..3 {
        assert_eq!(preflight(axum::body::Body::empty()).await, StatusCode::OK);
    }
    // HTTP/2 needs no Content-Length.
    assert_eq!(preflight("expensive".into()).await, StatusCode::OK);
    assert_eq!(preflight("expensive".into()).await, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(preflight(axum::body::Body::empty()).await, StatusCode::OK);
}
