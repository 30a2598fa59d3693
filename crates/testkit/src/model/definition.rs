//! The five algorithms by definition: functions of the whole list of admitted requests.

use cupo_core::algorithm::ending_window::Edges;
use cupo_core::algorithm::{
    Params, State, ending_window, fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log,
    token_bucket,
};

use super::Entry;
use crate::calendars;

/// The most units that can be held at once.
#[must_use]
pub fn quota(params: &Params) -> i128 {
    match params {
        Params::FixedWindow(p) => i128::from(p.count),
        Params::EndingWindow(p) => i128::from(p.count),
        Params::SlidingWindowLog(p) => i128::from(p.count),
        Params::SlidingWindowCounter(p) => i128::from(p.count),
        Params::TokenBucket(p) => i128::from(p.capacity),
        // The queue and the place in service, where anything is ever served.
        Params::LeakyBucket(p) => i128::from(p.rate.min(1)) * (i128::from(p.queue) + 1),
    }
}

/// Whether a request of `cost` units has room at tick `at`, after `history`.
#[must_use]
pub fn fits(params: &Params, history: &[Entry], at: i128, cost: i128) -> bool {
    let units = |counts: &dyn Fn(&Entry) -> bool| -> i128 {
        history.iter().filter(|entry| counts(entry)).map(|entry| entry.cost).sum()
    };
    match params {
        Params::FixedWindow(p) => {
            // What was admitted in the window that `at` lies in.
            let window = i128::from(p.window);
            units(&|entry| entry.at / window == at / window) + cost <= i128::from(p.count)
        }
        Params::EndingWindow(p) => {
            let used = open_window(p, history).filter(|(end, _)| at < *end).map_or(0, |(_, used)| used);
            used + cost <= i128::from(p.count)
        }
        Params::SlidingWindowLog(p) => {
            // What is younger than the window; an entry of age exactly W is gone.
            units(&|entry| at - entry.at < i128::from(p.window)) + cost <= i128::from(p.count)
        }
        Params::SlidingWindowCounter(p) => {
            let window = i128::from(p.window);
            let current = units(&|entry| entry.at / window == at / window);
            let previous = units(&|entry| entry.at / window == at / window - 1);
            let elapsed = at % window;
            previous * (window - elapsed) / window + current + cost <= i128::from(p.count)
        }
        Params::TokenBucket(p) => level(p, history, at) >= cost * i128::from(p.period),
        Params::LeakyBucket(p) => {
            // Its last unit waits at most as long as the queue takes: Q units at P/R each. Times are in 1/R ticks.
            let (rate, period) = (i128::from(p.rate), i128::from(p.period));
            let first = next_slot(p, history).max(at * rate);
            let last = first + (cost - 1) * period;
            rate > 0 && last - at * rate <= i128::from(p.queue) * period
        }
    }
}

/// How long a request that is admitted at `at` is held, in whole ticks, rounded up.
#[must_use]
pub fn delay(params: &Params, history: &[Entry], at: i128) -> i128 {
    let Params::LeakyBucket(p) = params else { return 0 };
    let rate = i128::from(p.rate);
    let wait = next_slot(p, history).max(at * rate) - at * rate;
    (wait + rate - 1) / rate
}

/// What a state remembers of the clock once `history` was admitted, the last of it at `at`.
#[must_use]
pub fn remembered(params: &Params, history: &[Entry], at: i128) -> i128 {
    match params {
        // The end of the window, before which the longest wait begins.
        Params::EndingWindow(p) => {
            open_window(p, history).map_or(0, |(end, _)| end) - i128::from(longest_window(p))
        }
        Params::FixedWindow(fixed_window::Params { window, .. })
        | Params::SlidingWindowCounter(sliding_window_counter::Params { window, .. }) => {
            at - at % i128::from(*window)
        }
        _ => at,
    }
}

/// The end of the window that was opened last, and the units that fell in it: every request falls in the window that is open,
/// or opens one.
fn open_window(params: &ending_window::Params, history: &[Entry]) -> Option<(i128, i128)> {
    let mut open: Option<(i128, i128)> = None;
    for entry in history {
        open = Some(match open {
            Some((end, used)) if entry.at < end => (end, used + entry.cost),
            _ => (end_of_window(params, entry.at), entry.cost),
        });
    }
    open
}

/// The end of a window that is opened at `at`: the next edge of the list.
fn end_of_window(params: &ending_window::Params, at: i128) -> i128 {
    match params.edges {
        Edges::FirstRequest { window } => at + i128::from(window),
        Edges::Calendar(calendar) => {
            let edges = calendars::edges(calendar);
            let next = edges.get(edges.partition_point(|edge| i128::from(*edge) <= at));
            next.map_or_else(
                || {
                    let (last, length) = last_window(edges);
                    last + ((at - last) / length + 1) * length
                },
                |edge| i128::from(*edge),
            )
        }
    }
}

fn longest_window(params: &ending_window::Params) -> u64 {
    match params.edges {
        Edges::FirstRequest { window } => window,
        Edges::Calendar(calendar) => {
            let edges = calendars::edges(calendar);
            let lengths = edges.windows(2).map(|pair| pair[1] - pair[0]);
            lengths.chain([edges[0]]).max().unwrap()
        }
    }
}

/// The last edge, and the length of the window before it, which goes on for ever.
fn last_window(edges: &[u64]) -> (i128, i128) {
    let [.., before, last] = *edges else { panic!("two edges at least") };
    (i128::from(last), i128::from(last - before))
}

/// The level of a token bucket at `at`, in 1/P of a token, which makes the continuous refill a whole number: the
/// bucket's life from the beginning of time, when it was full.
fn level(params: &token_bucket::Params, history: &[Entry], at: i128) -> i128 {
    let (refill, period) = (i128::from(params.refill), i128::from(params.period));
    let full = i128::from(params.capacity) * period;
    let (mut level, mut last) = (full, 0);
    for entry in history {
        level = full.min(level + (entry.at - last) * refill) - entry.cost * period;
        last = entry.at;
    }
    full.min(level + (at - last) * refill)
}

/// The first slot that nobody has taken, in 1/R of a tick: every unit takes the first slot that is free at its
/// arrival, and the slot after it is P/R ticks later.
#[must_use]
pub fn next_slot(params: &leaky_bucket::Params, history: &[Entry]) -> i128 {
    let mut free = 0;
    for entry in history {
        free = free.max(entry.at * i128::from(params.rate)) + entry.cost * i128::from(params.period);
    }
    free
}

/// The state that stands for `history` where the clock was last seen at `seen`.
#[must_use]
pub fn state(params: &Params, history: &[Entry], seen: i128) -> State {
    let whole = |n: i128| u64::try_from(n).unwrap();
    let units_of_window = |window: u64, index: i128| -> u64 {
        whole(history.iter().filter(|e| e.at / i128::from(window) == index).map(|e| e.cost).sum())
    };
    match params {
        Params::FixedWindow(p) => State::FixedWindow(fixed_window::State {
            start: whole(seen),
            count: units_of_window(p.window, seen / i128::from(p.window)),
        }),
        Params::EndingWindow(p) => {
            let (end, used) = open_window(p, history).unwrap();
            State::EndingWindow(ending_window::State { end: whole(end), count: whole(used) })
        }
        Params::SlidingWindowCounter(p) => {
            let index = seen / i128::from(p.window);
            State::SlidingWindowCounter(sliding_window_counter::State {
                start: whole(seen),
                previous: units_of_window(p.window, index - 1),
                current: units_of_window(p.window, index),
            })
        }
        Params::SlidingWindowLog(p) => {
            let mut live: Vec<sliding_window_log::Entry> = Vec::new();
            for entry in history.iter().filter(|e| seen - e.at < i128::from(p.window)) {
                let (at, cost) = (whole(entry.at), whole(entry.cost));
                match live.iter_mut().find(|e| e.at == at) {
                    Some(same) => same.cost += cost,
                    None => live.push(sliding_window_log::Entry { at, cost }),
                }
            }
            State::SlidingWindowLog(sliding_window_log::State::from_entries(live))
        }
        Params::TokenBucket(p) => {
            let full = i128::from(p.capacity) * i128::from(p.period);
            let missing = whole(full - level(p, history, seen));
            State::TokenBucket(token_bucket::State { missing, at: whole(seen) })
        }
        Params::LeakyBucket(p) => {
            let drained = seen * i128::from(p.rate);
            State::LeakyBucket(leaky_bucket::State {
                backlog: whole(next_slot(p, history).max(drained) - drained),
                at: whole(seen),
            })
        }
    }
}
