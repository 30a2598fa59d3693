//! Traffic across reloads: what was consumed stays consumed, and nobody waits for longer than the new limit makes anybody wait.

use core::time::Duration;
use std::borrow::Cow;
use std::sync::Arc;

use cupo_core::{
    Algorithm, Attributes, Decision, Engine, KeySpec, Limit, ManualClock, Params, Policy, PolicySource, Rate,
    RuleSource, Timestamp,
};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::prop_assert;
use proptest::test_runner::{TestCaseError, TestRunner};

use super::Setup;
use super::checks::NOW;
use crate::bound::units_within;
use crate::{calendars, strategy};

/// A request of this user, of so many units.
struct Request(&'static str, u64);

impl Attributes for Request {
    fn user(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(self.0.as_bytes()))
    }

    fn cost(&self) -> u64 {
        self.1
    }
}

const USERS: [&str; 3] = ["ada", "eva", "bob"];

/// What may come into force: few units, so that most limits are exhausted, over times of which several pass in a history.
fn limit(algorithm: Algorithm, (count, span, variant): (u64, u64, u8)) -> Limit {
    let window = Duration::from_secs([2, 5, 8, 60][usize::try_from(span % 4).unwrap()]);
    let rate = Rate::new(1 + span % 3, window);
    let made = match algorithm {
        Algorithm::FixedWindow if variant.is_multiple_of(3) => Limit::fixed_window_from_first(count, window),
        Algorithm::FixedWindow if variant % 3 == 1 => Limit::fixed_window_of(count, calendars::number(3)),
        Algorithm::FixedWindow => Limit::fixed_window(count, window),
        Algorithm::SlidingWindowLog => Limit::sliding_window_log(count, window),
        Algorithm::SlidingWindowCounter => Limit::sliding_window_counter(count, window),
        Algorithm::TokenBucket => Limit::token_bucket(count, rate),
        Algorithm::LeakyBucket => Limit::leaky_bucket(rate, count - 1),
    };
    made.expect("an ordinary limit")
}

fn policy(limit: Limit) -> Arc<Policy> {
    let key = KeySpec::parse(&["user"]).expect("a key");
    let rules = vec![RuleSource::new("rule", key, limit)];
    // Nobody is refused an answer about balances.
    let status = Limit::fixed_window(1_000_000, Duration::from_secs(60)).expect("an ordinary limit");
    Policy::compile(PolicySource { rules, status, ..PolicySource::default() }).expect("a policy")
}

/// What happens: how long to wait before, in milliseconds; and then a request of a user for so many units, or another limit.
type Act = (u64, Result<(usize, u64), (bool, u8, (u64, u64, u8))>);

/// What is known of a user since the limit in force came.
#[derive(Clone, Default)]
struct Seen {
    /// Units that still counted then, where somebody looked.
    before: u64,
    admitted: Vec<(Timestamp, u64)>,
}

/// Across a random sequence of limits, of users who come and go: what was consumed before a limit came counts under it as far as it
/// still counts, nothing beyond the limit is admitted after that, and after the longest time that the limit makes anybody wait all of
/// it is there.
pub fn reloads_keep_what_was_consumed<S: Setup>(setup: &S) {
    let numbers = (1..12_u64, any::<u64>(), any::<u8>());
    let request = (0..USERS.len(), 1..4_u64).prop_map(Ok);
    // Mostly the same algorithm, sometimes another.
    let reload = (proptest::bool::weighted(0.85), 0..5_u8, numbers.clone()).prop_map(Err);
    let act = (0..1_500_u64, proptest::prop_oneof![7 => request, 1 => reload]);
    for algorithm in Algorithm::ALL {
        let cases = (numbers.clone(), vec(act.clone(), 20..70));
        TestRunner::new(strategy::config(24))
            .run(&cases, |(first, acts)| history(setup, limit(algorithm, first), &acts))
            .unwrap_or_else(|e| panic!("{algorithm}: {e}"));
    }
}

fn history<S: Setup>(setup: &S, first: Limit, acts: &[Act]) -> Result<(), TestCaseError> {
    let clock = Arc::new(ManualClock::at(NOW));
    let engine = Engine::new(policy(first), setup.store()).with_clock(Arc::clone(&clock));
    let balance = |user: &'static str| -> Decision {
        let standing = setup.wait(engine.standing(&Request(user, 0), None)).expect("the store answers");
        let standing = standing.expect("everybody may ask");
        let place = standing.places().next().expect("the rule");
        place.decision.expect("a balance")
    };
    let mut now = NOW;
    let (mut present, mut since) = (first, NOW);
    let mut seen: [Seen; 3] = Default::default();
    // A queue that is shortened lets those go first who are in it.
    let mut longest = first.memory();
    let mut past = vec![first.algorithm()];
    for (step, &(wait, act)) in acts.iter().enumerate() {
        clock.advance(Duration::from_millis(wait));
        now = now.after(Duration::from_millis(wait));
        match act {
            Ok((who, cost)) => {
                let outcome =
                    setup.wait(engine.decide(&Request(USERS[who], cost))).expect("the store answers");
                let decision = outcome.binding().expect("the rule").decision;
                let told = decision.retry_after().unwrap_or_default();
                let most =
                    if present.algorithm() == Algorithm::LeakyBucket { longest } else { present.memory() };
                prop_assert!(told <= most, "{present}: {told:?} to wait, {step}");
                if decision.is_admitted() {
                    seen[who].admitted.push((now, cost));
                }
                within(&present, since, &seen[who], now, step)?;
            }
            Err((same, other, numbers)) => {
                let algorithm = if same { present.algorithm() } else { Algorithm::ALL[usize::from(other)] };
                let next = limit(algorithm, numbers);
                // Somebody looks at all but the last, who is carried over when he comes, whenever that is.
                let before = [0, 1].map(|who| present.quota() - balance(USERS[who]).remaining);
                engine.swap_policy(policy(next));
                let goes_on = next.algorithm() == present.algorithm();
                // What was counted by that algorithm before is still there.
                let is_new = !past.contains(&next.algorithm());
                past.push(next.algorithm());
                longest = longest.max(next.memory());
                for who in [0, 1] {
                    let used = next.quota() - balance(USERS[who]).remaining;
                    // A bucket of a lower capacity lacks no more than it holds since it was last charged, and not only now.
                    let is_smaller = next.algorithm() == Algorithm::TokenBucket
                        && next.quota() < present.quota()
                        && is_same_window(&present, &next);
                    let kept = if goes_on && !is_smaller { before[who].min(next.quota()) } else { 0 };
                    prop_assert!(
                        used >= kept && (used == 0 || !is_new),
                        "{present}, then {next}: {used} used of {kept}, {step}"
                    );
                }
                // Under the same window a part of a unit may still count, which is none before.
                let carried = goes_on && !is_same_window(&present, &next);
                let counts = |who: usize| if carried && who < 2 { before[who].min(next.quota()) } else { 0 };
                seen = core::array::from_fn(|who| Seen { before: counts(who), admitted: Vec::new() });
                (present, since) = (next, now);
            }
        }
    }
    let rest = if present.algorithm() == Algorithm::LeakyBucket { longest } else { present.memory() };
    clock.advance(rest);
    for user in USERS {
        let left = balance(user).remaining;
        // Who was never seen under the present limit is only now charged what still counts.
        prop_assert!(user == USERS[2] || left == present.quota(), "{present}: {left} left after {rest:?}");
    }
    Ok(())
}

/// Whether both count by the same windows, or at the same rate.
fn is_same_window(one: &Limit, other: &Limit) -> bool {
    match (one.params(), other.params()) {
        (Params::FixedWindow(a), Params::FixedWindow(b)) => a.window == b.window,
        (Params::EndingWindow(a), Params::EndingWindow(b)) => a.edges == b.edges,
        (Params::SlidingWindowLog(a), Params::SlidingWindowLog(b)) => a.window == b.window,
        (Params::SlidingWindowCounter(a), Params::SlidingWindowCounter(b)) => a.window == b.window,
        (Params::TokenBucket(a), Params::TokenBucket(b)) => (a.refill, a.period) == (b.refill, b.period),
        (Params::LeakyBucket(a), Params::LeakyBucket(b)) => (a.rate, a.period) == (b.rate, b.period),
        _ => false,
    }
}

/// Whether what was admitted since the limit came, and what counted then, is within what the limit promises.
fn within(
    limit: &Limit,
    since: Timestamp,
    seen: &Seen,
    now: Timestamp,
    step: usize,
) -> Result<(), TestCaseError> {
    let tick = |at| limit.resolution().tick(at);
    let starts = [(since, seen.before)].into_iter().chain(seen.admitted.iter().map(|(at, _)| (*at, 0)));
    for (start, before) in starts {
        let units: u64 = seen.admitted.iter().filter(|(at, _)| *at >= start).map(|(_, units)| units).sum();
        let bound = units_within(limit.params(), tick(now) - tick(start));
        prop_assert!(
            i128::from(before + units) <= bound,
            "{limit}: {before} before and {units} since {start:?}, {bound} at the most, {step}"
        );
    }
    Ok(())
}
