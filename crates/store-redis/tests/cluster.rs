//! A cluster of three primaries with a replica each.

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
use cupo_store_redis::{RedisSettings, RedisStore};
use cupo_testkit::redis::Cluster;
use support::{ask, bucket, key, one, patient, settings, until, until_answered};

fn url(cluster: &Cluster) -> String {
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    format!("redis-cluster://{}", hosts.join(","))
}

fn store(settings: RedisSettings) -> RedisStore {
    RedisStore::new(settings).unwrap()
}

/// The slot that the key of `one(scope, …)` lives in, read off the server that has it.
fn slot_of(cluster: &mut Cluster, scope: &str) -> u16 {
    let name = (0..3)
        .find_map(|n| {
            let keys = cluster.node(n).command(&["KEYS", "*"]);
            keys.array().iter().map(|key| key.bytes().to_vec()).find(|key| contains(key, scope.as_bytes()))
        })
        .expect("a key");
    cluster.slot(name)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

async fn admitted_of(store: &RedisStore, check: &Check, times: u64) -> u64 {
    let tasks: Vec<_> = (0..times)
        .map(|_| {
            let (store, check) = (store.clone(), check.clone());
            tokio::spawn(async move { store.check(&check, Timestamp::EPOCH).await.unwrap().is_admitted() })
        })
        .collect();
    let mut admitted = 0;
    for task in tasks {
        admitted += u64::from(task.await.unwrap());
    }
    admitted
}

#[tokio::test(flavor = "multi_thread")]
async fn every_slot_is_reached_and_counts_exactly() {
    let mut cluster = Cluster::start();
    let store = store(patient(&url(&cluster)));
    for n in 0..50 {
        let check = Check::one(key("a", n), bucket(5), 1);
        assert_eq!(admitted_of(&store, &check, 12).await, 5, "key {n}");
    }
    assert_eq!(store.health().connected, 3);
    for n in 0..3 {
        assert!(!cluster.node(n).command(&["KEYS", "*"]).array().is_empty());
        cluster.node(n).assert_every_key_has_a_ttl();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_the_same_parts_go_in_one_call() {
    let cluster = Cluster::start();
    let store = store(patient(&url(&cluster)));
    let mut check = one("burst", bucket(5), 1);
    check.push(key("daily", 0), bucket(9), 1).unwrap();
    let before = store.stats().calls;
    assert!(store.check(&check, Timestamp::EPOCH).await.unwrap().is_admitted());
    assert_eq!(store.stats().calls, before + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_over_several_slots_admits_nothing_more_and_keeps_its_order() {
    let cluster = Cluster::start();
    let store = store(patient(&url(&cluster)));
    let check = |n: u64| {
        let mut check = Check::one(key("wide", 1), bucket(1_000), 1);
        check.push(key("narrow", 2), bucket(3), 1).unwrap();
        check.push(key("own", 100 + n), bucket(50), 2).unwrap();
        check
    };
    let mut admitted = 0;
    for n in 0..10 {
        let preview = store.preview(&check(n), Timestamp::EPOCH).await.unwrap();
        let executed = store.check(&check(n), Timestamp::EPOCH).await.unwrap();
        let said = |decisions: &cupo_core::Decisions| -> Vec<(bool, u64)> {
            decisions.iter().map(|d| (d.is_admitted(), d.remaining)).collect()
        };
        assert_eq!(said(&preview.decisions), said(&executed.decisions));
        assert_eq!(said(&preview.balances)[2], (true, 50), "nothing was charged by asking");
        let shown: Vec<u64> = executed.decisions.iter().map(|d| d.limit).collect();
        assert_eq!(shown, [1_000, 3, 50]);
        admitted += u64::from(executed.is_admitted());
        if !executed.is_admitted() {
            assert!(executed.decisions[0].is_admitted() && executed.decisions[2].is_admitted());
            assert_eq!(executed.decisions[1].remaining, 0);
            assert_eq!(
                executed.decisions[2].remaining, 50,
                "the narrow one goes first: nothing was charged here"
            );
        }
    }
    assert_eq!(admitted, 3);
    let wide = store.check(&Check::one(key("wide", 1), bucket(1_000), 0), Timestamp::EPOCH).await.unwrap();
    assert_eq!(wide.decisions[0].remaining, 997);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_loses_nothing_and_admits_nothing_more() {
    let mut cluster = Cluster::start();
    let store = store(patient(&url(&cluster)));
    let check = one("mover", bucket(100), 1);
    assert_eq!(admitted_of(&store, &check, 10).await, 10);
    let slot = slot_of(&mut cluster, "mover");
    let from = cluster.owner(slot, 0);
    let to = (from + 1) % 3;

    cluster.begin_move(slot, to);
    assert_eq!(admitted_of(&store, &check, 10).await, 10, "the key is still where it was");
    let other = one("moved-burst", bucket(7), 1);
    // The same slot, but a key that is not there yet: it is asked for at the other node.
    assert_eq!(admitted_of(&store, &other, 10).await, 7);
    cluster.move_slot(slot, to);
    assert_eq!(admitted_of(&store, &check, 100).await, 80);
    assert_eq!(admitted_of(&store, &other, 10).await, 0);
    assert_eq!(cluster.owner(slot, 0), to);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orderly_failover_is_followed() {
    let mut cluster = Cluster::start();
    let store = store(settings(&url(&cluster)));
    let check = one("mover", bucket(1_000_000), 1);
    until_answered(&store, &check).await;
    let slot = slot_of(&mut cluster, "mover");
    let owner = cluster.owner(slot, 0);
    cluster.failover(owner + 3);
    let executed = until_answered(&store, &check).await;
    assert!(executed.decisions[0].remaining < 1_000_000 - 1, "its counts came along");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_hangs_is_replaced_while_the_others_serve() {
    let mut cluster = Cluster::start();
    let store = store(settings(&url(&cluster)));
    let check = one("mover", bucket(1_000_000), 1);
    until_answered(&store, &check).await;
    let slot = slot_of(&mut cluster, "mover");
    let owner = cluster.owner(slot, 0);
    cluster.node(owner).pause();
    let deadline = Duration::from_millis(200);
    let mut others = 0;
    for n in 0..60 {
        let answer = ask(&store, &Check::one(key("b", n), bucket(10), 1), deadline).await;
        others += u32::from(answer.is_ok());
    }
    assert!(others >= 20, "{others} of 60 keys live elsewhere and were served");
    let cluster = tokio::task::spawn_blocking(move || {
        cluster.until_promoted(owner + 3);
        cluster
    });
    let _cluster = cluster.await.unwrap();
    until("the new primary answers", async || ask(&store, &check, deadline).await.ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_gives_up_leaves_no_part_of_a_check_charged() {
    let mut cluster = Cluster::start();
    let mut settings = settings(&url(&cluster));
    settings.deadline = Duration::from_millis(500);
    let store = store(settings);
    let (wide, narrow) = (bucket(1_000_000), bucket(1_000));
    until_answered(&store, &one("wide", wide, 1)).await;
    let slot = slot_of(&mut cluster, "wide");
    let far = cluster.owner(slot, 0);
    // A key that lives at another node, and goes first.
    let mut n = 0;
    let scope = loop {
        let scope = format!("narrow-{n}");
        until_answered(&store, &Check::one(key(&scope, n), narrow, 1)).await;
        let slot = slot_of(&mut cluster, &scope);
        if cluster.owner(slot, 0) != far {
            break scope;
        }
        n += 1;
    };
    let mut check = Check::one(key(&scope, n), narrow, 1);
    check.push(key("wide", 0), wide, 1).unwrap();
    let left = async |store: &RedisStore| {
        let peek = Check::one(key(&scope, n), narrow, 0);
        until_answered(store, &peek).await.decisions[0].remaining
    };
    assert_eq!(left(&store).await, 999);
    cluster.node(far).pause();
    for _ in 0..3 {
        let asked = store.check(&check, Timestamp::EPOCH);
        assert!(
            tokio::time::timeout(Duration::from_millis(50), asked).await.is_err(),
            "the second part hangs"
        );
    }
    until("what was charged is given back", async || (left(&store).await == 999).then_some(())).await;
    // Nor does one that waits for the error.
    assert!(ask(&store, &check, Duration::from_millis(500)).await.is_err());
    until("what was charged is given back", async || (left(&store).await == 999).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_earlier_slot_charged_is_given_back_when_a_later_one_denies() {
    let cluster = Cluster::start();
    let mut settings = patient(&url(&cluster));
    settings.denial_cache = false;
    let store = store(settings);
    let day = Duration::from_secs(86_400);
    let limits = [
        Limit::fixed_window(2, day),
        Limit::sliding_window_log(2, day),
        Limit::sliding_window_counter(2, day),
        Limit::token_bucket(2, Rate::new(1, day)),
        Limit::leaky_bucket(Rate::new(1, day), 1),
    ];
    for (n, limit) in (0_u64..).zip(limits) {
        let limit = limit.unwrap();
        let full = Check::one(key("full", n), bucket(5), 5);
        assert!(store.check(&full, Timestamp::EPOCH).await.unwrap().is_admitted());
        let first = Check::one(key("first", n), limit, 1);
        // Somebody is in the leaky bucket already, so that the next one waits: a slot that has come is not given back.
        assert!(store.check(&first, Timestamp::EPOCH).await.unwrap().is_admitted());
        for _ in 0..4 {
            // It has room for fewer, so it is asked first, and charges.
            let mut both = first.clone();
            both.push(key("full", n), bucket(5), 1).unwrap();
            let executed = store.check(&both, Timestamp::EPOCH).await.unwrap();
            assert!(executed.decisions[0].is_admitted() && !executed.decisions[1].is_admitted(), "{limit}");
        }
        assert!(
            store.check(&first, Timestamp::EPOCH).await.unwrap().is_admitted(),
            "{limit}: it was given back"
        );
        assert!(
            !store.check(&first, Timestamp::EPOCH).await.unwrap().is_admitted(),
            "{limit}: and only once"
        );
    }
}
