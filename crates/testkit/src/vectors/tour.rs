//! The walk that is frozen: the same tour through several limits of each algorithm.

use cupo_core::Algorithm;
use cupo_core::algorithm::ending_window::Edges;
use cupo_core::algorithm::{
    Params, ending_window, fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log,
    token_bucket,
};
use cupo_core::number::{DOMAIN, MAX_INSTANT, MAX_SPAN};

use super::{Recorded, Trace};
use crate::bound::longest_wait;
use crate::calendars;
use crate::model::Model;
use crate::walk::{Move, Units, Walk};

const TOUR: [(Move, Units); 32] = [
    (Move::Stay, Units::Exactly(0)),
    // Two in one tick.
    (Move::Stay, Units::Exactly(1)),
    (Move::Stay, Units::Exactly(1)),
    (Move::Ticks(1), Units::Part(3)),
    // Denied, a tick too early, and exactly in time.
    (Move::Ticks(1), Units::Remaining(1)),
    (Move::Retry(-1), Units::Same),
    (Move::Retry(0), Units::Same),
    (Move::Stay, Units::Quota(1)),
    (Move::Stay, Units::Quota(0)),
    (Move::Retry(-1), Units::Same),
    (Move::Retry(0), Units::Same),
    (Move::Back(3), Units::Exactly(1)),
    (Move::Edge(0, -1), Units::Part(2)),
    (Move::Edge(0, 0), Units::Part(2)),
    (Move::Ticks(1), Units::Part(4)),
    (Move::Stay, Units::Remaining(0)),
    (Move::Stay, Units::Exactly(1)),
    (Move::Stay, Units::Exactly(0)),
    (Move::Reset(-1), Units::Exactly(0)),
    (Move::Reset(0), Units::Quota(0)),
    // The clock steps back, far and then farther.
    (Move::BackPart(6), Units::Exactly(1)),
    (Move::BackPart(6), Units::Part(1)),
    (Move::Retry(0), Units::Same),
    // Long idle, then a burst over an edge.
    (Move::Idle(1), Units::Exactly(0)),
    (Move::Ticks(1), Units::Exactly(1)),
    (Move::Idle(3), Units::Part(7)),
    (Move::Edge(0, -1), Units::Part(1)),
    (Move::Edge(0, 1), Units::Part(7)),
    (Move::Retry(0), Units::Same),
    (Move::Edge(1, 0), Units::Part(1)),
    (Move::Stay, Units::Exactly(DOMAIN - 1)),
    (Move::Edge(0, 0), Units::Exactly(2)),
];

const NOW: u64 = 1_760_000_000_123_456;

/// The limits of the tour: their name and numbers, and the tick at which the tour starts.
fn stops(algorithm: Algorithm) -> Vec<(&'static str, Params, u64)> {
    let windows = [
        ("a few units, from the epoch", 5, 10, 0),
        ("an odd window", 7, 9, 1_000),
        ("one unit", 1, 60_000_000, NOW),
        ("a hundred a minute", 100, 60_000_000, NOW),
        ("nothing", 0, 1_000, 50),
        ("the shortest window", 3, 1, 10),
    ];
    match algorithm {
        Algorithm::FixedWindow => {
            let edges = [
                ("most units", DOMAIN - 2, 1_000_000, NOW),
                ("the longest window", 9, MAX_SPAN, MAX_SPAN - 9),
            ];
            let params = |count, window| Params::FixedWindow(fixed_window::Params { count, window });
            let ending = |count, edges| Params::EndingWindow(ending_window::Params { count, edges });
            let first = |count, window| ending(count, Edges::FirstRequest { window });
            let of = |count, n| ending(count, Edges::Calendar(calendars::number(n)));
            let others = [
                ("a few units from the first request", first(5, 10), 7),
                ("a hundred a minute from the first request", first(100, 60_000_000), NOW),
                ("the longest window from the first request", first(9, MAX_SPAN), MAX_SPAN - 9),
                ("a few units by a calendar", of(5, 0), 0),
                ("one unit by a calendar of a tick or two", of(1, 1), 3),
                ("nothing by a calendar", of(0, 0), 2),
                ("the longest windows of a calendar", of(DOMAIN - 2, 5), MAX_SPAN - 9),
            ];
            let aligned = windows.into_iter().chain(edges);
            aligned.map(|(name, l, w, at)| (name, params(l, w), at)).chain(others).collect()
        }
        Algorithm::SlidingWindowLog => {
            let edges = [
                ("many units", DOMAIN / 2 - 1, 1_000_000, NOW),
                ("the longest window", 9, MAX_SPAN, MAX_SPAN - 9),
            ];
            let params =
                |count, window| Params::SlidingWindowLog(sliding_window_log::Params { count, window });
            windows.into_iter().chain(edges).map(|(name, l, w, at)| (name, params(l, w), at)).collect()
        }
        Algorithm::SlidingWindowCounter => {
            let edges = [
                ("largest product", 90_071_992_546, 100_000, NOW),
                ("the longest window", 3, MAX_SPAN, MAX_SPAN - 9),
                ("a million a day, in milliseconds", 1_000_000, 86_400_000, NOW / 1_000),
            ];
            let params = |count, window| {
                Params::SlidingWindowCounter(sliding_window_counter::Params { count, window })
            };
            windows.into_iter().chain(edges).map(|(name, l, w, at)| (name, params(l, w), at)).collect()
        }
        Algorithm::TokenBucket => [
            ("a few tokens, from the epoch", (5, 2, 7), 0),
            ("several tokens a tick", (9, 5, 2), 1_000),
            ("one token", (1, 1, 60_000_000), NOW),
            ("a burst of 20, 100 a minute", (20, 1, 600_000), NOW),
            ("nothing", (0, 1, 1_000), 50),
            ("most tokens", (MAX_SPAN, 1, 1), NOW),
            ("the longest period", (1, 1, MAX_SPAN), MAX_SPAN - 9),
            ("a million and 3 a day, in milliseconds", (1_000_003, 1_000_003, 86_400_000), NOW / 1_000),
        ]
        .into_iter()
        .map(|(name, (capacity, refill, period), at)| {
            (name, Params::TokenBucket(token_bucket::Params { capacity, refill, period }), at)
        })
        .collect(),
        Algorithm::LeakyBucket => [
            ("a few places, from the epoch", (2, 7, 4), 0),
            ("several units a tick", (5, 2, 8), 1_000),
            ("no queue", (1, 60_000_000, 0), NOW),
            ("100 a minute, 20 may wait", (1, 600_000, 20), NOW),
            ("nothing", (0, 1, 5), 50),
            ("most places", (1, 1, MAX_SPAN - 1), NOW),
            ("the longest period", (1, MAX_SPAN, 0), MAX_SPAN - 9),
            ("a million and 3 a day, in milliseconds", (1_000_003, 86_400_000, 1_000_002), NOW / 1_000),
        ]
        .into_iter()
        .map(|(name, (rate, period, queue), at)| {
            (name, Params::LeakyBucket(leaky_bucket::Params { rate, period, queue }), at)
        })
        .collect(),
    }
}

/// The traces of `algorithm` as they are decided now: decisions by the model, states by the algorithm.
///
/// # Panics
/// Where the two differ.
#[must_use]
pub fn traces(algorithm: Algorithm) -> Vec<Trace> {
    let trace = |(name, params, start): (&str, Params, u64)| {
        let mut walk = Walk::new(params, start, MAX_INSTANT - longest_wait(&params));
        let (mut model, mut state) = (Model::new(params), None);
        let mut steps = Vec::new();
        for (by, units) in TOUR {
            let step = walk.go(by, units);
            let (decided, change) = params.decide(state.as_ref(), step.now, step.cost);
            params.apply(&mut state, change);
            let decision = model.ask(step.now, step.cost);
            assert_eq!(decided, decision, "{name}: {step:?}");
            assert_eq!(state, model.state(), "{name}: {step:?}");
            steps.push(Recorded { now: step.now, cost: step.cost, decision, state: state.clone() });
        }
        Trace { name: name.to_owned(), params, steps }
    };
    stops(algorithm).into_iter().map(trace).collect()
}
