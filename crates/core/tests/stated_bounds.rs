//! The bounds that the documents state are true and cannot be lowered: for small numbers every history of admissions is
//! tried, tick by tick, and the most that passes in an interval of each length is what the formula says.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use core::time::Duration;

use cupo_core::{Limit, Rate, State, Timestamp};
use cupo_testkit::calendars;

/// One tick of a limit that counts in microseconds.
const fn ticks(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// The most units admitted, and the most of them released, in any interval of a length in ticks.
struct Most {
    admitted: Vec<u64>,
    released: Vec<u64>,
}

/// Tries every history of admissions of one unit each in the first `end` ticks.
fn most(limit: &Limit, end: usize) -> Most {
    let mut most = Most { admitted: vec![0; end + 1], released: vec![0; end + 1] };
    let (mut admitted, mut released) = (vec![0; end], vec![0; end]);
    explore(limit, 0, None, &mut admitted, &mut released, &mut most);
    most
}

/// Goes on from tick `now`: one more unit at this tick, or on to the next tick.
fn explore(
    limit: &Limit,
    now: usize,
    state: Option<&State>,
    admitted: &mut Vec<u64>,
    released: &mut Vec<u64>,
    most: &mut Most,
) {
    if now == admitted.len() {
        note(admitted, &mut most.admitted);
        note(released, &mut most.released);
        return;
    }
    explore(limit, now + 1, state, admitted, released, most);
    let (decision, change) = limit.decide(state, Timestamp::from_micros(now as u64), 1);
    if decision.is_admitted() {
        let mut next = state.cloned();
        limit.apply(&mut next, change);
        let slot = now + usize::try_from(decision.delay.as_micros()).unwrap();
        admitted[now] += 1;
        if let Some(units) = released.get_mut(slot) {
            *units += 1;
        }
        explore(limit, now, next.as_ref(), admitted, released, most);
        admitted[now] -= 1;
        if let Some(units) = released.get_mut(slot) {
            *units -= 1;
        }
    }
}

fn note(units: &[u64], most: &mut [u64]) {
    for from in 0..units.len() {
        let mut sum = 0;
        for (length, unit) in (1..).zip(&units[from..]) {
            sum += unit;
            most[length] = most[length].max(sum);
        }
    }
}

/// Asserts that the most in an interval of each length from 1 to `last` ticks is what `bound` says.
fn assert_tight(limit: &Limit, end: usize, last: usize, bound: impl Fn(u64) -> u64) {
    let most = most(limit, end);
    for (t, &units) in (1..=last as u64).zip(&most.admitted[1..]) {
        assert_eq!(units, bound(t), "{limit}: in {t} ticks");
    }
}

#[test]
fn fixed_window_admits_its_count_in_each_window_touched() {
    for (count, window) in [(1, 3), (2, 3), (3, 2)] {
        let limit = Limit::fixed_window(count, ticks(window)).unwrap();
        assert_tight(&limit, 8, 6, |t| count * ((t - 1).div_ceil(window) + 1));
    }
}

/// The first request of a window opens it, so all but one unit can wait for its end.
#[test]
fn a_window_from_the_first_request_admits_one_less_across_an_edge() {
    for (count, window) in [(1, 3), (2, 3), (3, 2)] {
        let limit = Limit::fixed_window_from_first(count, ticks(window)).unwrap();
        let bound = |t: u64| (count * ((t - 1).div_ceil(window) + 1) - 1).max(count * t.div_ceil(window));
        assert_tight(&limit, 8, 6, bound);
    }
}

#[test]
fn a_calendar_admits_its_count_in_each_window_touched() {
    let edges = [3, 4, 9, 10];
    let calendar = calendars::leaked("bounds", &edges);
    for count in [1, 2] {
        let limit = Limit::fixed_window_of(count, calendar).unwrap();
        let touched = |from: u64, t: u64| edges.iter().filter(|e| (from + 1..from + t).contains(e)).count();
        assert_tight(&limit, 8, 7, |t| {
            count * (0..=8 - t).map(|from| 1 + touched(from, t) as u64).max().unwrap()
        });
    }
}

#[test]
fn sliding_window_log_admits_its_count_in_each_window_length() {
    for (count, window) in [(1, 3), (2, 3), (3, 2)] {
        let limit = Limit::sliding_window_log(count, ticks(window)).unwrap();
        assert_tight(&limit, 8, 8, |t| count * t.div_ceil(window));
    }
}

#[test]
fn sliding_window_counter_admits_twice_its_count_in_one_window_length_but_not_at_once() {
    for (count, window) in [(1_u64, 4_u64), (3, 4), (2, 5), (2, 3)] {
        let limit = Limit::sliding_window_counter(count, ticks(window)).unwrap();
        let bound = |t: u64| if t == 1 { count } else { count + (count * (t - 2)).div_ceil(window) };
        let window = usize::try_from(window).unwrap();
        assert_tight(&limit, 2 * window, window + 1, bound);
    }
    // Where a window has more than 2L ticks, as any in use has, 2L in W ticks is reached.
    let limit = Limit::sliding_window_counter(2, ticks(5)).unwrap();
    assert_eq!(most(&limit, 10).admitted[5], 4);
}

#[test]
fn token_bucket_admits_its_capacity_and_what_is_refilled() {
    for (capacity, refill, period) in [(2, 1, 2), (2, 2, 3), (2, 3, 4)] {
        let limit = Limit::token_bucket(capacity, Rate::new(refill, ticks(period))).unwrap();
        assert_tight(&limit, 8, 8, |t| capacity + refill * (t - 1) / period);
    }
}

#[test]
fn leaky_bucket_admits_its_places_and_what_drains_and_releases_no_more_than_its_rate() {
    for (queue, rate, period) in [(1, 1, 2), (2, 2, 3), (1, 3, 4)] {
        let limit = Limit::leaky_bucket(Rate::new(rate, ticks(period)), queue).unwrap();
        assert_tight(&limit, 8, 8, |t| queue + 1 + rate * (t - 1) / period);
        for (t, &units) in (1..=8).zip(&most(&limit, 8).released[1..]) {
            assert!(units <= (rate * t).div_ceil(period), "{limit}: {units} released in {t} ticks");
        }
    }
    let limit = Limit::leaky_bucket(Rate::new(2, ticks(3)), 2).unwrap();
    assert_eq!(most(&limit, 8).released[2], 2, "the bound on releases is reached");
}

#[test]
fn leaky_bucket_that_does_not_hold_is_a_token_bucket() {
    let rate = Rate::new(2, ticks(3));
    let leaky = Limit::leaky_bucket(rate, 2).unwrap();
    let token = Limit::token_bucket(3, rate).unwrap();
    // Every history of costs 0 (nothing) to 4 at 6 ticks.
    for history in 0..5_u32.pow(6) {
        let (mut a, mut b) = (None, None);
        for now in 0..6 {
            let cost = u64::from(history / 5_u32.pow(now) % 5);
            let at = Timestamp::from_micros(now.into());
            let (one, change) = leaky.decide(a.as_ref(), at, cost);
            leaky.apply(&mut a, change);
            let (other, change) = token.decide(b.as_ref(), at, cost);
            token.apply(&mut b, change);
            assert_eq!(
                (one.verdict, one.limit, one.remaining, one.reset_after),
                (other.verdict, other.limit, other.remaining, other.reset_after)
            );
        }
    }
}
