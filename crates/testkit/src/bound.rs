//! What each algorithm promises about the whole: its stated bound on the units admitted in an interval.

use cupo_core::Params;
use cupo_core::algorithm::ending_window::Edges;

use crate::model::definition::quota;

/// The most units that may be admitted from one tick to another that is `span` ticks later, both included, wherever
/// the two lie: an interval of `span + 1` ticks.
#[must_use]
pub fn units_within(params: &Params, span: u64) -> i128 {
    let span = i128::from(span);
    let windows = |window: u64| (span + i128::from(window) - 1) / i128::from(window) + 1;
    match params {
        // L in each window that the interval touches.
        Params::FixedWindow(p) => i128::from(p.count) * windows(p.window),
        // No two windows begin closer to each other than the shortest is long.
        Params::EndingWindow(p) => {
            i128::from(p.count)
                * windows(match p.edges {
                    Edges::FirstRequest { window } => window,
                    Edges::Calendar(calendar) => calendar.shortest(),
                })
        }
        // The same; within W the window before weighs what the time that has passed leaves of it.
        Params::SlidingWindowCounter(p) => {
            let (count, window) = (i128::from(p.count), i128::from(p.window));
            match span {
                0 => count,
                _ if span <= window => count + (count * (span - 1) + window - 1) / window,
                _ => count * windows(p.window),
            }
        }
        // L in any W ticks, so the interval is cut into pieces of W ticks.
        Params::SlidingWindowLog(p) => i128::from(p.count) * (span / i128::from(p.window) + 1),
        Params::TokenBucket(p) => i128::from(p.capacity) + span * i128::from(p.refill) / i128::from(p.period),
        Params::LeakyBucket(p) => quota(params) + span * i128::from(p.rate) / i128::from(p.period),
    }
}

/// The most units that may be admitted in the window that `tick` lies in, and the window's start, for the algorithms whose
/// windows begin at set times.
#[must_use]
pub fn units_of_window(params: &Params, tick: u64) -> Option<(i128, u64)> {
    match params {
        Params::FixedWindow(p) => Some((i128::from(p.count), tick - tick % p.window)),
        Params::SlidingWindowCounter(p) => Some((i128::from(p.count), tick - tick % p.window)),
        Params::EndingWindow(p) => match p.edges {
            Edges::Calendar(calendar) => Some((i128::from(p.count), calendar.window(tick).0)),
            Edges::FirstRequest { .. } => None,
        },
        _ => None,
    }
}

/// Whether `requests` may be released from one tick to another that is `span` ticks later, both included. Their slots
/// are at least P/R apart; a release waits for the first whole tick of its slot, which brings two of them together by
/// less than one tick.
#[must_use]
pub fn releases_fit(params: &Params, requests: u64, span: u64) -> bool {
    match params {
        Params::LeakyBucket(p) if requests > 1 => {
            i128::from(requests - 1) * i128::from(p.period) < (i128::from(span) + 1) * i128::from(p.rate)
        }
        _ => true,
    }
}

/// The longest that anybody has to wait for anything: for a request that is not impossible, and for the whole quota.
#[must_use]
pub fn longest_wait(params: &Params) -> u64 {
    let (count, per) = match params {
        Params::FixedWindow(p) => return p.window,
        Params::EndingWindow(p) => return p.longest(),
        Params::SlidingWindowLog(p) => return p.window,
        Params::SlidingWindowCounter(p) => return 2 * p.window,
        Params::TokenBucket(p) => (quota(params) * i128::from(p.period), i128::from(p.refill)),
        Params::LeakyBucket(p) => (quota(params) * i128::from(p.period), i128::from(p.rate)),
    };
    // Nothing is waited for where nothing can be had.
    if per == 0 { 0 } else { u64::try_from((count + per - 1) / per).unwrap() }
}
