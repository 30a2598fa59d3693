//! What becomes of reservations, in a program that has the layer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::convert::Infallible;
use std::future::{Pending, Ready, pending, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use cupo_core::{Attributes, ChargeSource, CostSource, RuleSource};
use cupo_tower::{CupoLayer, NoAnswer};
use http::{Request, Response};
use http_body_util::{Empty, Full};
use support::{TestEngine, engine, per_client};
use tower_layer::Layer;
use tower_service::Service;

/// Answers every request with what this makes.
#[derive(Clone)]
struct Answers(fn() -> Response<String>);

impl<B> Service<Request<B>> for Answers {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok((self.0)()))
    }
}

/// Fails every request, or never answers.
#[derive(Clone)]
struct Fails;
#[derive(Clone)]
struct Hangs;

impl<B> Service<Request<B>> for Fails {
    type Response = Response<String>;
    type Error = &'static str;
    type Future = Ready<Result<Response<String>, &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Err("no"))
    }
}

impl<B> Service<Request<B>> for Hangs {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Pending<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        pending()
    }
}

/// A rule that counts `count` units, and waits for responses in both ways.
fn waiting(count: u64) -> Arc<TestEngine> {
    let cost = CostSource::Response { header: "x-cost".to_owned(), reserve: 10 };
    let charge = ChargeSource::OnResponse([200..=299].into_iter().collect());
    engine(vec![RuleSource { cost, charge, ..per_client("work", count) }])
}

struct Nobody;

impl Attributes for Nobody {
    fn cost(&self) -> u64 {
        0
    }
}

async fn left(engine: &TestEngine) -> u64 {
    let peek = engine.decide(&Nobody).await.unwrap();
    peek.binding().unwrap().decision.remaining
}

/// Sends a request through the layer; what is left then, once all that was begun is done.
async fn after<Inner>(engine: &Arc<TestEngine>, inner: Inner) -> u64
where
    Inner: Service<Request<Empty<Bytes>>, Response = Response<String>> + Clone,
{
    let mut service = CupoLayer::new(Arc::clone(engine)).layer(inner);
    let _ = service.call(Request::new(Empty::new())).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    left(engine).await
}

#[tokio::test]
async fn the_head_of_the_response_settles() {
    let engine = waiting(100);
    assert_eq!(
        after(&engine, Answers(|| Response::builder().header("x-cost", 4).body(String::new()).unwrap()))
            .await,
        96
    );
    assert_eq!(
        after(
            &engine,
            Answers(|| Response::builder().status(404).header("x-cost", 4).body(String::new()).unwrap())
        )
        .await,
        96
    );
    assert_eq!(
        after(&engine, Answers(|| Response::builder().header("x-cost", 30).body(String::new()).unwrap()))
            .await,
        66
    );
    assert_eq!(after(&engine, Answers(|| Response::new(String::new()))).await, 56);
}

#[tokio::test]
async fn what_is_no_answer_of_the_services_goes_by_what_is_known() {
    let engine = waiting(100);
    assert_eq!(after(&engine, Answers(|| no_answer(NoAnswer::NotServed))).await, 100);
    assert_eq!(after(&engine, Answers(|| no_answer(NoAnswer::MayBeServed))).await, 90);
    assert_eq!(after(&engine, Fails).await, 80);
}

fn no_answer(no_answer: NoAnswer) -> Response<String> {
    let mut response = Response::builder().status(200).header("x-cost", 1).body(String::new()).unwrap();
    response.extensions_mut().insert(no_answer);
    response
}

#[tokio::test]
async fn whoever_hangs_up_has_paid() {
    let engine = waiting(100);
    let mut service = CupoLayer::new(Arc::clone(&engine)).layer(Hangs);
    let mut request = Box::pin(service.call(Request::new(Empty::<Bytes>::new())));
    while left(&engine).await == 100 {
        let _ = std::future::poll_fn(|cx| Poll::Ready(request.as_mut().poll(cx).is_ready())).await;
        tokio::task::yield_now().await;
    }
    drop(request);
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(left(&engine).await, 90);
}

#[tokio::test]
async fn a_body_is_as_long_as_it_is_framed() {
    let cost = CostSource::Body { unit: 4, max: 30 };
    let engine = engine(vec![RuleSource { cost, ..per_client("upload", 100) }]);
    let mut service = CupoLayer::new(Arc::clone(&engine)).layer(Answers(|| Response::new(String::new())));
    let mut rest = 100;
    for (body, said, cost) in [("", "9", 1), ("abcd", "1", 1), ("abcde", "1", 2), ("abcdefghi", "0", 3)] {
        let request =
            Request::builder().header("content-length", said).body(Full::new(Bytes::from(body))).unwrap();
        service.call(request).await.unwrap();
        rest -= cost;
        assert_eq!(left(&engine).await, rest, "{body:?}: whatever a header says");
    }
}
