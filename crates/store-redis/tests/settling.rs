//! Charges that are settled in real servers, by their own clocks.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use core::pin::pin;
use core::task::{Context, Waker};

use cupo_core::{Charge, Check, Key, Limit, Settlement, Store, StoreError, Timestamp};
use cupo_store_redis::RedisStore;
use cupo_testkit::calendars;
use cupo_testkit::redis::{Cluster, RedisServer};
use support::{HOUR, key, patient, settings, until};

fn window(count: u64) -> Limit {
    Limit::sliding_window_log(count, HOUR).unwrap()
}

/// Charges `cost` units alone; how the request turned out to have cost `actual`.
async fn charged(store: &RedisStore, key: Key, limit: Limit, cost: u64, actual: u64) -> Settlement {
    let executed = store.check(&Check::one(key.clone(), limit, cost), Timestamp::EPOCH).await.unwrap();
    assert!(executed.is_admitted());
    let end = executed.at.after(executed.decisions[0].reset_after);
    Settlement { key, limit, charge: Charge { at: executed.at, end, cost }, actual }
}

async fn left(store: &RedisStore, key: &Key, limit: Limit) -> u64 {
    let executed = store.check(&Check::one(key.clone(), limit, 0), Timestamp::EPOCH).await.unwrap();
    executed.decisions[0].remaining
}

#[tokio::test(flavor = "multi_thread")]
async fn charges_in_many_slots_are_settled_side_by_side() {
    let mut cluster = Cluster::start();
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    let store = RedisStore::new(patient(&format!("redis-cluster://{}", hosts.join(",")))).unwrap();
    let mut settlements = Vec::new();
    for n in 0..40 {
        // What it cost: less, the same, more, or more than there is room for.
        let actual = [1, 4, 7, 30][usize::try_from(n % 4).unwrap()];
        settlements.push(charged(&store, key("slots", n), window(20), 4, actual).await);
    }
    let uncovered = store.settle(&settlements, Timestamp::EPOCH).await.unwrap();
    for (settlement, uncovered) in settlements.iter().zip(uncovered) {
        let covered = settlement.actual.min(20);
        assert_eq!(uncovered, settlement.actual - covered);
        assert_eq!(left(&store, &settlement.key, window(20)).await, 20 - covered);
    }
    (0..3).for_each(|n| cluster.node(n).assert_every_key_has_a_ttl());
}

#[tokio::test(flavor = "multi_thread")]
async fn once_it_is_polled_it_is_carried_out() {
    let server = RedisServer::standalone().start();
    let store = RedisStore::new(patient(&server.url())).unwrap();
    let settlement = charged(&store, key("dropped", 0), window(9), 5, 2).await;
    let settlements = [settlement.clone()];
    {
        let future = pin!(store.settle(&settlements, Timestamp::EPOCH));
        assert!(future.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    until("it is settled", async || (left(&store, &settlement.key, window(9)).await == 7).then_some(()))
        .await;
    // One that was never polled is not.
    drop(store.settle(&settlements, Timestamp::EPOCH));
    assert_eq!(left(&store, &settlement.key, window(9)).await, 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_in_memory_is_forgotten() {
    let server = RedisServer::standalone().start();
    let mut settings = patient(&server.url());
    settings.denial_cache = true;
    let store = RedisStore::new(settings).unwrap();
    let settlement = charged(&store, key("guess", 0), window(1), 1, 0).await;
    let ask = || async {
        let check = Check::one(settlement.key.clone(), window(1), 1);
        store.check(&check, Timestamp::EPOCH).await.unwrap().is_admitted()
    };
    assert!(!ask().await && !ask().await);
    assert_eq!(store.stats().cached_denials, 1, "the second was answered from memory");
    store.settle(std::slice::from_ref(&settlement), Timestamp::EPOCH).await.unwrap();
    assert!(ask().await);
}

/// The caller's clock shows the epoch, and the server's does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_charge_of_a_calendar_grows_by_the_servers_clock() {
    const DAY: u64 = 86_400_000_000;
    let server = RedisServer::standalone().start();
    let store = RedisStore::new(patient(&server.url())).unwrap();
    let calendar = calendars::leaked("years", &(1..140).map(|n| n * 365 * DAY).collect::<Vec<_>>());
    let limit = Limit::fixed_window_of(50, calendar).unwrap();
    // Nothing is there yet, so that the charge begins the window.
    let none = Charge { at: Timestamp::EPOCH, end: Timestamp::EPOCH, cost: 1 };
    let settlement = Settlement { key: key("years", 0), limit, charge: none, actual: 31 };
    let settled = store.settle(std::slice::from_ref(&settlement), Timestamp::EPOCH).await.unwrap();
    assert_eq!(settled[..], [0]);
    assert_eq!(left(&store, &settlement.key, limit).await, 20);
    server.assert_every_key_has_a_ttl();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_answer_says_so() {
    let server = RedisServer::standalone().start();
    let store = RedisStore::new(settings(&server.url())).unwrap();
    let settlement = until("the store answers", async || {
        let check = Check::one(key("paused", 0), window(9), 5);
        let executed = store.check(&check, Timestamp::EPOCH).await.ok()?;
        let charge = Charge { at: executed.at, end: executed.at.after(HOUR), cost: 5 };
        Some(Settlement { key: key("paused", 0), limit: window(9), charge, actual: 1 })
    })
    .await;
    server.command(&["CLIENT", "PAUSE", "2000", "ALL"]);
    let answer = store.settle(std::slice::from_ref(&settlement), Timestamp::EPOCH).await;
    assert_eq!(answer, Err(StoreError::Timeout));
}
