//! Requests that are held until their slot. Tokio's clock is paused: it runs when nothing else does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::routing::get as route;
use bytes::Bytes;
use cupo_tower::{CupoLayer, RequestOutcome};
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use parking_lot::Mutex;
use support::{TestEngine, ask, engine, get, serve, shaped};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

const PERIOD: Duration = Duration::from_millis(100);

/// Notes when it is called, and that it was asked whether it is ready before.
#[derive(Clone, Default)]
struct Inner {
    ready: bool,
    calls: Arc<Mutex<Vec<Instant>>>,
}

impl Service<Request<Empty<Bytes>>> for Inner {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Empty<Bytes>>) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "a service is called only when it is ready");
        self.calls.lock().push(Instant::now());
        ready(Ok(Response::new("hola".to_owned())))
    }
}

/// One request from readiness to response.
async fn once(engine: &Arc<TestEngine>, inner: &Inner) -> StatusCode {
    // A clone is not ready because its original was.
    let inner = Inner { ready: false, ..inner.clone() };
    let mut service = CupoLayer::new(Arc::clone(engine)).layer(inner);
    std::future::poll_fn(|cx| Service::<Request<Empty<Bytes>>>::poll_ready(&mut service, cx)).await.unwrap();
    let response = service.call(Request::new(Empty::new())).await.unwrap();
    let outcome = response.extensions().get::<RequestOutcome>().unwrap();
    assert_eq!(outcome.is_admitted(), response.status().is_success());
    response.status()
}

#[tokio::test(start_paused = true)]
async fn output_is_evenly_spaced() {
    let (engine, inner, start) = (engine(vec![shaped(PERIOD, 9)]), Inner::default(), Instant::now());
    let mut statuses = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let (engine, inner) = (Arc::clone(&engine), inner.clone());
        statuses.spawn(async move { once(&engine, &inner).await });
    }
    let statuses = statuses.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == StatusCode::OK).count(), 10);
    assert_eq!(statuses.iter().filter(|status| **status == StatusCode::TOO_MANY_REQUESTS).count(), 2);
    let calls: Vec<u128> = inner.calls.lock().iter().map(|call| (*call - start).as_millis()).collect();
    // Tokio's timers are exact to a millisecond, and never early.
    for (n, at) in (0..10).zip(calls) {
        assert!((n * 100..=n * 100 + 1).contains(&at), "call {n} at {at} ms");
    }
}

async fn a_place_is_given_back(engine: Arc<TestEngine>) {
    let inner = Inner::default();
    assert_eq!(once(&engine, &inner).await, StatusCode::OK);
    let held = tokio::spawn({
        let (engine, inner) = (Arc::clone(&engine), inner.clone());
        async move { once(&engine, &inner).await }
    });
    tokio::time::sleep(PERIOD / 2).await;
    assert_eq!(once(&engine, &inner).await, StatusCode::TOO_MANY_REQUESTS, "the queue is full");

    held.abort();
    assert!(held.await.unwrap_err().is_cancelled());
    engine.store().cancelled.notified().await;
    assert_eq!(once(&engine, &inner).await, StatusCode::OK, "the place of the one that left is free");
    assert_eq!(inner.calls.lock().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_leaves_the_queue_gives_the_place_back() {
    a_place_is_given_back(engine(vec![shaped(PERIOD, 1)])).await;
}

#[tokio::test(start_paused = true)]
async fn also_to_a_store_across_a_network() {
    let engine = engine(vec![shaped(PERIOD, 1)]);
    engine.store().remote.store(true, Ordering::SeqCst);
    a_place_is_given_back(engine).await;
}

#[tokio::test(start_paused = true)]
async fn who_was_served_gives_nothing_back() {
    let (engine, inner) = (engine(vec![shaped(PERIOD, 1)]), Inner::default());
    for _ in 0..2 {
        assert_eq!(once(&engine, &inner).await, StatusCode::OK);
    }
    assert_eq!(
        once(&engine, &inner).await,
        StatusCode::TOO_MANY_REQUESTS,
        "the limiter's clock stands still"
    );
    let cancelled = tokio::time::timeout(PERIOD, engine.store().cancelled.notified()).await;
    assert!(cancelled.is_err(), "nothing was cancelled");
}

#[tokio::test]
async fn a_client_that_hangs_up_gives_its_place_back() {
    // Nobody lives to see the second slot.
    let engine = engine(vec![shaped(Duration::from_secs(86_400), 1)]);
    let layer = CupoLayer::new(Arc::clone(&engine));
    let server = serve(Router::new().route("/", route(|| async {})).layer(layer)).await;
    assert_eq!(ask(server, get("/")).await.status(), StatusCode::OK);
    let held = tokio::spawn(ask(server, get("/")));
    let _both = engine.store().checked.acquire_many(2).await.unwrap();
    held.abort();
    engine.store().cancelled.notified().await;
}
