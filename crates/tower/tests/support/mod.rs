//! Engines on a store that can be watched and broken, and clients of a few lines.

#![allow(dead_code, reason = "no test uses all of it")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use cupo_core::{
    Action, Check, CheckItem, Engine, Executed, KeySpec, Limit, ManualClock, Policy, PolicySource, Preview,
    Rate, RuleSource, Settlement, Store, StoreError, Timestamp, Trust, Uncovered,
};
use cupo_store_memory::MemoryStore;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};

/// 2026-11-29 21:00:00 UTC.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_795_986_000_000_000);

/// The memory store, with a plug to pull.
pub(crate) struct TestStore {
    store: MemoryStore,
    /// It answers nothing but errors.
    pub(crate) broken: AtomicBool,
    /// It is pending first, like a store across a network.
    pub(crate) remote: AtomicBool,
    /// Checks that were decided.
    pub(crate) checked: Semaphore,
    /// It was asked to take back a slot.
    pub(crate) cancelled: Notify,
}

impl Default for TestStore {
    fn default() -> Self {
        Self {
            store: MemoryStore::new(),
            broken: AtomicBool::new(false),
            remote: AtomicBool::new(false),
            checked: Semaphore::new(0),
            cancelled: Notify::new(),
        }
    }
}

impl TestStore {
    async fn travel(&self) {
        if self.remote.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    }
}

impl Store for TestStore {
    async fn check(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        self.travel().await;
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable);
        }
        let executed = Store::check(&self.store, check, now).await;
        self.checked.add_permits(1);
        executed
    }

    async fn preview(&self, check: &Check, now: Timestamp) -> Result<Preview, StoreError> {
        self.travel().await;
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable);
        }
        Store::preview(&self.store, check, now).await
    }

    async fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) -> Result<(), StoreError> {
        self.travel().await;
        let result = Store::cancel(&self.store, item, now, end).await;
        self.cancelled.notify_one();
        result
    }

    async fn carry(&self, from: &CheckItem, to: &CheckItem, now: Timestamp) -> Result<(), StoreError> {
        Store::carry(&self.store, from, to, now).await
    }

    async fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Result<Uncovered, StoreError> {
        self.travel().await;
        Store::settle(&self.store, settlements, now).await
    }
}

pub(crate) type TestEngine = Engine<TestStore, ManualClock>;

/// An engine at [`NOW`] with these rules, which trusts nobody.
pub(crate) fn engine(rules: Vec<RuleSource>) -> Arc<TestEngine> {
    trusting(Trust::default(), rules)
}

pub(crate) fn trusting(trust: Trust, rules: Vec<RuleSource>) -> Arc<TestEngine> {
    let policy = Policy::compile(PolicySource { trust, rules, ..PolicySource::default() }).unwrap();
    Arc::new(Engine::new(policy, TestStore::default()).with_clock(ManualClock::at(NOW)))
}

/// At most `count` per minute and client.
pub(crate) fn per_client(name: &str, count: u64) -> RuleSource {
    let limit = Limit::fixed_window(count, Duration::from_secs(60)).unwrap();
    RuleSource::new(name, KeySpec::parse(&["ip"]).unwrap(), limit)
}

/// One for all: one request per `period`, of which `queue` wait.
pub(crate) fn shaped(period: Duration, queue: u64) -> RuleSource {
    let limit = Limit::leaky_bucket(Rate::new(1, period), queue).unwrap();
    let mut rule = RuleSource::new("shaped", KeySpec::parse(&["global"]).unwrap(), limit);
    rule.action = Action::Delay;
    rule
}

/// Serves `app` on a socket of its own.
pub(crate) async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    address
}

pub(crate) fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(path).header("host", "test").body(Empty::new()).unwrap()
}

/// Asks once, on a connection of its own.
pub(crate) async fn ask(server: SocketAddr, request: Request<Empty<Bytes>>) -> Response<Bytes> {
    let stream = TcpStream::connect(server).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    connection.abort();
    Response::from_parts(head, body)
}
