//! Proptest strategies: limits of every algorithm, and histories that look for trouble.

use core::time::Duration;

use cupo_core::number::MAX_INSTANT;
use cupo_core::{Algorithm, Limit, Rate, Timestamp};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use proptest::strategy::{BoxedStrategy, Union};
use proptest::test_runner::Config;

use crate::bound::longest_wait;
use crate::calendars;
use crate::walk::{Move, Step, Units, Walk};

/// A limit and what is asked of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The limit.
    pub limit: Limit,
    /// The requests.
    pub steps: Vec<Step>,
    /// Microseconds from the start of a tick to a request, for limits that are asked in time.
    pub late: u64,
}

/// How far the ticks of a history reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To the end of the number domain.
    Ticks,
    /// As far as every instant that a decision names is one, in the limit's own resolution.
    Time,
}

/// `cases` per test, or what `PROPTEST_CASES` says; failures are not kept in files.
#[must_use]
pub fn config(cases: u32) -> Config {
    let default = Config::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { cases };
    Config { cases, failure_persistence: None, ..default }
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// Limits of `algorithm`: a few units and ticks, ordinary numbers, and the edges of the number domain, in both
/// resolutions.
pub fn limit(algorithm: Algorithm) -> BoxedStrategy<Limit> {
    let small = (0..6_u64, 1..9_u64, 1..5_u64);
    let ordinary = (
        prop_oneof![Just(1), Just(10), Just(100), 1..5_000_u64],
        prop_oneof![
            Just(1_000_000),
            Just(60_000_000),
            Just(3_600_000_000),
            Just(86_400_000_000),
            1..90_000_000_u64
        ],
        prop_oneof![Just(1), Just(7), 1..1_000_u64],
    );
    // Any sizes at all; what the gate refuses is thrown away.
    let sizes = || (0..54_u32, any::<u64>()).prop_map(|(bits, n)| n & ((1 << bits) - 1));
    // Most are too large for microseconds, so whole milliseconds give the other resolution.
    let periods = prop_oneof![sizes(), (1..3_000_000_000_000_u64).prop_map(|millis| millis * 1_000)];
    let edge = (sizes(), periods, sizes());
    prop_oneof![
        3 => small.prop_filter_map("refused", move |n| make(algorithm, n)),
        3 => ordinary.prop_filter_map("refused", move |n| make(algorithm, n)),
        2 => edge.prop_filter_map("refused", move |n| make(algorithm, n)),
        1 => Union::new(edges(algorithm).into_iter().map(Just)),
    ]
    .boxed()
}

fn make(algorithm: Algorithm, (units, period, other): (u64, u64, u64)) -> Option<Limit> {
    let period = micros(period);
    match algorithm {
        // Half of them begin at the epoch, a quarter with a request, and a quarter by a calendar.
        Algorithm::FixedWindow => match other % 4 {
            2 => Limit::fixed_window_from_first(units, period),
            3 => Limit::fixed_window_of(
                units,
                calendars::number(usize::try_from(period.as_micros() % 97).ok()?),
            ),
            _ => Limit::fixed_window(units, period),
        },
        Algorithm::SlidingWindowLog => Limit::sliding_window_log(units, period),
        Algorithm::SlidingWindowCounter => Limit::sliding_window_counter(units, period),
        Algorithm::TokenBucket => Limit::token_bucket(units, Rate::new(other, period)),
        Algorithm::LeakyBucket => Limit::leaky_bucket(Rate::new(other, period), units),
    }
    .ok()
}

/// The last limits that the gate lets through, in each resolution, and the first that has another resolution.
///
/// # Panics
/// Where the gate refuses one of them.
#[must_use]
pub fn edges(algorithm: Algorithm) -> Vec<Limit> {
    // The longest span in microseconds (71 years) and twice that, in milliseconds.
    let longest = (1 << 51) - 1;
    let millis = 2_251_799_814_000_000;
    let numbers: &[(u64, u64, u64)] = match algorithm {
        Algorithm::SlidingWindowLog => {
            &[((1 << 53) - 1, longest, 0), ((1 << 53) - 1, 1, 0), (3, millis, 0), (0, longest, 0), (1, 1, 0)]
        }
        Algorithm::FixedWindow => &[
            ((1 << 53) - 1, longest, 0),
            ((1 << 53) - 1, 1, 0),
            (3, millis, 0),
            (0, longest, 0),
            (1, 1, 0),
            ((1 << 53) - 1, longest, 2),
            (3, millis, 2),
            (1, 1, 2),
            ((1 << 53) - 1, 5, 3),
            (0, 0, 3),
        ],
        Algorithm::SlidingWindowCounter => &[
            (3, longest, 0),
            ((1 << 53) - 2, 1, 0),
            ((1 << 52) - 2, 2, 0),
            (90_071_992_546, 100_000, 0),
            (1_000_000, 86_400_000_000, 0),
            (104_249_990, 86_400_000_000, 0),
        ],
        Algorithm::TokenBucket => &[
            ((1 << 51) - 1, 1, 1),
            (1, longest, 1),
            (1, 1, (1 << 53) - 3),
            (2, 1_125_899_906_842_000, 1),
            (1_000_003, 86_400_000_000, 7),
            (26_062_497, 86_400_000_000, 1),
            (0, 1_000_000, 0),
        ],
        Algorithm::LeakyBucket => &[
            ((1 << 51) - 2, 1, 1),
            (0, longest, 1),
            (0, 1, (1 << 53) - 3),
            (1_000_003, 86_400_000_000, 7),
            (26_062_496, 86_400_000_000, 1),
            (5, 1_000_000, 0),
        ],
    };
    numbers.iter().map(|&n| make(algorithm, n).unwrap_or_else(|| panic!("{algorithm} {n:?}"))).collect()
}

fn moves() -> impl Strategy<Value = Move> {
    let near = -1..=1_i8;
    prop_oneof![
        4 => Just(Move::Stay),
        4 => prop_oneof![0..4_u64, 0..100_000_u64, any::<u64>().prop_map(|n| n >> 24)].prop_map(Move::Ticks),
        4 => (0..3_u64, near.clone()).prop_map(|(windows, off)| Move::Edge(windows, off)),
        1 => (1..4_u64).prop_map(Move::Idle),
        3 => near.clone().prop_map(Move::Retry),
        2 => near.prop_map(Move::Reset),
        1 => prop_oneof![1..4_u64, any::<u64>().prop_map(|n| n >> 20)].prop_map(Move::Back),
        1 => (1..12_u64).prop_map(Move::BackPart),
    ]
}

fn units() -> impl Strategy<Value = Units> {
    prop_oneof![
        6 => prop_oneof![Just(1), 0..4_u64].prop_map(Units::Exactly),
        3 => (0..9_u64).prop_map(Units::Part),
        2 => (0..2_u64).prop_map(Units::Quota),
        3 => (0..2_u64).prop_map(Units::Remaining),
        4 => Just(Units::Same),
        1 => prop_oneof![Just(u64::MAX), Just(1 << 53), any::<u64>()].prop_map(Units::Exactly),
    ]
}

/// Limits of `algorithm` that hold nothing.
pub fn limit_zero(algorithm: Algorithm) -> BoxedStrategy<Limit> {
    (1..100_000_000_u64, 0..9_u64)
        .prop_filter_map("refused", move |(period, other)| match algorithm {
            // What blocks is that nothing ever leaves; a queue changes nothing.
            Algorithm::LeakyBucket => make(algorithm, (other, period, 0)),
            _ => make(algorithm, (0, period, other)),
        })
        .boxed()
}

/// A limit of `algorithm` and a history of up to `length` requests.
pub fn case(algorithm: Algorithm, reach: Reach, length: usize) -> BoxedStrategy<Case> {
    case_of(limit(algorithm), reach, length)
}

/// One of `limits` and a history of up to `length` requests.
pub fn case_of(limits: BoxedStrategy<Limit>, reach: Reach, length: usize) -> BoxedStrategy<Case> {
    let start = prop_oneof![Just(0), 0..20_u64, Just(1_760_000_000_000_000), Just(MAX_INSTANT), any::<u64>()];
    let limits = limits.prop_filter("no instant is as late", move |limit| room(limit, reach).is_some());
    (limits, start, vec((moves(), units()), 1..=length), 0..1_000_u64)
        .prop_map(move |(limit, start, path, late)| {
            let last = room(&limit, reach).unwrap_or(0);
            let start = if start > last { last - start % (1 + last / 2) } else { start };
            let mut walk = Walk::new(*limit.params(), start, last);
            let steps = path.into_iter().map(|(by, units)| walk.go(by, units)).collect();
            Case { limit, steps, late }
        })
        .boxed()
}

/// The last tick at which a history of `limit` may ask so that every wait that it is told ends within `reach`; `None`
/// where the limit's longest wait is longer than that.
fn room(limit: &Limit, reach: Reach) -> Option<u64> {
    match reach {
        Reach::Ticks => Some(MAX_INSTANT),
        Reach::Time => {
            let last = limit.resolution().tick(Timestamp::from_micros(MAX_INSTANT)) - 1;
            last.checked_sub(longest_wait(limit.params()))
        }
    }
}
