//! A cluster that changes while checks never pause: each has an answer or, while a primary is being replaced, an error in time, and
//! nothing is admitted beyond the limit but what a failover forgets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use cupo_core::{Check, Store, StoreError, Timestamp};
use cupo_store_redis::{RedisSettings, RedisStore};
use cupo_testkit::redis::Cluster;
use support::{ask, bucket, key, patient, settings, until, until_answered};
use tokio::time::Instant;

const TASKS: u64 = 12;

fn address(cluster: &Cluster) -> String {
    let hosts: Vec<String> = cluster.urls().iter().map(|url| url.replace("redis://", "")).collect();
    format!("redis-cluster://{}", hosts.join(","))
}

/// The slot of the only key of this scope, and the node that has it.
fn place(cluster: &mut Cluster, scope: &str) -> (u16, usize) {
    let has = |name: &[u8]| name.windows(scope.len()).any(|window| window == scope.as_bytes());
    (0..3)
        .find_map(|n| {
            let keys = cluster.node(n).command(&["KEYS", "*"]);
            let name = keys.array().iter().map(|key| key.bytes().to_vec()).find(|name| has(name))?;
            Some((cluster.slot(name), n))
        })
        .expect("it was charged")
}

/// What came of checks that never pause.
#[derive(Debug, Default)]
struct Tally {
    stop: AtomicBool,
    admitted: [AtomicU64; 2],
    denied: AtomicU64,
    timeouts: AtomicU64,
    errors: AtomicU64,
    /// Milliseconds from the start to the last error.
    last_error: AtomicU64,
}

impl Tally {
    fn admitted(&self) -> u64 {
        self.admitted.iter().map(|n| n.load(Ordering::Relaxed)).sum()
    }

    fn count(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

/// Asks for one check or the other until it is told to stop, and sees to it that every answer comes in time.
struct Load {
    tally: Arc<Tally>,
    start: Instant,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    fn start(settings: &RedisSettings, checks: &[Check; 2]) -> Self {
        let (tally, start, deadline) = (Arc::new(Tally::default()), Instant::now(), settings.deadline);
        // As two replicas of the gateway.
        let stores = [0, 1].map(|_| RedisStore::new(settings.clone()).unwrap());
        let tasks = (0..TASKS).map(|n| {
            let (tally, which) = (Arc::clone(&tally), usize::try_from(n % 2).unwrap());
            let (store, check) = (stores[usize::from(n % 4 < 2)].clone(), checks[which].clone());
            tokio::spawn(async move {
                while !tally.stop.load(Ordering::Relaxed) {
                    let counter = match ask(&store, &check, deadline).await {
                        Ok(executed) if executed.is_admitted() => &tally.admitted[which],
                        Ok(_) => &tally.denied,
                        Err(error) => {
                            let now = u64::try_from(start.elapsed().as_millis()).unwrap();
                            tally.last_error.fetch_max(now, Ordering::Relaxed);
                            if error == StoreError::Timeout { &tally.timeouts } else { &tally.errors }
                        }
                    };
                    counter.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            })
        });
        let tasks = tasks.collect();
        Self { tally, start, tasks }
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap()
    }

    async fn end(self) -> Arc<Tally> {
        self.tally.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.tally
    }
}

async fn used(store: &RedisStore, scope: &str, capacity: u64) -> u64 {
    let peek = Check::one(key(scope, 0), bucket(capacity), 0);
    capacity - until_answered(store, &peek).await.decisions[0].remaining
}

/// Waits on a thread that may, since the cluster is asked without `await`.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resharding_loses_no_decision_and_admits_exactly_the_limit() {
    const MOVER: u64 = 1_500;
    const OTHER: u64 = 400;
    let cluster = Cluster::start();
    let settings = patient(&address(&cluster));
    let store = RedisStore::new(settings.clone()).unwrap();
    let mover = Check::one(key("mover", 0), bucket(MOVER), 1);
    // A check of two slots, one of which moves.
    let mut both = mover.clone();
    both.push(key("other", 1), bucket(OTHER), 1).unwrap();
    assert!(store.check(&both, Timestamp::EPOCH).await.unwrap().is_admitted());

    let load = Load::start(&settings, &[mover, both]);
    let tally = Arc::clone(&load.tally);
    let moves = aside(move || {
        let mut cluster = cluster;
        let (slot, owner) = place(&mut cluster, "mover");
        let mut moves = 0;
        // Until the limit is reached, and some more.
        while tally.admitted() + 1 < MOVER || Tally::count(&tally.denied) < 1_000 || moves < 20 {
            moves += 1;
            cluster.move_slot(slot, (owner + moves) % 3);
        }
        (moves, cluster)
    });
    let (moves, _cluster) = moves.await;
    let tally = load.end().await;
    println!("{moves} moves, {tally:?}");
    assert_eq!((Tally::count(&tally.errors), Tally::count(&tally.timeouts)), (0, 0), "{tally:?}");
    let [single, both] = tally.admitted.each_ref().map(Tally::count);
    // One of each was taken before.
    assert_eq!(single + both + 1, MOVER, "{tally:?}");
    assert_eq!(used(&store, "mover", MOVER).await, MOVER);
    let peek = Check::one(key("other", 1), bucket(OTHER), 0);
    let left = store.check(&peek, Timestamp::EPOCH).await.unwrap().decisions[0].remaining;
    assert_eq!(OTHER - left, both + 1, "what a denial had charged was given back: {tally:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orderly_failover_forgets_nothing() {
    const QUOTA: u64 = 2_000;
    let cluster = Cluster::start();
    let settings = settings(&address(&cluster));
    let store = RedisStore::new(settings.clone()).unwrap();
    let check = Check::one(key("mover", 0), bucket(QUOTA), 1);
    until_answered(&store, &check).await;
    let load = Load::start(&settings, &[check.clone(), check]);
    let mut cluster = aside(move || {
        let mut cluster = cluster;
        let (_, owner) = place(&mut cluster, "mover");
        // To the replica and back.
        cluster.failover(owner + 3);
        cluster.until_whole();
        cluster.failover(owner);
        cluster.until_whole();
        cluster
    })
    .await;
    until("the limit is reached", async || (Tally::count(&load.tally.denied) > 100).then_some(())).await;
    let tally = load.end().await;
    println!("{tally:?}");
    assert!(tally.admitted() < QUOTA, "{tally:?}");
    // A check without an answer may have been charged.
    let unknown = Tally::count(&tally.timeouts) + Tally::count(&tally.errors);
    assert!(tally.admitted() + unknown + 1 >= QUOTA, "{tally:?}");
    for n in 0..3 {
        cluster.node(n).assert_every_key_has_a_ttl();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_primary_forgets_no_more_than_its_last_moments() {
    const QUOTA: u64 = 6_000;
    let cluster = Cluster::start();
    let settings = settings(&address(&cluster));
    let store = RedisStore::new(settings.clone()).unwrap();
    let check = Check::one(key("mover", 0), bucket(QUOTA), 1);
    until_answered(&store, &check).await;
    let load = Load::start(&settings, &[check.clone(), check]);
    let tally = Arc::clone(&load.tally);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = tally.admitted();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let (at_death, _cluster) = aside(move || {
        let mut cluster = cluster;
        let (_, owner) = place(&mut cluster, "mover");
        cluster.node(owner).kill9();
        let at_death = tally.admitted();
        cluster.until_promoted(owner + 3);
        (at_death, cluster)
    })
    .await;
    let promoted = load.millis();
    until("the limit is reached", async || (Tally::count(&load.tally.denied) > 100).then_some(())).await;
    let tally = load.end().await;
    println!("{before} and {at_death} before its death; promoted after {promoted} ms; {tally:?}");
    // Replication lags by less than the fifth of a second in which these were admitted.
    let last_moments = at_death - before;
    assert!(tally.admitted() < QUOTA + last_moments, "{tally:?}");
    let last_error = Tally::count(&tally.last_error);
    assert!(last_error <= promoted + 3_000, "found {last_error} ms after the start: {tally:?}");
}
