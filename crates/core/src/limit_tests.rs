use core::time::Duration;

use super::{Limit, LimitError, Params};
use crate::decision::Verdict;
use crate::rate::Rate;
use crate::time::{Resolution, Timestamp};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn the_finest_tick_that_fits_is_chosen() {
    assert_eq!(Limit::sliding_window_counter(100, SECOND * 60).unwrap().resolution(), Resolution::Micros);
    assert_eq!(Limit::sliding_window_counter(1_000_000, DAY).unwrap().resolution(), Resolution::Millis);
    assert_eq!(Limit::fixed_window(1 << 52, DAY).unwrap().resolution(), Resolution::Micros);
}

#[test]
fn numbers_that_fit_neither_tick_are_named() {
    let error = Limit::sliding_window_counter(1 << 40, DAY).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("sliding_window_counter")
            && message.contains("1099511627776")
            && message.contains("1d")
    );
    assert!(message.contains("9007199254740992"), "{message}");
    // Too long in microseconds, and not whole milliseconds.
    let odd = Duration::from_micros(3_600_000_001);
    assert!(matches!(Limit::sliding_window_counter(10_000_000, odd), Err(LimitError::OutOfDomain { .. })));
    assert!(Limit::sliding_window_counter(10_000_000, odd - Duration::from_micros(1)).is_ok());
}

#[test]
fn every_constructor_is_gated_at_its_last_number() {
    let micro = Duration::from_micros(1);
    assert!(Limit::fixed_window((1 << 53) - 1, SECOND).is_ok());
    assert!(Limit::fixed_window(1 << 53, SECOND).is_err());
    assert!(Limit::sliding_window_log((1 << 53) - 1, SECOND).is_ok());
    assert!(Limit::sliding_window_log(1 << 53, SECOND).is_err());
    assert!(Limit::sliding_window_counter((1 << 53) - 2, micro).is_ok());
    assert!(Limit::sliding_window_counter((1 << 53) - 1, micro).is_err());
    assert!(Limit::sliding_window_counter(u64::MAX, micro).is_err());
    assert!(Limit::token_bucket((1 << 51) - 1, Rate::new(1, micro)).is_ok());
    assert!(Limit::token_bucket(1 << 52, Rate::new(1, micro)).is_err());
    assert!(Limit::token_bucket(u64::MAX, Rate::new(u64::MAX, micro)).is_err());
    assert!(Limit::leaky_bucket(Rate::new(1, micro), (1 << 51) - 2).is_ok());
    assert!(Limit::leaky_bucket(Rate::new(1, micro), 1 << 52).is_err());
    assert!(Limit::leaky_bucket(Rate::new(1, micro), u64::MAX).is_err());
    assert!(Limit::fixed_window(1, Duration::MAX).is_err());
    // The longest time to fill: (2^51 - 1) ticks.
    let half = Duration::from_secs(1_125_900_000);
    assert_eq!(Limit::token_bucket(2, Rate::new(1, half)).unwrap().resolution(), Resolution::Millis);
}

#[test]
fn rates_are_kept_in_lowest_terms() {
    let limit = Limit::token_bucket(1_000_000, Rate::new(1_000_000, DAY)).unwrap();
    let Params::TokenBucket(params) = limit.params() else { panic!("a token bucket") };
    assert_eq!((params.refill, params.period), (1, 86_400));
}

#[test]
fn a_zero_period_and_a_bucket_without_refill_are_refused() {
    assert!(matches!(Limit::fixed_window(1, Duration::ZERO), Err(LimitError::ZeroPeriod { .. })));
    assert!(matches!(
        Limit::leaky_bucket(Rate::new(1, Duration::ZERO), 1),
        Err(LimitError::ZeroPeriod { .. })
    ));
    assert!(matches!(Limit::token_bucket(1, Rate::new(0, SECOND)), Err(LimitError::NeverRefills { .. })));
}

#[test]
fn limit_zero_blocks_everything() {
    let none = Rate::new(0, SECOND);
    for limit in [
        Limit::fixed_window(0, SECOND),
        Limit::sliding_window_log(0, SECOND),
        Limit::sliding_window_counter(0, SECOND),
        Limit::token_bucket(0, none),
        Limit::leaky_bucket(none, 5),
    ] {
        let limit = limit.unwrap();
        assert_eq!(limit.quota(), 0, "{limit}");
        assert_eq!(
            limit.decide(None, Timestamp::from_micros(5), 1).0.verdict,
            Verdict::Impossible,
            "{limit}"
        );
    }
}

#[test]
fn the_well_known_walk() {
    let limit = Limit::token_bucket(5, Rate::new(2, SECOND)).unwrap();
    let mut state = None;
    let mut at = |micros: u64| {
        let (decision, change) = limit.decide(state.as_ref(), Timestamp::from_micros(micros), 1);
        limit.apply(&mut state, change);
        (decision.is_admitted(), decision.remaining)
    };
    let now = 1_760_000_000_000_000;
    let burst: Vec<_> = (0..8).map(|_| at(now)).collect();
    assert_eq!(
        burst,
        [(true, 4), (true, 3), (true, 2), (true, 1), (true, 0), (false, 0), (false, 0), (false, 0)]
    );
    let later: Vec<_> = (0..3).map(|_| at(now + 1_500_000)).collect();
    assert_eq!(later, [(true, 2), (true, 1), (true, 0)]);
}

#[test]
fn rates_show_as_people_say_them() {
    let shown = |count, period| Limit::token_bucket(20, Rate::new(count, period)).unwrap().to_string();
    assert_eq!(shown(10, SECOND), "token_bucket, capacity 20, refill 10 per 1s");
    assert_eq!(shown(10, SECOND * 60), "token_bucket, capacity 20, refill 10 per 1m");
    assert_eq!(shown(120, SECOND * 60), "token_bucket, capacity 20, refill 2 per 1s");
    assert_eq!(shown(1, SECOND * 7), "token_bucket, capacity 20, refill 1 per 7s");
    assert_eq!(shown(5, SECOND * 7), "token_bucket, capacity 20, refill 1 per 1400ms");
}

#[test]
fn the_limit_of_the_status_endpoint_is_one_that_the_constructor_makes() {
    assert_eq!(Ok(Limit::STATUS), Limit::sliding_window_counter(60, Duration::from_secs(60)));
}
