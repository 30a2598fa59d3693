//! What the layer costs per request: `cargo run --release -p cupo-tower --example layer_cost`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measurement for people")]
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use cupo_core::{Engine, KeySpec, Limit, Policy, PolicySource, Rate, RuleSource};
use cupo_http::{Dialects, RequestAttributes};
use cupo_store_memory::MemoryStore;
use cupo_tower::{CupoLayer, PeerAddr};
use http::{Request, Response};
use http_body_util::Empty;
use tower_layer::Layer;
use tower_service::Service;

/// Few enough to finish within one turn on a busy core; the best of many turns counts.
const ROUNDS: u32 = 1_000;

fn measure<T>(name: &str, mut work: impl FnMut() -> T) {
    let turn = |_| {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(work());
        }
        start.elapsed() / ROUNDS
    };
    println!("{name:<44} {:?}", (0..300).map(turn).min().unwrap());
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here is pending"),
    }
}

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

fn request() -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    request.extensions_mut().insert(PeerAddr(SocketAddr::from(([192, 0, 2, 1], 1))));
    request
}

fn engine(capacity: u64, rules: &[&str]) -> Arc<Engine<MemoryStore>> {
    let limit = Limit::token_bucket(capacity, Rate::new(capacity, Duration::from_secs(1))).unwrap();
    let rule = |name: &&str| RuleSource::new(name, KeySpec::parse(&["ip"]).unwrap(), limit);
    let source = PolicySource { rules: rules.iter().map(rule).collect(), ..PolicySource::default() };
    Arc::new(Engine::new(Policy::compile(source).unwrap(), MemoryStore::new()))
}

fn main() {
    measure("a request and its response", || wait(Hello.call(request())));
    for rules in [&["burst"][..], &["burst", "daily"]] {
        let count = rules.len();
        let engine = engine(1_000_000_000, rules);
        let (head, _) = request().into_parts();
        let policy = engine.policy();
        measure(&format!("{count} rules: the decision alone"), || {
            let attributes =
                RequestAttributes::new(&head, Some(IpAddr::from([192, 0, 2, 1])), policy.trust());
            wait(engine.decide(&attributes)).unwrap().is_admitted()
        });
        measure(&format!("{count} rules: the decision, boxed"), || {
            let attributes =
                RequestAttributes::new(&head, Some(IpAddr::from([192, 0, 2, 1])), policy.trust());
            let decision: Pin<Box<dyn Future<Output = _>>> = Box::pin(engine.decide(&attributes));
            wait(decision).unwrap().is_admitted()
        });
        let mut service = CupoLayer::new(Arc::clone(&engine)).dialects(Dialects::NONE).layer(Hello);
        measure(&format!("{count} rules: through the layer, no fields"), || wait(service.call(request())));
        let mut service = CupoLayer::new(engine).layer(Hello);
        measure(&format!("{count} rules: through the layer"), || wait(service.call(request())));
    }
    let mut service = CupoLayer::new(engine(0, &["closed"])).layer(Hello);
    measure("refused", || wait(service.call(request())));
}
