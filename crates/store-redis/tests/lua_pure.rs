//! The decide functions in Lua against those in Rust, and both against the naive models: verdict, all fields, and the
//! whole next state.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

#[path = "lua/pure.rs"]
mod pure;
#[path = "lua/scripts.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod scripts;

use cupo_core::algorithm::{
    Change, Charge, Params, State, ending_window, fixed_window, leaky_bucket, sliding_window_counter,
    sliding_window_log, token_bucket,
};
use cupo_core::number::{DOMAIN, MAX_INSTANT};
use cupo_core::{Algorithm, Decision, Limit};
use cupo_testkit::calendars;
use cupo_testkit::laws;
use cupo_testkit::model::Model;
use cupo_testkit::strategy::{self, Case, Reach};
use cupo_testkit::subject::Subject;
use cupo_testkit::vectors;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{TestCaseError, TestRunner};

use pure::Pure;

/// One step in both languages, compared; the decision and the state after it.
fn step(
    pure: &Pure,
    params: &Params,
    state: Option<&State>,
    now: u64,
    cost: u64,
) -> Result<(Decision<u64>, Option<State>), String> {
    let (decision, change) = params.decide(state, now, cost);
    let mut next = state.cloned();
    params.apply(&mut next, change);
    let (in_lua, next_in_lua) = pure.decide(params, state, now, cost);
    let next_in_lua = next_in_lua.or_else(|| state.cloned());
    if (decision, &next) != (in_lua, &next_in_lua) {
        return Err(format!(
            "{params:?} {state:?} asked {cost} at {now}\nrust {decision:?} {next:?}\nlua  {in_lua:?} {next_in_lua:?}"
        ));
    }
    // What another limit has left in a bucket may end outside the domain, and is never asked for its end.
    let windows =
        matches!(params, Params::FixedWindow(_) | Params::EndingWindow(_) | Params::SlidingWindowCounter(_));
    if let Some(next) = next.as_ref().filter(|&next| windows || Some(next) != state) {
        let (expires_at, in_lua) = (params.expires_at(next), pure.expires_at(params, next));
        if in_lua.is_some_and(|in_lua| in_lua != expires_at) {
            return Err(format!("{params:?} {next:?} expires at {expires_at}, in lua {in_lua:?}"));
        }
    }
    Ok((decision, next))
}

/// The same, and the model.
fn modelled(
    pure: &Pure,
    model: &mut Model,
    state: &mut Option<State>,
    now: u64,
    cost: u64,
) -> Result<(), String> {
    let params = *model.params();
    let before = state.clone();
    let decision;
    (decision, *state) = step(pure, &params, state.as_ref(), now, cost)?;
    let expected = model.ask(now, cost);
    if decision == expected && *state == model.state() {
        return Ok(());
    }
    let after = model.state();
    Err(format!(
        "{params:?} {before:?} asked {cost} at {now}\n{decision:?} {state:?}\n{expected:?} {after:?}"
    ))
}

#[test]
fn the_files_hold_nothing_but_functions() {
    for name in scripts::PURE {
        let text = scripts::file(name);
        for forbidden in ["redis", "KEYS", "ARGV", "os.", "math.random", "tostring", ".."] {
            let found =
                text.lines().find(|line| !line.trim_start().starts_with("--") && line.contains(forbidden));
            assert_eq!(found, None, "{name}.lua");
        }
    }
    // Globals are gone before the first call, and any use of one is an error: see `Pure`.
    let pure = Pure::new();
    assert_eq!(pure.call("floor_div", &[Some(7), Some(2)]), [Some(3)]);
}

#[test]
fn the_numbers_are_those_of_rust() {
    let pure = Pure::new();
    let far = DOMAIN - 1;
    for a in (0..20).chain([far / 2, far - 1, far]) {
        for b in (0..20).chain([far / 3, far / 2, far - 1, far]) {
            let expected = [
                ("floor_div", a.checked_div(b).unwrap_or(0)),
                ("ceil_div", if b == 0 { 0 } else { a.div_ceil(b) }),
                ("saturating_sub", a.saturating_sub(b)),
                ("max", a.max(b)),
                ("min", a.min(b)),
            ];
            for (name, expected) in expected {
                assert_eq!(pure.call(name, &[Some(a), Some(b)]), [Some(expected)], "{name} {a} {b}");
            }
        }
    }
}

#[test]
fn the_frozen_traces_are_followed() {
    let pure = Pure::new();
    for algorithm in Algorithm::ALL {
        let mut steps = 0;
        for trace in vectors::frozen(algorithm) {
            let mut state = None;
            for recorded in trace.steps {
                let (now, cost) = (recorded.now, recorded.cost);
                let (decision, next) = pure.decide(&trace.params, state.as_ref(), now, cost);
                state = next.or(state);
                assert_eq!(decision, recorded.decision, "{algorithm}, {}: {cost} at {now}", trace.name);
                assert_eq!(state, recorded.state, "{algorithm}, {}: {cost} at {now}", trace.name);
                steps += 1;
            }
        }
        assert!(steps > 100, "{algorithm}: only {steps} steps");
    }
}

/// All sequences of up to `depth` steps over `gaps` (ticks, also backwards) and `costs`; how many steps that were.
fn all(pure: &Pure, model: &Model, state: Option<&State>, now: u64, depth: u32, gaps: &[i64]) -> u64 {
    let mut steps = 0;
    for gap in gaps.iter().filter(|_| depth > 0) {
        let now = now.saturating_add_signed(*gap);
        for cost in [0, 1, 2, 4] {
            let (mut model, mut state) = (model.clone(), state.cloned());
            let before = model.history().len();
            modelled(pure, &mut model, &mut state, now, cost)
                .unwrap_or_else(|difference| panic!("{difference}"));
            // What was not charged leads to nothing that the other gaps do not reach.
            let deeper = if model.history().len() == before { 0 } else { depth - 1 };
            steps += 1 + all(pure, &model, state.as_ref(), now, deeper, gaps);
        }
    }
    steps
}

/// Every combination of small numbers.
fn grid(a: &[u64], b: &[u64], c: &[u64]) -> Vec<(u64, u64, u64)> {
    let pairs = a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b)));
    pairs.flat_map(|(a, b)| c.iter().map(move |&c| (a, b, c))).collect()
}

/// Every small limit of an algorithm, and the gaps that matter to it.
fn small(algorithm: Algorithm) -> Vec<(Params, Vec<i64>)> {
    let windows = grid(&[0, 1, 2, 3], &[1, 2, 3, 5], &[0]);
    let buckets = grid(&[1, 2, 3], &[1, 2, 3], &[1, 2, 5]);
    let make = |(a, b, c)| match algorithm {
        Algorithm::FixedWindow => Params::FixedWindow(fixed_window::Params { count: a, window: b }),
        Algorithm::SlidingWindowLog => {
            Params::SlidingWindowLog(sliding_window_log::Params { count: a, window: b })
        }
        Algorithm::SlidingWindowCounter => {
            Params::SlidingWindowCounter(sliding_window_counter::Params { count: a, window: b })
        }
        Algorithm::TokenBucket => {
            Params::TokenBucket(token_bucket::Params { capacity: a, refill: b, period: c })
        }
        Algorithm::LeakyBucket => {
            Params::LeakyBucket(leaky_bucket::Params { rate: a, period: c, queue: b - 1 })
        }
    };
    let ending = |count, edges| Params::EndingWindow(ending_window::Params { count, edges });
    let first = |(a, b, _)| ending(a, ending_window::Edges::FirstRequest { window: b });
    let of = |count| ending(count, ending_window::Edges::Calendar(calendars::number(0)));
    let variants: Vec<_> = match algorithm {
        Algorithm::FixedWindow => {
            let by_calendar = (0..4).map(|count| (of(count), vec![0, 1, 3, 7, -1, -6]));
            windows.iter().map(|n| (first(*n), gaps_of(algorithm, n.1))).chain(by_calendar).collect()
        }
        _ => Vec::new(),
    };
    let (numbers, nothing) = match algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => (buckets, Some((0, 1, 1))),
        _ => (windows, None),
    };
    numbers.into_iter().chain(nothing).map(|n| (make(n), gaps_of(algorithm, n.1))).chain(variants).collect()
}

fn gaps_of(algorithm: Algorithm, window: u64) -> Vec<i64> {
    let window = window.cast_signed();
    match algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket => vec![0, 1, 4, -1],
        _ => vec![0, 1, window - 1, window, 2 * window, -1],
    }
}

#[test]
fn every_small_history() {
    let pure = Pure::new();
    for algorithm in Algorithm::ALL {
        let limits = small(algorithm);
        let steps: u64 =
            limits.iter().map(|(params, gaps)| all(&pure, &Model::new(*params), None, 3, 4, gaps)).sum();
        assert!(steps > 10_000, "{algorithm}: only {steps} steps");
    }
}

fn refund(
    params: &leaky_bucket::Params,
    state: &leaky_bucket::State,
    now: u64,
    cost: u64,
    end: u64,
) -> Option<leaky_bucket::State> {
    let charge = Charge { at: now, end, cost };
    match Params::LeakyBucket(*params).refund(Some(&State::LeakyBucket(*state)), now, charge) {
        Change::LeakyBucket(state) => Some(state),
        _ => None,
    }
}

/// Small states of small leaky buckets, and every claim about the end of a cancelled request.
#[test]
fn every_small_cancellation() {
    let pure = Pure::new();
    let mut taken_back = 0;
    for (rate, period, queue) in grid(&[1, 2], &[2, 3, 5], &[0, 1, 3]) {
        let params = leaky_bucket::Params { rate, period, queue };
        for (backlog, at) in (0..=(queue + 2) * period).flat_map(|backlog| [(backlog, 0), (backlog, 5)]) {
            let state = leaky_bucket::State { backlog, at };
            let expires_at = leaky_bucket::expires_at(&params, &state);
            for (now, cost) in (0..12).flat_map(|now| [0, 1, 2, 5].map(|cost| (now, cost))) {
                for end in [expires_at.saturating_sub(1), expires_at, expires_at + 1] {
                    let expected = refund(&params, &state, now, cost, end);
                    let in_lua = pure.cancel(&params, &state, now, cost, end);
                    assert_eq!(in_lua, expected, "{params:?} {state:?} {cost} at {now}, end {end}");
                    taken_back += u32::from(in_lua.is_some());
                }
            }
        }
    }
    assert!(taken_back > 500, "only {taken_back} slots were taken back");
}

/// The limit in Lua, as a subject of the laws.
struct InLua<'a> {
    pure: &'a Pure,
    params: Params,
    state: Option<State>,
}

impl Subject for InLua<'_> {
    fn ask(&mut self, now: u64, cost: u64) -> Decision<u64> {
        let (decision, next) = self.pure.decide(&self.params, self.state.as_ref(), now, cost);
        self.state = next.or(self.state.take());
        decision
    }

    fn forget_expired(&mut self, now: u64) {
        let at = |state: &State| self.pure.expires_at(&self.params, state);
        self.state.take_if(|state| at(state).unwrap_or_else(|| self.params.expires_at(state)) <= now);
    }

    fn is_absent(&self) -> Option<bool> {
        Some(self.state.is_none())
    }
}

#[test]
fn the_laws_hold() {
    let pure = Pure::new();
    for algorithm in Algorithm::ALL {
        let test = |Case { limit, steps, .. }: Case| {
            let params = *limit.params();
            let make = || -> Box<dyn Subject + '_> { Box::new(InLua { pure: &pure, params, state: None }) };
            for (_, name, law) in laws::ALL {
                law(&limit, &make, &steps)
                    .map_err(|broken| TestCaseError::fail(format!("{name}: {broken}")))?;
            }
            Ok(())
        };
        let cases = strategy::case(algorithm, Reach::Ticks, 20);
        TestRunner::new(strategy::config(16))
            .run(&cases, test)
            .unwrap_or_else(|e| panic!("{algorithm}: {e}"));
    }
}

#[test]
fn random_histories() {
    let pure = Pure::new();
    for algorithm in Algorithm::ALL {
        let test = |Case { limit, steps, .. }: Case| {
            let (mut model, mut state) = (Model::new(*limit.params()), None);
            for request in steps {
                modelled(&pure, &mut model, &mut state, request.now, request.cost)
                    .map_err(TestCaseError::fail)?;
            }
            Ok(())
        };
        let cases = strategy::case(algorithm, Reach::Ticks, 60);
        TestRunner::new(strategy::config(48))
            .run(&cases, test)
            .unwrap_or_else(|e| panic!("{algorithm}: {e}"));
    }
}

/// A number near one of `edges`, or of any size below `end`.
fn number(seed: u64, edges: &[u64], end: u64) -> u64 {
    let near = |edge: u64| (edge + (seed >> 16) % 3).saturating_sub(1);
    let any = || (seed >> 11) >> ((seed >> 3) % 53);
    let index = usize::try_from((seed >> 8) % 256).unwrap() % edges.len();
    if seed.is_multiple_of(4) { any() % end } else { near(edges[index]) % end }
}

/// A state that another limit of the same algorithm may have left, an instant and a cost.
fn question(limit: &Limit, seeds: [u64; 5]) -> (Option<State>, u64, u64) {
    let [one, two, three, now, cost] = seeds;
    let now = number(now, &[0, 1_760_000_000_000_000, 1_760_000_000_000, MAX_INSTANT - 1], MAX_INSTANT + 1);
    let times = |span: u64| {
        let ago = |n: u64| now.saturating_sub(span.saturating_mul(n));
        [now, ago(1), ago(2), now.saturating_add(span), now.saturating_add(1)]
    };
    let at = |seed, span| number(seed, &times(span), MAX_INSTANT + 1);
    let units = |seed, units: u64| number(seed, &[0, 1, units / 2, units, DOMAIN - 2], DOMAIN);
    let quota = limit.quota();
    let start = |seed, window| at(seed, window) / window * window;
    let state = match limit.params() {
        _ if one % 16 == 1 => None,
        Params::FixedWindow(p) => {
            let start = start(one, p.window);
            Some(State::FixedWindow(fixed_window::State { start, count: units(two, quota) }))
        }
        Params::EndingWindow(p) => {
            let end = at(one, p.longest());
            Some(State::EndingWindow(ending_window::State { end, count: units(two, quota) }))
        }
        Params::SlidingWindowLog(p) => {
            let ticks = [at(one, p.window), at(two, p.window), at(three, p.window)];
            let cost = |seed| units(seed, quota) / 4 + 1;
            let mut entries: Vec<_> =
                ticks.iter().map(|&at| sliding_window_log::Entry { at, cost: cost(one ^ at) }).collect();
            entries.sort_by_key(|entry| entry.at);
            entries.dedup_by_key(|entry| entry.at);
            Some(State::SlidingWindowLog(sliding_window_log::State::from_entries(entries)))
        }
        Params::SlidingWindowCounter(p) => {
            let (start, previous, current) = (start(one, p.window), units(two, quota), units(three, quota));
            Some(State::SlidingWindowCounter(sliding_window_counter::State { start, previous, current }))
        }
        Params::TokenBucket(p) => {
            let missing = number(
                one,
                &[0, p.period, p.capacity / 2 * p.period, p.capacity * p.period, DOMAIN - 2],
                DOMAIN,
            );
            let at = at(two, p.period.div_ceil(p.refill.max(1)));
            Some(State::TokenBucket(token_bucket::State { missing, at }))
        }
        Params::LeakyBucket(p) => {
            let full = (p.queue + 1) * p.period;
            let backlog = number(one, &[0, p.period, full / 2, full - p.period, full, DOMAIN - 2], DOMAIN);
            let at = at(two, p.period.div_ceil(p.rate.max(1)));
            Some(State::LeakyBucket(leaky_bucket::State { backlog, at }))
        }
    };
    (state, now, number(cost, &[0, 1, 2, quota, quota / 2], u64::MAX))
}

/// Also states that this limit cannot reach: the numbers of a rule may change while its keys live on.
#[test]
fn random_states() {
    let pure = Pure::new();
    for algorithm in Algorithm::ALL {
        let questions = (strategy::limit(algorithm), vec(any::<[u64; 5]>(), 50));
        let test = |(limit, seeds): (Limit, Vec<[u64; 5]>)| {
            for seeds in seeds {
                let (state, now, cost) = question(&limit, seeds);
                step(&pure, limit.params(), state.as_ref(), now, cost).map_err(TestCaseError::fail)?;
                if let (Params::LeakyBucket(p), Some(State::LeakyBucket(s))) = (limit.params(), &state) {
                    let end = leaky_bucket::expires_at(p, s).saturating_add(seeds[4] % 3).saturating_sub(1);
                    // No decision on this limit's own states names an end outside the domain.
                    let (cost, end) = (cost.min(limit.quota()), end.min(DOMAIN - 1));
                    if leaky_bucket::expires_at(p, s) >= DOMAIN {
                        continue;
                    }
                    let expected = refund(p, s, now, cost, end);
                    assert_eq!(pure.cancel(p, s, now, cost, end), expected, "{p:?} {s:?} {now} {cost} {end}");
                }
            }
            Ok(())
        };
        TestRunner::new(strategy::config(1_200))
            .run(&questions, test)
            .unwrap_or_else(|e| panic!("{algorithm}: {e}"));
    }
}
