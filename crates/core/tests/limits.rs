//! The names of algorithms and limits, and the numbers that a limit shows.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use core::time::Duration;

use cupo_core::number::{DOMAIN, MAX_INSTANT, MAX_SPAN};
use cupo_core::{Algorithm, Limit, LimitError, Params, Rate, Resolution};
use cupo_testkit::calendars;

const MINUTE: Duration = Duration::from_secs(60);

/// One limit of each algorithm: its text, quota and window.
fn examples() -> [(Limit, &'static str, u64, Duration); 5] {
    let per = |count, seconds| Rate::new(count, Duration::from_secs(seconds));
    [
        (Limit::fixed_window(7, MINUTE).unwrap(), "fixed_window, 7 per 1m", 7, MINUTE),
        (Limit::sliding_window_log(8, MINUTE).unwrap(), "sliding_window_log, 8 per 1m", 8, MINUTE),
        (Limit::sliding_window_counter(9, MINUTE).unwrap(), "sliding_window_counter, 9 per 1m", 9, MINUTE),
        (
            Limit::token_bucket(20, per(30, 90)).unwrap(),
            "token_bucket, capacity 20, refill 20 per 1m",
            20,
            MINUTE,
        ),
        (Limit::leaky_bucket(per(2, 6), 19).unwrap(), "leaky_bucket, rate 20 per 1m, queue 19", 20, MINUTE),
    ]
}

#[test]
fn an_algorithm_is_found_by_its_name() {
    for algorithm in Algorithm::ALL {
        assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
        assert_eq!(algorithm.to_string(), algorithm.name());
    }
    assert_eq!(Algorithm::from_name("gcra"), None);
    let names = Algorithm::ALL.map(Algorithm::name);
    let expected =
        ["fixed_window", "sliding_window_log", "sliding_window_counter", "token_bucket", "leaky_bucket"];
    assert_eq!(names, expected);
}

#[test]
fn a_limit_shows_its_algorithm_and_numbers() {
    for ((limit, text, quota, window), algorithm) in examples().into_iter().zip(Algorithm::ALL) {
        assert_eq!(limit.to_string(), text);
        assert_eq!(limit.algorithm(), algorithm);
        assert_eq!(limit.params().algorithm(), algorithm);
        assert_eq!((limit.quota(), limit.window()), (quota, window), "{limit}");
    }
}

#[test]
fn variants_of_a_fixed_window_show_their_edges() {
    let first = Limit::fixed_window_from_first(7, MINUTE).unwrap();
    assert_eq!(first.to_string(), "fixed_window, 7 per 1m from the first request");
    let hour = 3_600_000_000;
    let calendar = calendars::leaked("day of nowhere", &[24 * hour, 47 * hour, 71 * hour]);
    let day = Limit::fixed_window_of(7, calendar).unwrap();
    assert_eq!(day.to_string(), "fixed_window, 7 per day of nowhere");
    assert_eq!((day.resolution(), day.window()), (Resolution::Micros, MINUTE * 60 * 24));
    for (at, hours) in [(0, 24), (24 * hour - 1, 24), (24 * hour, 23), (47 * hour, 24), (500 * hour, 24)] {
        let at = cupo_core::Timestamp::from_micros(at);
        assert_eq!(day.window_at(at), MINUTE * 60 * hours);
        assert_eq!(first.window_at(at), MINUTE);
    }
    for limit in [first, day] {
        assert_eq!((limit.algorithm(), limit.quota()), (Algorithm::FixedWindow, 7));
        let share = limit.share(3).unwrap();
        assert_eq!(share.to_string(), limit.to_string().replace("7 per", "2 per"));
        assert_eq!(share.window(), limit.window());
    }
}

/// A rate is shown per the first of second, minute, hour and day that holds whole periods, else in lowest terms.
#[test]
fn rates_are_shown_as_people_say_them() {
    let shown = |count, period: u64| {
        let rate = Rate::new(count, Duration::from_millis(period));
        let token = Limit::token_bucket(9, rate).unwrap().to_string();
        let leaky = Limit::leaky_bucket(rate, 8).unwrap().to_string();
        let rate = token.strip_prefix("token_bucket, capacity 9, refill ").unwrap().to_owned();
        assert_eq!(leaky, format!("leaky_bucket, rate {rate}, queue 8"));
        rate
    };
    assert_eq!(shown(3, 250), "12 per 1s");
    assert_eq!(shown(5, 10_000), "30 per 1m");
    assert_eq!(shown(2, 7_200_000), "1 per 1h");
    assert_eq!(shown(1, 43_200_000), "2 per 1d");
    assert_eq!(shown(14, 22_000), "7 per 11s");
    assert_eq!(shown(1, 1), "1000 per 1s");
}

#[test]
fn what_leaves_the_domain_is_named_with_its_larger_number() {
    let day = Duration::from_secs(86_400);
    let units = |limit: Result<Limit, LimitError>| match limit {
        Err(LimitError::OutOfDomain { units, period, bound: DOMAIN, .. }) => (units, period),
        other => panic!("{other:?}"),
    };
    assert_eq!(units(Limit::token_bucket(1 << 50, Rate::new(7, day))), (1 << 50, day));
    assert_eq!(units(Limit::token_bucket(7, Rate::new((1 << 60) + 1, day))), ((1 << 60) + 1, day));
    assert_eq!(units(Limit::leaky_bucket(Rate::new(7, day), 1 << 50)), ((1 << 50) + 1, day));
    assert_eq!(units(Limit::leaky_bucket(Rate::new((1 << 60) + 1, day), 7)), ((1 << 60) + 1, day));
}

/// The bounds in digits: everything else is tried against the constants.
#[test]
fn the_domain_is_what_a_double_counts() {
    assert_eq!(DOMAIN, 9_007_199_254_740_992);
    assert_eq!(MAX_INSTANT, 4_503_599_627_370_495);
    assert_eq!(MAX_SPAN, 2_251_799_813_685_247);
    assert_eq!(cupo_core::Timestamp::from_micros(u64::MAX).as_micros(), MAX_INSTANT);
}

/// The longest window and period in each resolution, and one tick more.
#[test]
fn spans_end_where_the_domain_does() {
    let micros = |ticks| Resolution::Micros.span(ticks);
    let per = |period| Rate::new(1, period);
    let resolution = |limit: Result<Limit, LimitError>| limit.ok().map(|limit| limit.resolution());
    for span in [MAX_SPAN, MAX_SPAN + 1] {
        // One more is an odd number of microseconds or fits in milliseconds.
        let expected = (span == MAX_SPAN).then_some(Resolution::Micros);
        assert_eq!(resolution(Limit::fixed_window(1, micros(span))), expected, "{span}");
        assert_eq!(resolution(Limit::fixed_window_from_first(1, micros(span))), expected, "{span}");
        assert_eq!(resolution(Limit::sliding_window_log(1, micros(span))), expected, "{span}");
        assert_eq!(resolution(Limit::sliding_window_counter(1, micros(span))), expected, "{span}");
        assert_eq!(resolution(Limit::token_bucket(1, per(micros(span)))), expected, "{span}");
        assert_eq!(resolution(Limit::leaky_bucket(per(micros(span)), 0)), expected, "{span}");
    }
}

/// The time to fill is bounded, not only the product: 2 units at one in 2^50 ticks take 2^51.
#[test]
fn the_time_to_become_whole_is_bounded() {
    let rate = |ticks| Rate::new(1, Resolution::Micros.span(ticks));
    let odd = (1 << 50) + 1;
    assert!(Limit::token_bucket(1, rate(odd)).is_ok());
    assert!(Limit::token_bucket(2, rate(odd)).is_err());
    assert!(Limit::leaky_bucket(rate(odd), 0).is_ok());
    assert!(Limit::leaky_bucket(rate(odd), 1).is_err());
    assert!(Limit::token_bucket(MAX_SPAN, rate(1)).is_ok());
    assert!(Limit::token_bucket(MAX_SPAN + 1, rate(1)).is_err());
    assert!(Limit::leaky_bucket(rate(1), MAX_SPAN - 1).is_ok());
    assert!(Limit::leaky_bucket(rate(1), MAX_SPAN).is_err());
}

/// Twice what a bucket holds, and what arrives in a tick, have to be below 2^53 together.
#[test]
fn a_fast_rate_counts_against_the_domain() {
    let rate = |count| Rate::new(count, Duration::from_micros(1));
    for (limit, expected) in [(DOMAIN - 3, true), (DOMAIN - 2, false)] {
        assert_eq!(Limit::token_bucket(1, rate(limit)).is_ok(), expected, "{limit}");
        assert_eq!(Limit::leaky_bucket(rate(limit), 0).is_ok(), expected, "{limit}");
    }
    let Params::TokenBucket(params) =
        *Limit::token_bucket(4, Rate::new(6, Duration::from_micros(4))).unwrap().params()
    else {
        panic!("a token bucket");
    };
    assert_eq!((params.capacity, params.refill, params.period), (4, 3, 2));
}
