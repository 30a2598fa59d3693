//! Windows of a calendar in a real server: it decides by its own clock, whatever the clocks of its callers show.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod support;

use cupo_core::{Calendar, Check, Limit, State, Store, Timestamp};
use cupo_store_redis::RedisStore;
use cupo_testkit::calendars;
use cupo_testkit::redis::RedisServer;
use support::{key, patient};

const DAY: u64 = 86_400_000_000;

/// Days of 22 to 26 hours, so that no other day has the edges of this one.
fn days() -> &'static Calendar {
    let edges: Vec<u64> = (1..45_000).map(|n| n * DAY + n % 5 * DAY / 24).collect();
    calendars::leaked("days", &edges)
}

fn instants(server_now: u64) -> [u64; 7] {
    let now = server_now;
    [now, now + DAY, now - DAY, now + 3 * DAY, now - 40 * DAY, 0, (1 << 52) - 1]
}

#[tokio::test]
async fn the_server_decides_by_its_own_clock_whatever_the_callers_show() {
    let server = RedisServer::standalone().start();
    let store = RedisStore::new(patient(&server.url())).unwrap();
    let limit = Limit::fixed_window_of(3, days()).unwrap();
    let peek = Check::one(key("peek", 0), limit, 0);
    let server_now = store.check(&peek, Timestamp::EPOCH).await.unwrap().at.as_micros();
    for (n, told) in (0..).zip(instants(server_now)) {
        let told = Timestamp::from_micros(told);
        let check = Check::one(key("skewed", n), limit, 2);
        let first = store.check(&check, told).await.unwrap();
        // What core says at the instant at which the server decided.
        let (expected, change) = limit.decide(None, first.at, 2);
        assert_eq!(first.decisions[0], expected, "caller at {told:?}");
        let mut state: Option<State> = None;
        limit.apply(&mut state, change);
        let second = store.check(&check, told).await.unwrap();
        assert_eq!(second.decisions[0], limit.decide(state.as_ref(), second.at, 2).0, "caller at {told:?}");
        assert!(!second.is_admitted());
    }
    server.assert_every_key_has_a_ttl();
}

/// A window that is open needs no edges, and one of this day's or its neighbours' comes with the first call.
#[tokio::test]
async fn only_clocks_that_are_windows_apart_cost_a_second_call() {
    let server = RedisServer::standalone().start();
    let store = RedisStore::new(patient(&server.url())).unwrap();
    let limit = Limit::fixed_window_of(9, days()).unwrap();
    let ask = async |scope: &str, told: u64| {
        let before = store.stats().calls;
        let check = Check::one(key(scope, 0), limit, 1);
        let at = store.check(&check, Timestamp::from_micros(told)).await.unwrap().at.as_micros();
        (at, store.stats().calls - before)
    };
    let (now, calls) = ask("first", 0).await;
    assert_eq!(calls, 2);
    // The day may end while this runs, so a whole one may not.
    for told in [now, now + DAY / 2, now - DAY / 2] {
        assert_eq!(ask(&format!("near {told}"), told).await.1, 1);
    }
    assert_eq!(ask("first", 0).await.1, 1, "the window is open");
    assert_eq!(ask("far", now + 9 * DAY).await.1, 2);
}

/// Many callers with many clocks ask for one window, each with other checks beside: what they get together is the limit.
#[tokio::test]
async fn all_callers_together_get_the_limit() {
    let server = RedisServer::standalone().start();
    let calendar = calendars::leaked("years", &(1..140).map(|n| n * 365 * DAY).collect::<Vec<_>>());
    let limits = [
        Limit::fixed_window_of(50, calendar).unwrap(),
        Limit::fixed_window_from_first(50, core::time::Duration::from_secs(86_400)).unwrap(),
    ];
    let mut tasks = Vec::new();
    for replica in 0..4_u64 {
        let store = RedisStore::new(patient(&server.url())).unwrap();
        for task in 0..10_u64 {
            let store = store.clone();
            tasks.push(tokio::spawn(async move {
                let mut admitted = [0_u64; 2];
                for round in 0..5_u64 {
                    let told = Timestamp::from_micros((replica * 10 + task + round) * 100_000_007_000_000);
                    for (limit, sum) in limits.into_iter().zip(&mut admitted) {
                        let mut check = Check::one(key("all", limit.window().as_secs()), limit, 1);
                        check.push(key("own", replica * 10 + task), limits[0], 1).unwrap();
                        *sum += u64::from(store.check(&check, told).await.unwrap().is_admitted());
                    }
                }
                admitted
            }));
        }
    }
    let mut all = [0; 2];
    for task in tasks {
        for (sum, n) in all.iter_mut().zip(task.await.unwrap()) {
            *sum += n;
        }
    }
    assert_eq!(all, [50, 50]);
    server.assert_every_key_has_a_ttl();
}
