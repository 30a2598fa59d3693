use core::time::Duration;
use std::collections::HashSet;

use super::{prefix, push};
use crate::limit::Limit;
use crate::rate::Rate;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

fn bytes(limit: Limit) -> usize {
    // Without the length, and the name.
    prefix("r", &limit).as_bytes().len() - 2
}

#[test]
fn usual_windows_take_two_to_four_bytes() {
    let counter = |window| Limit::sliding_window_counter(100, window).unwrap();
    assert_eq!(prefix("r", &counter(SECOND)).as_bytes(), b"\x03r\x03\x16");
    assert_eq!([SECOND, SECOND * 10, SECOND * 60, SECOND * 3_600].map(|w| bytes(counter(w))), [2, 2, 2, 3]);
    assert_eq!([DAY, DAY * 7, DAY * 30].map(|w| bytes(counter(w))), [3, 4, 4]);
    let bucket = |count, period| Limit::token_bucket(20, Rate::new(count, period)).unwrap();
    assert_eq!(bytes(bucket(10, SECOND)), 2);
    assert_eq!(bytes(bucket(100, SECOND * 3_600)), 3);
    assert_eq!(bytes(bucket(3, SECOND)), 3);
}

#[test]
fn the_window_tells_limits_apart_and_the_count_does_not() {
    let leaky = |count, period| Limit::leaky_bucket(Rate::new(count, period), 5).unwrap();
    let bucket = |capacity, count, period| Limit::token_bucket(capacity, Rate::new(count, period)).unwrap();
    let mut limits = vec![
        bucket(5, 3, SECOND),
        bucket(5, 7, SECOND),
        bucket(5, 3, SECOND * 2),
        bucket(5, 1, SECOND),
        bucket(0, 0, SECOND),
        leaky(1, SECOND),
        leaky(3, SECOND),
        leaky(7, SECOND),
        // In milliseconds.
        Limit::sliding_window_counter(1_000_000, DAY).unwrap(),
    ];
    let windows = [1, 10, 11, 60, 86_400].map(|n| SECOND * n);
    for window in windows.into_iter().chain([1, 15, 16, 17, 150].map(Duration::from_micros)) {
        limits.push(Limit::fixed_window(5, window).unwrap());
        limits.push(Limit::fixed_window_from_first(5, window).unwrap());
        limits.push(Limit::sliding_window_log(5, window).unwrap());
        limits.push(Limit::sliding_window_counter(5, window).unwrap());
    }
    let prefixes: HashSet<_> = limits.iter().map(|limit| prefix("r", limit)).collect();
    assert_eq!(prefixes.len(), limits.len());
    assert_eq!(prefix("r", &bucket(5, 3, SECOND)), prefix("r", &bucket(500, 3, SECOND)));
    for make in [Limit::fixed_window, Limit::sliding_window_log, Limit::sliding_window_counter] {
        assert_eq!(prefix("r", &make(5, DAY).unwrap()), prefix("r", &make(50, DAY).unwrap()));
    }
}

#[test]
fn no_two_numbers_are_written_alike() {
    let far = [1_u64 << 50, (1 << 51) - 1, 1_000_000_000_000_000, 1_000_000_000_000_001];
    let numbers: Vec<u64> = (0..5_000).chain((1..200).map(|n| n * 1_000_000)).chain(far).collect();
    let mut seen = HashSet::new();
    for number in numbers {
        let mut shape = smallvec::SmallVec::new();
        push(&mut shape, number);
        assert!(seen.insert(shape.clone()), "{number}");
        // The last byte of a number is the only one below 128, so that a second number has an end too.
        assert!(
            shape.iter().rev().skip(1).all(|byte| *byte >= 0x80) && shape.last().is_some_and(|b| *b < 0x80)
        );
        assert!(shape.len() <= 8, "{number}");
    }
}
