//! A primary that Sentinels watch.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use cupo_store_redis::{ConnectionError, RedisError, RedisSettings, RedisStore};
use cupo_testkit::redis::SentinelTrio;
use support::{bucket, one, settings, until_answered};

fn sentinel_settings(trio: &SentinelTrio, master: &str) -> RedisSettings {
    let hosts: Vec<String> = trio.sentinel_ports().iter().map(|port| format!("127.0.0.1:{port}")).collect();
    settings(&format!("redis-sentinel://{}/{master}", hosts.join(",")))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_follows_the_primary() {
    let mut trio = SentinelTrio::start();
    let settings = sentinel_settings(&trio, SentinelTrio::MASTER);
    let found = RedisStore::try_connection(&settings).await.unwrap();
    assert_eq!(found, format!("127.0.0.1:{}", trio.master_port()));
    let unknown = RedisStore::try_connection(&sentinel_settings(&trio, "nobody")).await;
    assert!(matches!(
        unknown,
        Err(RedisError::Connection { source: ConnectionError::UnknownMaster { ref master }, .. }) if master == "nobody"
    ));

    let store = RedisStore::new(settings).unwrap();
    assert!(until_answered(&store, &one("a", bucket(10), 1)).await.is_admitted());

    // It hangs: Sentinels promote the replica, and the store leaves the old one although it never said a word.
    let old = trio.master_port();
    trio.master().pause();
    let new = tokio::task::spawn_blocking(move || {
        let new = trio.until_replaced(old);
        (trio, new)
    });
    let (mut trio, new) = new.await.unwrap();
    let executed = until_answered(&store, &one("a", bucket(10), 1)).await;
    assert!(executed.is_admitted());
    assert_ne!(old, new);

    // When it wakes up it is a replica, and nobody asks it.
    for number in 0..2 {
        trio.server(number).resume();
    }
    let executed = until_answered(&store, &one("a", bucket(10), 1)).await;
    assert!(executed.is_admitted());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sentinel_that_hangs_or_is_gone_is_passed_over() {
    let mut trio = SentinelTrio::start();
    let settings = sentinel_settings(&trio, SentinelTrio::MASTER);
    trio.pause_sentinel(0);
    trio.kill_sentinel(1);
    let store = RedisStore::new(settings).unwrap();
    assert!(until_answered(&store, &one("a", bucket(10), 1)).await.is_admitted());
}
