//! Many replicas, one limit: what all admit together is exactly the limit.

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
use support::{HOUR, key, patient};

const QUOTA: u64 = 500;
const YEAR: Duration = Duration::from_secs(365 * 24 * 3_600);

/// One limit of each algorithm that gives nothing back while the test runs.
fn limits() -> [Limit; 5] {
    let rate = Rate::new(1, HOUR);
    [
        Limit::fixed_window(QUOTA, YEAR).unwrap(),
        Limit::sliding_window_log(QUOTA, HOUR).unwrap(),
        Limit::sliding_window_counter(QUOTA, YEAR).unwrap(),
        Limit::token_bucket(QUOTA, rate).unwrap(),
        Limit::leaky_bucket(rate, QUOTA - 1).unwrap(),
    ]
}

/// Several tasks ask for more than there is, each by a local clock of its own; how many were admitted, by limit.
async fn hammer(store: &RedisStore, replica: u64) -> [u64; 5] {
    let mut admitted = [0; 5];
    let tasks: Vec<_> = (0..20_u64)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut admitted = [0_u64; 5];
                for round in 0..8_u64 {
                    for (n, (limit, sum)) in (0..).zip(limits().into_iter().zip(&mut admitted)) {
                        // A rule of its own beside, so that sets of keys overlap without being the same.
                        let mut check = Check::one(key("shared", n), limit, 1);
                        check.push(key("own", replica * 1_000 + (task + round) % 7), limits()[3], 1).unwrap();
                        let skewed = Timestamp::from_micros((replica * 7 + task) * 1_000_000_007 * round);
                        *sum += u64::from(store.check(&check, skewed).await.unwrap().is_admitted());
                    }
                }
                admitted
            })
        })
        .collect();
    for task in tasks {
        for (sum, n) in admitted.iter_mut().zip(task.await.unwrap()) {
            *sum += n;
        }
    }
    admitted
}

/// Not a test of its own: one of the processes that [`processes_share_a_limit_exactly`] starts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "is started by another test"]
async fn a_process_of_its_own() {
    let Ok(url) = std::env::var("CUPO_TEST_URL") else { return };
    let mut settings = patient(&url);
    settings.denial_cache = std::process::id().is_multiple_of(2);
    let admitted = hammer(&RedisStore::new(settings).unwrap(), u64::from(std::process::id())).await;
    println!("\nadmitted {}", admitted.map(|n| n.to_string()).join(" "));
}

#[test]
fn processes_share_a_limit_exactly() {
    let server = RedisServer::standalone().start();
    let children: Vec<_> = (0..8)
        .map(|_| {
            std::process::Command::new(std::env::current_exe().unwrap())
                .args(["a_process_of_its_own", "--exact", "--ignored", "--nocapture"])
                .env("CUPO_TEST_URL", server.url())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut sums = [0_u64; 5];
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix("admitted ")).expect("a count");
        for (sum, n) in sums.iter_mut().zip(line.split(' ')) {
            *sum += n.parse::<u64>().unwrap();
        }
    }
    assert_eq!(sums, [QUOTA; 5], "of {} asked for", 8 * 20 * 8);
    server.assert_every_key_has_a_ttl();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_denied_check_shares_is_not_charged() {
    let server = RedisServer::standalone().start();
    let store = RedisStore::new(patient(&server.url())).unwrap();
    let (wide, narrow) = (limits()[3], Limit::token_bucket(3, Rate::new(1, HOUR)).unwrap());
    let mut check = Check::one(key("wide", 0), wide, 1);
    check.push(key("narrow", 0), narrow, 1).unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let (store, check) = (store.clone(), check.clone());
            tokio::spawn(async move { store.check(&check, Timestamp::EPOCH).await.unwrap() })
        })
        .collect();
    let mut admitted = 0;
    for task in tasks {
        let executed = task.await.unwrap();
        admitted += u64::from(executed.is_admitted());
        if !executed.is_admitted() {
            assert_eq!(executed.decisions[0].remaining, QUOTA - 3, "shown without this request");
        }
    }
    assert_eq!(admitted, 3);
    let stats = store.stats();
    assert_eq!((stats.checks, stats.called_checks, stats.failures), (200, 200, 0));
    assert!(stats.calls < 200, "{} calls: checks go together", stats.calls);
    server.assert_every_key_has_a_ttl();
}
