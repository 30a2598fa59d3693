//! Policies and answers that are swapped while requests go on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use cupo_core::{KeySpec, OnMissing, Policy, PolicySource, Timestamp};
use cupo_http::{
    Claims, Dialects, FieldNames, Identify, Identity, Presentation, PresentationSource, ResetAs,
};
use cupo_tower::{Answers, CupoLayer, RequestOutcome, StatusAnswer};
use http::{HeaderMap, Request, Response};
use http_body_util::Empty;
use support::{TestEngine, TestStore, engine, per_client, shaped};
use tower_layer::Layer;
use tower_service::Service;

/// A service that says hello.
#[derive(Clone)]
struct Hello;

impl Service<Request<Empty<Bytes>>> for Hello {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Ready<Result<Response<()>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Empty<Bytes>>) -> Self::Future {
        ready(Ok(Response::new(())))
    }
}

/// Everybody is the user of this name.
#[derive(Debug)]
struct Is(&'static str);

impl Identify for Is {
    fn identify(&self, _: &HeaderMap, _: Timestamp) -> Identity {
        Identity::Known(Arc::new(Claims::new([("sub", self.0)]).with_user(self.0)))
    }
}

fn policy(count: u64) -> Arc<Policy> {
    let rules = vec![per_client("all", count)];
    Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap()
}

/// The limit in this field, and in no other.
fn field(name: &str) -> Answers {
    let mut source = PresentationSource { dialects: Dialects::NONE, ..PresentationSource::default() };
    source.names.push(FieldNames::new(Some(name), None, None, ResetAs::Epoch).unwrap());
    Answers::default().presentation(Arc::new(Presentation::new(source).unwrap()))
}

type Limited = <CupoLayer<TestStore, cupo_core::ManualClock> as Layer<Hello>>::Service;

async fn once(service: &mut Limited) -> Response<()> {
    service.call(Request::new(Empty::new())).await.unwrap().map(|_| ())
}

/// The fields of a response that begin with `x-`, with their values.
fn said(response: &Response<()>) -> Vec<(String, String)> {
    let fields = response.headers().iter();
    let fields = fields.map(|(name, value)| (name.as_str().to_owned(), value.to_str().unwrap().to_owned()));
    fields.filter(|(name, _)| name.starts_with("x-")).collect()
}

fn pair(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

fn limited(engine: &Arc<TestEngine>, answers: Answers) -> CupoLayer<TestStore, cupo_core::ManualClock> {
    CupoLayer::new(Arc::clone(engine)).answers(answers)
}

#[tokio::test]
async fn every_service_of_the_layer_goes_by_what_was_swapped() {
    let engine = engine(vec![per_client("all", 5)]);
    let layer = limited(&engine, field("x-a"));
    let mut first = layer.layer(Hello);
    let (mut second, mut clone) = (layer.clone().layer(Hello), first.clone());
    let handle = layer.reload_handle();
    assert_eq!(said(&once(&mut first).await), pair("x-a", "5"));
    handle.swap(policy(7), field("x-b"));
    for service in [&mut first, &mut second, &mut clone] {
        assert_eq!(said(&once(service).await), pair("x-b", "7"));
    }
    // The counter went on.
    let response = once(&mut first).await;
    let outcome = response.extensions().get::<RequestOutcome>().unwrap();
    assert_eq!(outcome.decisions().next().unwrap().decision.remaining, 2);
    assert_eq!(outcome.in_force().generation(), 1);
    // Who swaps the policy by itself keeps the answers, and the other way round nothing is lost.
    engine.swap_policy(policy(9));
    assert_eq!(said(&once(&mut second).await), pair("x-b", "9"));
    handle.swap(policy(8), handle.answers());
    assert_eq!(said(&once(&mut second).await), pair("x-b", "8"));
    // A layer with answers of its own keeps them.
    let mut other = limited(&engine, field("x-c")).layer(Hello);
    handle.swap(policy(6), field("x-d"));
    assert_eq!(said(&once(&mut other).await), pair("x-c", "6"));
    assert_eq!(said(&once(&mut clone).await), pair("x-d", "6"));
}

#[tokio::test]
async fn callers_are_known_and_told_by_what_was_swapped() {
    let mut rule = per_client("all", 5);
    rule.key = KeySpec::parse(&["user"]).unwrap();
    rule.on_missing = OnMissing::Skip;
    let engine = engine(vec![rule]);
    let layer = limited(&engine, Answers::default().status_at("/limits").identify_by(Arc::new(Is("ada"))));
    let mut service = layer.layer(Hello);
    let mut asked = async |path: &str| {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = path.parse().unwrap();
        let response = service.call(request).await.unwrap();
        let told = response.extensions().get::<StatusAnswer>().is_some();
        let counted = response.extensions().get::<RequestOutcome>().map(|o| o.decisions().count());
        (told, counted)
    };
    assert_eq!(asked("/limits").await, (true, None));
    assert_eq!(asked("/quota").await, (false, Some(1)), "of the user");
    layer.reload_handle().swap(engine.policy(), Answers::default().status_at("/quota"));
    assert_eq!(asked("/limits").await, (false, Some(0)), "nobody is known");
    assert_eq!(asked("/quota").await, (true, None));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_held_is_answered_by_what_it_began_with() {
    let engine = engine(vec![shaped(Duration::from_secs(1), 3)]);
    let layer = limited(&engine, field("x-a"));
    let mut service = layer.layer(Hello);
    once(&mut service).await;
    let held = service.call(Request::new(Empty::new()));
    tokio::pin!(held);
    assert!(tokio::time::timeout(Duration::from_millis(10), &mut held).await.is_err(), "it is held");
    layer.reload_handle().swap(policy(5), field("x-b"));
    assert_eq!(said(&once(&mut service).await), pair("x-b", "5"));
    let response = held.await.unwrap().map(|_| ());
    assert_eq!(said(&response), pair("x-a", "4"), "of the leaky bucket");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_request_sees_half_of_a_swap() {
    let engine = engine(vec![per_client("all", 1_000_001)]);
    let layer = limited(&engine, field("x-1000001"));
    let handles = [layer.reload_handle(), layer.reload_handle()];
    let done = Arc::new(AtomicBool::new(false));
    let askers: Vec<_> = (0..3)
        .map(|_| {
            let (mut service, done) = (layer.layer(Hello), Arc::clone(&done));
            tokio::spawn(async move {
                let mut seen = std::collections::HashSet::new();
                while !done.load(Ordering::SeqCst) {
                    let said = said(&once(&mut service).await);
                    let [(name, value)] = said.as_slice() else { panic!("{said:?}") };
                    assert_eq!(name.strip_prefix("x-"), Some(value.as_str()), "{said:?}");
                    seen.insert(value.clone());
                    tokio::task::yield_now().await;
                }
                seen.len()
            })
        })
        .collect();
    // Two swap at the same time.
    let swappers = handles.into_iter().zip([1_000_002, 1_000_003]).map(|(handle, count)| {
        std::thread::spawn(move || {
            for turn in 0..1_000 {
                let count = if turn % 2 == 0 { count } else { 1_000_001 };
                handle.swap(policy(count), field(&format!("x-{count}")));
            }
        })
    });
    let swappers: Vec<_> = swappers.collect();
    tokio::task::spawn_blocking(move || swappers.into_iter().for_each(|by| by.join().unwrap()))
        .await
        .unwrap();
    done.store(true, Ordering::SeqCst);
    for asker in askers {
        assert!(asker.await.unwrap() >= 2, "it has seen several");
    }
    assert_eq!(engine.generation(), 2_000);
}
