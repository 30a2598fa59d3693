//! The algorithms against the naive reference models: everything small, exhaustively, and much that is large, at random.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use cupo_core::algorithm::ending_window::Edges;
use cupo_core::algorithm::{
    Params, State, ending_window, fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log,
    token_bucket,
};
use cupo_core::{Algorithm, Limit};
use cupo_testkit::calendars;
use cupo_testkit::model::Model;
use cupo_testkit::strategy::{self, Case, Reach};
use proptest::test_runner::{TestCaseError, TestRunner};

/// One step of both, compared: the decision, and the state with what sums the history up.
fn step(model: &mut Model, state: &mut Option<State>, now: u64, cost: u64) -> Result<(), String> {
    let params = *model.params();
    let before = state.clone();
    let (decision, change) = params.decide(state.as_ref(), now, cost);
    params.apply(state, change);
    let expected = model.ask(now, cost);
    let complain = |what: &str| {
        let history = model.history();
        format!(
            "{what} differs: {params:?}\nafter {history:?}\nstate {before:?} asked {cost} at {now}\n\
             decided {decision:?}\nmodel   {expected:?}\nstate {state:?}\nmodel {:?}",
            model.state()
        )
    };
    if decision != expected {
        return Err(complain("the decision"));
    }
    if *state != model.state() {
        return Err(complain("the state"));
    }
    Ok(())
}

/// All sequences of `depth` steps over `gaps` (ticks, also backwards) and `costs`; how many steps that were.
fn all(model: &Model, state: Option<&State>, now: u64, depth: u32, gaps: &[i64], costs: &[u64]) -> u64 {
    let mut steps = 0;
    if depth == 0 {
        return 0;
    }
    for gap in gaps {
        let now = now.saturating_add_signed(*gap);
        for cost in costs {
            let (mut model, mut state) = (model.clone(), state.cloned());
            step(&mut model, &mut state, now, *cost).unwrap_or_else(|difference| panic!("{difference}"));
            // What changed nothing leads nowhere new but in time, which the other gaps reach.
            let deeper = if model.history().is_empty() { depth - 1 } else { depth }.saturating_sub(1);
            steps += 1 + all(&model, state.as_ref(), now, deeper, gaps, costs);
        }
    }
    steps
}

fn exhaust(all_params: &[Params], gaps: impl Fn(&Params) -> Vec<i64>, costs: &[u64]) {
    let mut steps = 0;
    for params in all_params {
        steps += all(&Model::new(*params), None, 3, 4, &gaps(params), costs);
    }
    assert!(steps > 30_000, "only {steps} steps");
}

/// Every combination of small numbers.
fn grid(a: &[u64], b: &[u64], c: &[u64]) -> Vec<(u64, u64, u64)> {
    let pairs = a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b)));
    pairs.flat_map(|(a, b)| c.iter().map(move |&c| (a, b, c))).collect()
}

fn signed(ticks: u64) -> i64 {
    i64::try_from(ticks).unwrap()
}

#[test]
fn every_small_fixed_window() {
    let params = grid(&[0, 1, 2, 3], &[1, 2, 3, 5], &[0])
        .into_iter()
        .map(|(count, window, _)| Params::FixedWindow(fixed_window::Params { count, window }));
    let gaps = |p: &Params| {
        let Params::FixedWindow(p) = p else { panic!() };
        vec![0, 1, signed(p.window), -1]
    };
    exhaust(&params.collect::<Vec<_>>(), gaps, &[0, 1, 2, 4]);
}

#[test]
fn every_small_window_from_the_first_request() {
    let params = grid(&[0, 1, 2, 3], &[1, 2, 3, 5], &[0]).into_iter().map(|(count, window, _)| {
        Params::EndingWindow(ending_window::Params { count, edges: Edges::FirstRequest { window } })
    });
    let gaps = |p: &Params| {
        let Params::EndingWindow(p) = p else { panic!() };
        vec![0, 1, signed(p.longest()) - 1, signed(p.longest()), -1]
    };
    exhaust(&params.collect::<Vec<_>>(), gaps, &[0, 1, 2, 4]);
}

#[test]
fn every_small_window_of_a_calendar() {
    let params = grid(&[0, 1, 2, 3], &[0, 1], &[0]).into_iter().map(|(count, n, _)| {
        let calendar = calendars::number(usize::try_from(n).unwrap());
        Params::EndingWindow(ending_window::Params { count, edges: Edges::Calendar(calendar) })
    });
    exhaust(&params.collect::<Vec<_>>(), |_| vec![0, 1, 3, 7, -1, -6], &[0, 1, 2, 4]);
}

#[test]
fn every_small_sliding_window_log() {
    let params = grid(&[0, 1, 2, 3], &[1, 2, 3, 5], &[0])
        .into_iter()
        .map(|(count, window, _)| Params::SlidingWindowLog(sliding_window_log::Params { count, window }));
    let gaps = |p: &Params| {
        let Params::SlidingWindowLog(p) = p else { panic!() };
        vec![0, 1, signed(p.window) - 1, signed(p.window), -1]
    };
    exhaust(&params.collect::<Vec<_>>(), gaps, &[0, 1, 2, 4]);
}

#[test]
fn every_small_sliding_window_counter() {
    let params = grid(&[0, 1, 3, 4], &[1, 2, 3, 5], &[0]).into_iter().map(|(count, window, _)| {
        Params::SlidingWindowCounter(sliding_window_counter::Params { count, window })
    });
    let gaps = |p: &Params| {
        let Params::SlidingWindowCounter(p) = p else { panic!() };
        vec![0, 1, signed(p.window), 2 * signed(p.window), -1]
    };
    exhaust(&params.collect::<Vec<_>>(), gaps, &[0, 1, 2, 4]);
}

#[test]
fn every_small_token_bucket() {
    let params = grid(&[1, 2, 3], &[1, 2, 3], &[1, 2, 5]).into_iter().map(|(capacity, refill, period)| {
        Params::TokenBucket(token_bucket::Params { capacity, refill, period })
    });
    let nothing = Params::TokenBucket(token_bucket::Params { capacity: 0, refill: 1, period: 1 });
    exhaust(&params.chain([nothing]).collect::<Vec<_>>(), |_| vec![0, 1, 4, -1], &[0, 1, 2, 4]);
}

#[test]
fn every_small_leaky_bucket() {
    let params = grid(&[1, 2, 3], &[1, 2, 5], &[0, 1, 2])
        .into_iter()
        .map(|(rate, period, queue)| Params::LeakyBucket(leaky_bucket::Params { rate, period, queue }));
    let nothing = Params::LeakyBucket(leaky_bucket::Params { rate: 0, period: 1, queue: 2 });
    exhaust(&params.chain([nothing]).collect::<Vec<_>>(), |_| vec![0, 1, 4, -1], &[0, 1, 2, 4]);
}

/// Every sequence of requests and cancellations of a small leaky bucket. Rates above a unit per tick are left out: units
/// that share a tick cannot be told apart by the tick at which the bucket would have been empty.
#[test]
fn every_small_cancellation() {
    let mut cancelled = 0;
    for (rate, period, queue) in grid(&[1, 2], &[2, 3, 5], &[0, 1, 3]) {
        let params = leaky_bucket::Params { rate, period, queue };
        cancelled += cancellations(&Model::new(Params::LeakyBucket(params)), None, &[], 3, 6);
    }
    assert!(cancelled > 10_000, "only {cancelled} slots were taken back");
}

fn cancellations(model: &Model, state: Option<&State>, ends: &[(u64, u64)], now: u64, depth: u32) -> u64 {
    let Params::LeakyBucket(params) = *model.params() else { panic!() };
    let mut cancelled = 0;
    if depth == 0 {
        return 0;
    }
    for now in [now, now + 1, now + 3] {
        for cost in 1..=2 {
            let (mut model, mut state, mut ends) = (model.clone(), state.cloned(), ends.to_vec());
            step(&mut model, &mut state, now, cost).unwrap_or_else(|difference| panic!("{difference}"));
            if model.history().len() > ends.len() {
                let end = model.clock(now) + model.decide(now, 0).reset_after;
                ends.push((cost, end));
                cancelled += cancellations(&model, state.as_ref(), &ends, now, depth - 1);
            }
        }
        for (i, (cost, end)) in ends.iter().enumerate() {
            let (mut model, mut ends) = (model.clone(), ends.to_vec());
            let Some(State::LeakyBucket(state)) = state else { panic!() };
            let next = leaky_bucket::cancel(&params, state, now, *cost, *end);
            assert_eq!(next.is_some(), model.cancel(now, i), "{params:?} {state:?} {now} {cost} {end}");
            if let Some(next) = next {
                let next = State::LeakyBucket(next);
                assert_eq!(Some(&next), model.state().as_ref(), "{params:?} {state:?} {now} {cost} {end}");
                ends.pop();
                cancelled += 1 + cancellations(&model, Some(&next), &ends, now, depth - 1);
            }
        }
    }
    cancelled
}

fn at_random(algorithm: Algorithm) {
    let cases = strategy::case(algorithm, Reach::Ticks, 80);
    let test = |Case { limit, steps, .. }: Case| {
        let mut model = Model::new(*limit.params());
        let mut state = None;
        for request in steps {
            step(&mut model, &mut state, request.now, request.cost).map_err(TestCaseError::fail)?;
        }
        Ok(())
    };
    TestRunner::new(strategy::config(96)).run(&cases, test).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn random_fixed_windows() {
    at_random(Algorithm::FixedWindow);
}

#[test]
fn random_sliding_window_logs() {
    at_random(Algorithm::SlidingWindowLog);
}

#[test]
fn random_sliding_window_counters() {
    at_random(Algorithm::SlidingWindowCounter);
}

#[test]
fn random_token_buckets() {
    at_random(Algorithm::TokenBucket);
}

#[test]
fn random_leaky_buckets() {
    at_random(Algorithm::LeakyBucket);
}

/// The edges of the number domain are really reached by the generators.
#[test]
fn the_edges_are_limits() {
    for algorithm in Algorithm::ALL {
        let edges: Vec<Limit> = strategy::edges(algorithm);
        assert!(edges.iter().any(|l| l.resolution() == cupo_core::Resolution::Millis), "{algorithm}");
        assert!(edges.iter().any(|l| l.resolution() == cupo_core::Resolution::Micros), "{algorithm}");
    }
}
