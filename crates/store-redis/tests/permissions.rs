//! Users who may do what `docs/redis.md` lists, and no more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use core::time::Duration;

use cupo_core::{BlockChange, Check, CheckItem, Limit, Rate, Refusal, Store, StoreError, Timestamp, Upkeep};
use cupo_store_redis::{Deployment, RedisSettings, RedisStore, Secret};
use cupo_testkit::redis::{Client, Cluster, RedisServer, SentinelTrio};
use support::{HOUR, bucket, key, one, patient, until, until_answered};

const DOCUMENT: &str = include_str!("../../../docs/redis.md");

/// The rules that the document gives, and `more`, which it names.
fn user(more: &str) -> String {
    assert!(DOCUMENT.contains(&format!("`{more}`")) || more.is_empty(), "{more} is not documented");
    let line = DOCUMENT.lines().find(|line| line.starts_with("user cupo on ")).expect("a line for a user");
    format!("{} {more}", line.replace("PASSWORD", "secret"))
}

/// Gives a running server this user.
fn allow(client: &mut Client, user: &str) {
    let words: Vec<&str> = ["ACL", "SETUSER"].into_iter().chain(user.split_whitespace().skip(1)).collect();
    assert_eq!(client.command(&words).text(), "OK");
}

fn limits() -> [Limit; 5] {
    [
        Limit::fixed_window(3, HOUR * 100_000).unwrap(),
        Limit::sliding_window_log(3, HOUR).unwrap(),
        Limit::sliding_window_counter(3, HOUR * 100_000).unwrap(),
        bucket(3),
        Limit::leaky_bucket(Rate::new(1, HOUR), 2).unwrap(),
    ]
}

/// Every algorithm to its limit, a log that lets go of its oldest, a slot that is given back, and a reset.
async fn does_everything(store: &RedisStore) {
    let admits = async |check: &Check| store.check(check, Timestamp::EPOCH).await.unwrap().is_admitted();
    for (n, limit) in (0..).zip(limits()) {
        let check = Check::one(key("a", n), limit, 1);
        let admitted =
            [admits(&check).await, admits(&check).await, admits(&check).await, admits(&check).await];
        assert_eq!(admitted, [true, true, true, false], "{limit}");
    }
    let short = Limit::sliding_window_log(2, Duration::from_millis(30)).unwrap();
    let check = Check::one(key("short", 0), short, 1);
    let mut admitted = 0;
    until("entries go", async || {
        admitted += u32::from(admits(&check).await);
        (admitted == 7).then_some(())
    })
    .await;
    let leaky = Check::one(key("b", 0), limits()[4], 1);
    assert!(admits(&leaky).await);
    let second = store.check(&leaky, Timestamp::EPOCH).await.unwrap();
    let end = second.at.after(second.decisions[0].reset_after);
    store.cancel(&leaky.items()[0], second.at, end).await.unwrap();
    assert!(store.reset(&key("a", 1)).await.unwrap());
    for (n, limit) in (0..).zip(limits()).filter(|(n, _)| *n != 1) {
        let item = CheckItem { key: key("a", n), limit, cost: 2 };
        let granted = store.grant(&item, Timestamp::EPOCH).await.unwrap();
        assert_eq!((granted.before, granted.after), (0, 2), "{limit}");
    }
    let log = CheckItem { key: key("a", 1), limit: limits()[1], cost: 1 };
    assert!(store.check(&Check::from(log.clone()), Timestamp::EPOCH).await.unwrap().is_admitted());
    assert_eq!(store.grant(&log, Timestamp::EPOCH).await.unwrap().after, 3);
    let minute = Some(Duration::from_secs(60));
    assert_eq!(store.block(&key("a", 1), minute, Timestamp::EPOCH).await.unwrap(), BlockChange::Done(None));
    assert_eq!(store.blocks(None, Timestamp::EPOCH).await.unwrap().unwrap().blocks.len(), 1);
    let lifted = store.block(&key("a", 1), None, Timestamp::EPOCH).await.unwrap();
    assert!(matches!(lifted, BlockChange::Done(Some(_))), "{lifted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_documented_suffices_for_a_server_and_its_databases() {
    let server = RedisServer::standalone().users(&user("")).start();
    let url = format!("redis://cupo:secret@{}", server.address());
    RedisStore::try_connection(&patient(&url)).await.unwrap();
    does_everything(&RedisStore::new(patient(&url)).unwrap()).await;

    let denied = Err(StoreError::Refused(Refusal::NoPermission));
    let mut elsewhere = patient(&url);
    elsewhere.prefix = "other:".to_owned();
    let store = RedisStore::new(elsewhere).unwrap();
    assert_eq!(store.check(&one("a", bucket(1), 1), Timestamp::EPOCH).await, denied);

    let mut database = patient(&url);
    database.database = 3;
    let store = RedisStore::new(database.clone()).unwrap();
    assert_eq!(store.check(&one("a", bucket(1), 1), Timestamp::EPOCH).await, denied);
    allow(&mut server.session(), &user("+select"));
    RedisStore::try_connection(&database).await.unwrap();
    does_everything(&RedisStore::new(database).unwrap()).await;
    server.assert_every_key_has_a_ttl();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_documented_suffices_on_a_cluster() {
    let mut cluster = Cluster::start();
    for n in 0..6 {
        allow(&mut cluster.node(n).session(), &user("+cluster|slots +asking"));
    }
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    let settings = patient(&format!("redis-cluster://cupo:secret@{}", hosts.join(",")));
    RedisStore::try_connection(&settings).await.unwrap();
    let store = RedisStore::new(settings).unwrap();
    does_everything(&store).await;
    // What one slot charged is given back since another denies: whatever the algorithm, and to the last entry of a log.
    let full = Check::one(key("full", 0), bucket(9), 9);
    assert!(store.check(&full, Timestamp::EPOCH).await.unwrap().is_admitted());
    for (n, limit) in (0..).zip(limits()) {
        let mut both = Check::one(key("c", n), limit, 1);
        both.push(key("full", 0), bucket(9), 1).unwrap();
        for taken in 0..2 {
            let executed = store.check(&both, Timestamp::EPOCH).await.unwrap();
            assert!(!executed.is_admitted());
            // A slot of a leaky bucket that has come is not given back.
            if limit != limits()[4] {
                assert_eq!(executed.decisions[0].remaining, 3 - taken, "{limit}");
            }
            store.check(&Check::one(key("c", n), limit, 1), Timestamp::EPOCH).await.unwrap();
        }
    }
    // Slots that move.
    let name = (0..3).find_map(|n| {
        cluster.node(n).command(&["KEYS", "*full*"]).array().first().map(|k| k.bytes().to_vec())
    });
    let slot = cluster.slot(name.unwrap());
    let owner = cluster.owner(slot, 0);
    cluster.begin_move(slot, (owner + 1) % 3);
    let there = one("full-but-not-there-yet", bucket(5), 1);
    assert!(store.check(&there, Timestamp::EPOCH).await.unwrap().is_admitted());
    cluster.move_slot(slot, (owner + 1) % 3);
    assert!(store.check(&there, Timestamp::EPOCH).await.unwrap().is_admitted());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_documented_suffices_at_sentinels() {
    let mut trio = SentinelTrio::start();
    for n in 0..2 {
        allow(&mut trio.server(n).session(), &user(""));
    }
    let rules = "-@all +sentinel|get-master-addr-by-name";
    assert!(DOCUMENT.contains(&format!("`{rules}`")));
    for port in trio.sentinel_ports() {
        allow(&mut Client::tcp(port).unwrap(), &format!("user asks on >other {rules}"));
    }
    let hosts: Vec<String> = trio.sentinel_ports().iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let url = format!("redis-sentinel://cupo:secret@{}/{}", hosts.join(","), SentinelTrio::MASTER);
    let mut settings: RedisSettings = patient(&url);
    let Deployment::Sentinel { username, password, .. } = &mut settings.deployment else { panic!() };
    (*username, *password) = (Some("asks".to_owned()), Some(Secret::new("other")));
    RedisStore::try_connection(&settings).await.unwrap();
    let store = RedisStore::new(settings).unwrap();
    until_answered(&store, &one("warm", bucket(5), 1)).await;
    does_everything(&store).await;
}
