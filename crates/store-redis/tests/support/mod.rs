//! What the tests of the store share.

#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part of it, and may panic")]

use core::time::Duration;

use cupo_core::{Check, Executed, Key, Limit, Rate, Store, StoreError, Timestamp};
use cupo_store_redis::{RedisSettings, RedisStore};
use tokio::time::Instant;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// What a busy machine may add to a deadline.
const MARGIN: Duration = Duration::from_secs(1);

/// Settings with a deadline that a busy machine keeps, and no cache between the test and the server.
pub(crate) fn settings(url: &str) -> RedisSettings {
    let mut settings = RedisSettings::from_url(url).unwrap();
    settings.deadline = Duration::from_millis(200);
    settings.denial_cache = false;
    settings
}

/// Settings for servers that are expected to answer, however long it takes on a busy machine.
pub(crate) fn patient(url: &str) -> RedisSettings {
    let mut settings = settings(url);
    settings.deadline = Duration::from_secs(10);
    settings
}

pub(crate) fn key(scope: &str, n: u64) -> Key {
    Key::builder(scope).part(1, "", &n.to_be_bytes()).build()
}

/// A bucket that holds `capacity` units and gets none back while a test runs.
pub(crate) fn bucket(capacity: u64) -> Limit {
    Limit::token_bucket(capacity, Rate::new(1, HOUR)).unwrap()
}

pub(crate) fn one(scope: &str, limit: Limit, cost: u64) -> Check {
    Check::one(key(scope, 0), limit, cost)
}

/// Asks, and sees to it that the answer comes in time, whatever it is.
pub(crate) async fn ask(
    store: &RedisStore,
    check: &Check,
    deadline: Duration,
) -> Result<Executed, StoreError> {
    let start = Instant::now();
    let answer = store.check(check, Timestamp::EPOCH).await;
    assert!(start.elapsed() <= deadline + MARGIN, "{:?} for {answer:?}", start.elapsed());
    answer
}

/// Asks until the store answers, for at most 20 s.
pub(crate) async fn until_answered(store: &RedisStore, check: &Check) -> Executed {
    until("the store answers", async || store.check(check, Timestamp::EPOCH).await.ok()).await
}

/// Tries until something comes of it, for at most 20 s.
pub(crate) async fn until<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = attempt().await {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "waited 20 s in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How much of a bucket's capacity is gone, by a peek.
pub(crate) async fn used(store: &RedisStore, scope: &str, capacity: u64) -> u64 {
    let executed = until_answered(store, &one(scope, bucket(capacity), 0)).await;
    capacity - executed.decisions[0].remaining
}
