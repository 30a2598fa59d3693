//! Carrying on real servers, by their clock: on a cluster, and with the cache of denials.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use core::time::Duration;
use std::borrow::Cow;
use std::sync::Arc;

use cupo_core::{Attributes, Engine, KeySpec, Limit, Policy, PolicySource, RuleSource, Store, Timestamp};
use cupo_store_redis::RedisStore;
use cupo_testkit::redis::{Cluster, RedisServer};
use support::{one, patient, until_answered};

struct User(String);

impl Attributes for User {
    fn user(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(self.0.as_bytes()))
    }
}

/// Two rules, whose windows differ and whose keys do not.
fn policy(hours: u64) -> Arc<Policy> {
    let rule = |name: &str, count, hours| {
        let limit = Limit::sliding_window_counter(count, Duration::from_hours(hours)).unwrap();
        RuleSource::new(name, KeySpec::parse(&["user"]).unwrap(), limit)
    };
    let rules = vec![rule("changes", 5, hours), rule("stays", 100, 30)];
    Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_cluster_both_keys_of_a_limit_lie_in_one_slot() {
    let mut cluster = Cluster::start();
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    let store = RedisStore::new(patient(&format!("redis-cluster://{}", hosts.join(",")))).unwrap();
    let engine = Engine::new(policy(100), store);
    until_answered(engine.store(), &one("warm", Limit::fixed_window(9, Duration::from_secs(9)).unwrap(), 1))
        .await;
    let users: Vec<User> = (0..40).map(|n| User(format!("user-{n}"))).collect();
    for user in &users {
        for _ in 0..3 {
            assert!(engine.decide(user).await.unwrap().is_admitted());
        }
    }
    let calls = engine.store().stats().calls;
    engine.swap_policy(policy(200));
    for user in &users {
        let passing = [engine.decide(user).await, engine.decide(user).await, engine.decide(user).await];
        let admitted = passing.map(|outcome| outcome.unwrap().is_admitted());
        assert_eq!(admitted, [true, true, false], "three of five were used");
    }
    // A check of both rules is one call, before and after.
    assert_eq!(engine.store().stats().calls - calls, 120);
    let keys: usize = (0..3).map(|n| cluster.node(n).command(&["KEYS", "*user-*"]).array().len()).sum();
    assert_eq!(keys, 80, "each user has a key of each rule, and none of the old limit");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cache_of_denials_forgets_what_was_carried() {
    let server = RedisServer::standalone().start();
    let mut settings = patient(&server.url());
    settings.denial_cache = true;
    let store = RedisStore::new(settings).unwrap();
    let limit = |hours| Limit::fixed_window(2, Duration::from_hours(hours)).unwrap();
    let [from, to] = [one("from", limit(10_000), 2), one("to", limit(20_000), 1)];
    until_answered(&store, &one("warm", limit(1), 1)).await;
    let ask = async |check| store.check(check, Timestamp::EPOCH).await.unwrap().is_admitted();
    assert!(ask(&from).await && !ask(&from).await && !ask(&from).await);
    assert!(store.stats().cached_denials > 0);
    store.carry(&from.items()[0], &to.items()[0], Timestamp::EPOCH).await.unwrap();
    assert!(ask(&from).await, "nothing is counted there any more");
    assert!(!ask(&to).await);
    server.assert_every_key_has_a_ttl();
}
