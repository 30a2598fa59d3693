//! The cache of denials: never longer than the store would deny, and a second at the most.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use core::time::Duration;

use cupo_core::{Check, Limit, Rate, Store, Timestamp};
use cupo_store_redis::RedisStore;
use cupo_testkit::redis::RedisServer;
use support::{bucket, key, one, patient, until};
use tokio::time::Instant;

fn stores(server: &RedisServer) -> (RedisStore, RedisStore) {
    let plain = patient(&server.url());
    let mut caching = plain.clone();
    caching.denial_cache = true;
    (RedisStore::new(caching).unwrap(), RedisStore::new(plain).unwrap())
}

async fn admits(store: &RedisStore, check: &Check) -> bool {
    store.check(check, Timestamp::EPOCH).await.unwrap().is_admitted()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_caller_costs_the_server_nothing() {
    let server = RedisServer::standalone().start();
    let (store, _) = stores(&server);
    let check = one("a", bucket(2), 1);
    assert!(admits(&store, &check).await && admits(&store, &check).await);
    let first = store.check(&check, Timestamp::EPOCH).await.unwrap();
    let calls = store.stats().calls;
    let mut last = first.clone();
    for _ in 0..1_000 {
        let cached = store.check(&check, Timestamp::EPOCH).await.unwrap();
        let (now, before) = (cached.decisions[0], last.decisions[0]);
        assert!(now.retry_after().unwrap() <= before.retry_after().unwrap());
        // The instant of the decision and the wait meet where the store said that there will be room.
        let ends =
            |executed: &cupo_core::Executed| executed.at.after(executed.decisions[0].retry_after().unwrap());
        assert!(ends(&cached).as_micros().abs_diff(ends(&first).as_micros()) <= 1);
        assert_eq!((now.limit, now.remaining), (2, 0));
        last = cached;
    }
    let stats = store.stats();
    // A busy machine may take more than a second for this.
    assert!(stats.calls <= calls + 20 && stats.cached_denials >= 980, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_never_denies_when_the_store_would_admit() {
    let server = RedisServer::standalone().start();
    let (caching, plain) = stores(&server);
    let pace = Rate::new(1, Duration::from_millis(40));
    let limits = [
        Limit::token_bucket(1, pace).unwrap(),
        Limit::leaky_bucket(pace, 0).unwrap(),
        Limit::fixed_window(1, Duration::from_millis(40)).unwrap(),
        Limit::sliding_window_log(1, Duration::from_millis(40)).unwrap(),
        Limit::sliding_window_counter(1, Duration::from_millis(40)).unwrap(),
    ];
    for (n, limit) in (0..).zip(limits) {
        let (check, peek) = (Check::one(key("a", n), limit, 1), Check::one(key("a", n), limit, 0));
        let mut cycles = 0;
        while cycles < 15 {
            let has_room = plain.check(&peek, Timestamp::EPOCH).await.unwrap().decisions[0].remaining == 1;
            // Nobody else asks: where there was room before, there is room now.
            let admitted = admits(&caching, &check).await;
            assert!(admitted || !has_room, "{limit}");
            cycles += u32::from(admitted);
        }
    }
    assert!(caching.stats().cached_denials > 0, "it was tried");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_obedient_caller_is_admitted() {
    let server = RedisServer::standalone().start();
    let (caching, _) = stores(&server);
    let check = one("a", Limit::token_bucket(1, Rate::new(1, Duration::from_millis(60))).unwrap(), 1);
    for _ in 0..5 {
        assert!(admits(&caching, &check).await);
        assert!(!admits(&caching, &check).await);
        let cached = caching.check(&check, Timestamp::EPOCH).await.unwrap();
        tokio::time::sleep(cached.decisions[0].retry_after().unwrap_or_default()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_reaches_every_replica_within_a_second() {
    let server = RedisServer::standalone().start();
    let (caching, plain) = stores(&server);
    let check = one("a", bucket(1), 1);
    assert!(admits(&caching, &check).await);
    assert!(!admits(&caching, &check).await);
    let start = Instant::now();
    assert!(plain.reset(&key("a", 0)).await.unwrap());
    assert!(!plain.reset(&key("a", 0)).await.unwrap());
    until("the reset is seen", async || admits(&caching, &check).await.then_some(())).await;
    assert!(start.elapsed() <= Duration::from_millis(1_250), "{:?}", start.elapsed());

    // Where it is reset it is seen at once.
    assert!(!admits(&caching, &check).await);
    assert!(caching.reset(&key("a", 0)).await.unwrap());
    assert!(admits(&caching, &check).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_limit_or_cost_and_unknown_keys_ask_the_store() {
    let server = RedisServer::standalone().start();
    let (store, _) = stores(&server);
    let check = one("a", bucket(3), 3);
    assert!(admits(&store, &check).await);
    assert!(!admits(&store, &check).await);
    let cached = |store: &RedisStore| store.stats().cached_denials;
    assert!(!admits(&store, &check).await);
    assert_eq!(cached(&store), 1);
    assert!(!admits(&store, &one("a", bucket(3), 2)).await, "another cost");
    assert!(admits(&store, &one("a", bucket(3), 0)).await, "a peek");
    assert_eq!(cached(&store), 1);

    let with = |n| {
        let mut both = one("a", bucket(3), 3);
        both.push(key("b", n), bucket(9), 1).unwrap();
        both
    };
    for n in 0..3 {
        let before = cached(&store);
        assert!(!admits(&store, &with(n)).await);
        assert_eq!(cached(&store), before, "b {n} is not known yet");
        let executed = store.check(&with(n), Timestamp::EPOCH).await.unwrap();
        assert_eq!(cached(&store), before + 1);
        assert_eq!(executed.decisions[1].remaining, 9, "nothing was charged there");
    }
    // What is known of b is no denial.
    assert!(admits(&store, &Check::one(key("b", 0), bucket(9), 1)).await);
}
