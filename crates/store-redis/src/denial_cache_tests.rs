use core::time::Duration;

use cupo_core::{Check, Decision, Executed, Key, Limit, Rate, Timestamp, Verdict};
use tokio::time::{Instant, advance};

use super::{DenialCache, KEYS_PER_SHARD, SHARDS};
use crate::lane::Answer;

const WAIT: Duration = Duration::from_millis(400);

fn check(n: u64) -> Check {
    let limit = Limit::token_bucket(1, Rate::new(1, Duration::from_secs(60))).unwrap();
    Check::one(Key::builder("r").part(1, "", &n.to_be_bytes()).build(), limit, 1)
}

/// The store's word, which took `trip` to come.
fn denied(wait: Duration, trip: Duration) -> Answer {
    let decision = Decision {
        verdict: Verdict::Deny { retry_after: wait },
        limit: 1,
        remaining: 0,
        reset_after: wait,
        delay: Duration::ZERO,
    };
    let executed =
        Executed { at: Timestamp::from_micros(5_000_000), decisions: [decision].into_iter().collect() };
    let received = Instant::now();
    Answer { executed, sent: received - trip, received }
}

#[tokio::test(start_paused = true)]
async fn it_ends_by_when_it_was_sent_and_tells_the_wait_by_when_it_came() {
    advance(Duration::from_secs(1)).await;
    let cache = DenialCache::new();
    cache.learn(&check(0), &denied(WAIT, Duration::from_millis(30)));
    advance(Duration::from_millis(100)).await;
    let answer = cache.answer(&check(0)).unwrap();
    assert_eq!(answer.decisions[0].retry_after(), Some(Duration::from_millis(300)));
    assert_eq!(answer.decisions[0].reset_after, Duration::from_millis(300));
    assert_eq!(answer.at, Timestamp::from_micros(5_100_000));
    // Sent 30 ms before, so over 370 ms after it came, less a thousandth.
    advance(Duration::from_millis(269)).await;
    assert!(cache.answer(&check(0)).is_some());
    advance(Duration::from_millis(1)).await;
    assert!(cache.answer(&check(0)).is_none());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_for_more_than_a_second() {
    let cache = DenialCache::new();
    cache.learn(&check(0), &denied(Duration::from_secs(3_600), Duration::ZERO));
    advance(Duration::from_millis(999)).await;
    assert!(cache.answer(&check(0)).is_some());
    advance(Duration::from_millis(1)).await;
    assert!(cache.answer(&check(0)).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_over_when_it_comes_is_not_kept() {
    advance(Duration::from_secs(1)).await;
    let cache = DenialCache::new();
    cache.learn(&check(0), &denied(Duration::from_millis(30), Duration::from_millis(30)));
    assert!(cache.answer(&check(0)).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_keys_is_bounded_and_makes_room_when_it_is_over() {
    let cache = DenialCache::new();
    let many = u64::try_from(SHARDS * KEYS_PER_SHARD * 2).unwrap();
    for n in 0..many {
        cache.learn(&check(n), &denied(WAIT, Duration::ZERO));
    }
    let kept = || cache.shards.iter().map(|shard| shard.lock().entries.len()).sum::<usize>();
    assert!(kept() <= SHARDS * KEYS_PER_SHARD && kept() > SHARDS * KEYS_PER_SHARD / 2, "{}", kept());
    advance(WAIT).await;
    cache.learn(&check(many), &denied(WAIT, Duration::ZERO));
    assert!(cache.answer(&check(many)).is_some());
    cache.forget(&check(many).items()[0].key);
    assert!(cache.answer(&check(many)).is_none());
}
