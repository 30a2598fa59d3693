//! Servers that fail in every way that is known: each check has its answer or error in time, and the store recovers by itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use core::time::Duration;

use cupo_core::{Refusal, Store, StoreError, Timestamp};
use cupo_store_redis::{RedisSettings, RedisStore};
use cupo_testkit::redis::{Fault, FaultProxy, RedisServer};
use support::{ask, bucket, one, settings, until, until_answered, used};

const DEADLINE: Duration = Duration::from_millis(200);

fn store(settings: RedisSettings) -> RedisStore {
    RedisStore::new(settings).unwrap()
}

/// A store that works with a server of its own.
async fn working(server: &RedisServer) -> RedisStore {
    let store = store(settings(&server.url()));
    assert!(until_answered(&store, &one("warm", bucket(100), 1)).await.is_admitted());
    store
}

/// Asks until the error is the expected one. Until then the breaker may rest, and answers may still be good.
async fn until_error(store: &RedisStore, scope: &str, expected: StoreError) {
    let check = one(scope, bucket(1_000_000), 1);
    until("the expected error", async || {
        let answer = ask(store, &check, DEADLINE).await;
        (answer.err() == Some(expected.clone())).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_is_loaded_again_when_the_server_forgets_it() {
    let server = RedisServer::standalone().start();
    let store = working(&server).await;
    for n in 1..=3 {
        server.command(&["SCRIPT", "FLUSH"]);
        let executed = store.check(&one("a", bucket(10), 1), Timestamp::EPOCH).await.unwrap();
        assert_eq!(executed.decisions[0].remaining, 10 - n);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_out_of_memory_is_told_apart() {
    let server = RedisServer::standalone().start();
    let store = working(&server).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    until_error(&store, "a", StoreError::Refused(Refusal::OutOfMemory)).await;
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    until_answered(&store, &one("a", bucket(1_000_000), 1)).await;
    assert_eq!(used(&store, "a", 1_000_000).await, 1, "what was refused was not charged");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_told_apart_and_its_promotion_is_seen() {
    let server = RedisServer::standalone().start();
    let store = working(&server).await;
    server.command(&["REPLICAOF", "127.0.0.1", "1"]);
    until_error(&store, "a", StoreError::Refused(Refusal::ReadOnly)).await;
    server.command(&["REPLICAOF", "NO", "ONE"]);
    until_answered(&store, &one("a", bucket(1_000_000), 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_busy_with_a_script_is_told_apart() {
    let server = RedisServer::standalone().config("busy-reply-threshold", 100).start();
    let store = working(&server).await;
    let mut other = server.connect();
    let endless = std::thread::spawn(move || other.try_command(&["EVAL", "while true do end", "0"]));
    until_error(&store, "a", StoreError::Refused(Refusal::Busy)).await;
    server.command(&["SCRIPT", "KILL"]);
    endless.join().unwrap().unwrap();
    until_answered(&store, &one("a", bucket(1_000_000), 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_loads_its_data_is_told_apart() {
    let mut server = RedisServer::standalone()
        .config("key-load-delay", 1_000)
        .config("loading-process-events-interval-bytes", 1_024)
        .config("enable-debug-command", "yes")
        .start();
    let store = working(&server).await;
    server.command(&["DEBUG", "POPULATE", "3000"]);
    server.command(&["SAVE"]);
    let restart = std::thread::spawn(move || {
        server.restart();
        server
    });
    until_error(&store, "a", StoreError::Refused(Refusal::Loading)).await;
    let _server = restart.join().unwrap();
    until_answered(&store, &one("a", bucket(1_000_000), 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_server_costs_no_more_than_the_deadline() {
    let mut server = RedisServer::standalone().start();
    let store = working(&server).await;
    server.pause();
    let check = one("a", bucket(1_000_000), 1);
    let first = ask(&store, &check, DEADLINE).await;
    assert_eq!(first, Err(StoreError::Timeout));
    for _ in 0..20 {
        assert!(ask(&store, &check, DEADLINE).await.is_err());
    }
    // Once it is known, a check costs nothing.
    until("the store fails at once", async || {
        let answer = store.check(&check, Timestamp::EPOCH).await;
        matches!(answer, Err(StoreError::Resting | StoreError::Unavailable)).then_some(())
    })
    .await;
    server.resume();
    until_answered(&store, &check).await;
    let charged = used(&store, "a", 1_000_000).await;
    assert!((1..=22).contains(&charged), "{charged} of 22 checks, so none was sent twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_found_again_after_its_restart() {
    let mut server = RedisServer::standalone().start();
    let store = working(&server).await;
    server.kill9();
    until_error(&store, "a", StoreError::Unavailable).await;
    server.restart();
    assert!(until_answered(&store, &one("a", bucket(5), 1)).await.is_admitted());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flushed_server_counts_from_nothing() {
    let server = RedisServer::standalone().start();
    let store = working(&server).await;
    let check = one("a", bucket(1), 1);
    assert!(ask(&store, &check, DEADLINE).await.unwrap().is_admitted());
    assert!(!ask(&store, &check, DEADLINE).await.unwrap().is_admitted());
    server.flush();
    assert!(ask(&store, &check, DEADLINE).await.unwrap().is_admitted());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_never_there_is_found_once_it_is() {
    let mut server = RedisServer::standalone().start();
    server.kill9();
    let store = store(settings(&server.url()));
    assert_eq!(ask(&store, &one("a", bucket(5), 1), DEADLINE).await, Err(StoreError::Unavailable));
    server.restart();
    assert!(until_answered(&store, &one("a", bucket(5), 1)).await.is_admitted());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_an_answer_is_not_sent_again() {
    let server = RedisServer::standalone().start();
    let proxy = FaultProxy::start(server.port());
    let store = store(settings(&proxy.url()));
    until_answered(&store, &one("warm", bucket(100), 1)).await;
    for (scope, fault) in [
        ("swallowed", Fault::SwallowReplies),
        ("cut at once", Fault::CutAfter(0)),
        ("cut in the middle", Fault::CutAfter(7)),
        ("half-closed", Fault::HalfClose),
    ] {
        proxy.set(fault);
        // The proxy may let some pass before it begins.
        let mut answered = 0;
        let error = until("the fault", async || {
            let answer = ask(&store, &one(scope, bucket(1_000), 1), DEADLINE).await;
            answered += u64::from(answer.is_ok());
            answer.err()
        })
        .await;
        assert!(matches!(error, StoreError::Timeout | StoreError::Unavailable), "{fault:?}: {error:?}");
        proxy.set(Fault::None);
        // Long enough for the store to find back and to do what it should not.
        until_answered(&store, &one("warm", bucket(100), 0)).await;
        until_answered(&store, &one("warm", bucket(100), 0)).await;
        let charged = used(&store, scope, 1_000).await;
        assert!((answered..=answered + 1).contains(&charged), "{fault:?}: {charged} of {answered} + 1");
        if matches!(fault, Fault::SwallowReplies) {
            assert_eq!(charged, answered + 1, "the server did get it");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_black_hole_costs_no_more_than_the_deadline() {
    let server = RedisServer::standalone().start();
    let proxy = FaultProxy::start(server.port());
    let store = store(settings(&proxy.url()));
    until_answered(&store, &one("warm", bucket(100), 1)).await;
    proxy.set(Fault::BlackHole);
    for _ in 0..10 {
        assert!(ask(&store, &one("a", bucket(1_000), 1), DEADLINE).await.is_err());
    }
    proxy.set(Fault::None);
    until_answered(&store, &one("a", bucket(1_000), 1)).await;
    proxy.set(Fault::Cut);
    until_error(&store, "a", StoreError::Unavailable).await;
    proxy.set(Fault::None);
    until_answered(&store, &one("a", bucket(1_000), 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_waiters_than_allowed_are_turned_away_at_once() {
    let mut server = RedisServer::standalone().start();
    let mut settings = settings(&server.url());
    settings.max_waiters = 8;
    settings.breaker.failures = 1_000;
    let store = store(settings);
    until_answered(&store, &one("warm", bucket(100), 1)).await;
    server.pause();
    let check = one("a", bucket(1_000), 1);
    let tasks: Vec<_> = (0..40)
        .map(|_| {
            let (store, check) = (store.clone(), check.clone());
            tokio::spawn(async move { store.check(&check, Timestamp::EPOCH).await })
        })
        .collect();
    let mut overloaded = 0;
    for task in tasks {
        overloaded += u32::from(task.await.unwrap() == Err(StoreError::Overloaded));
    }
    assert!(overloaded >= 32, "{overloaded} of 40 were turned away");
    server.resume();
    until_answered(&store, &check).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_give_up_disturb_nobody() {
    let server = RedisServer::standalone().start();
    let store = store(support::patient(&server.url()));
    until_answered(&store, &one("warm", bucket(100), 1)).await;
    let check = one("a", bucket(1_000_000), 1);
    let tasks: Vec<_> = (0..400_u64)
        .map(|n| {
            let (store, check) = (store.clone(), check.clone());
            tokio::spawn(async move {
                let asked = store.check(&check, Timestamp::EPOCH);
                if n % 2 == 0 {
                    // Polled once or twice, then dropped.
                    let _ = tokio::time::timeout(Duration::from_micros(n), asked).await;
                    0
                } else {
                    u64::from(asked.await.unwrap().is_admitted())
                }
            })
        })
        .collect();
    let mut admitted = 0;
    for task in tasks {
        admitted += task.await.unwrap();
    }
    assert_eq!(admitted, 200);
    let charged = used(&store, "a", 1_000_000).await;
    assert!((200..=400).contains(&charged), "{charged}");
}
