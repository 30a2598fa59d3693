//! The generators lead where the trouble is, and the models mean what they say.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use std::collections::BTreeMap;

use cupo_core::number::{DOMAIN, MAX_INSTANT};
use cupo_core::{Algorithm, Params, Resolution, Verdict};
use cupo_testkit::bound::{longest_wait, units_within};
use cupo_testkit::model::{Model, definition};
use cupo_testkit::strategy::{self, Case, Reach};
use cupo_testkit::subject::limit_of;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fn cases(algorithm: Algorithm, reach: Reach) -> Vec<Case> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = strategy::case(algorithm, reach, 24);
    (0..300).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// Of 300 histories, many have each of the things that go wrong.
#[test]
fn every_kind_of_trouble_is_generated() {
    for algorithm in Algorithm::ALL {
        for reach in [Reach::Ticks, Reach::Time] {
            let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
            for Case { limit, steps, .. } in cases(algorithm, reach) {
                let mut model = Model::new(*limit.params());
                let mut kinds = vec![match limit.resolution() {
                    Resolution::Micros => "a limit in microseconds",
                    Resolution::Millis => "a limit in milliseconds",
                }];
                let (mut last, mut told) = (0, None);
                for step in &steps {
                    let clock = model.clock(step.now);
                    let decision = model.ask(step.now, step.cost);
                    kinds.push(match decision.verdict {
                        Verdict::Admit if step.cost == 0 => "a peek",
                        Verdict::Admit => "an admission",
                        Verdict::Deny { .. } => "a denial",
                        Verdict::Impossible => "an impossible cost",
                    });
                    let kind = |condition, kind| if condition { kind } else { "a step" };
                    kinds.push(kind(step.now < last, "a step back"));
                    kinds.push(kind(
                        step.now > last.saturating_add(longest_wait(limit.params())),
                        "an idle gap",
                    ));
                    kinds.push(kind(Some(step.now) == told, "a wait as told"));
                    kinds.push(kind(Some(step.now + 1) == told, "a wait a tick too short"));
                    kinds.push(kind(decision.delay > 0, "a delay"));
                    kinds.push(kind(step.cost >= DOMAIN, "a huge cost"));
                    kinds.push(kind(step.now > MAX_INSTANT / 2, "a late instant"));
                    told = decision.retry_after().map_or(told, |wait| Some(clock + wait));
                    last = step.now;
                }
                kinds.sort_unstable();
                kinds.dedup();
                for kind in kinds {
                    *seen.entry(kind).or_default() += 1;
                }
            }
            let delays = if algorithm == Algorithm::LeakyBucket { 30 } else { 0 };
            for (kind, least) in [
                ("a limit in microseconds", 150),
                ("a limit in milliseconds", 6),
                ("a peek", 150),
                ("an admission", 200),
                ("a denial", 120),
                ("an impossible cost", 100),
                ("a step back", 100),
                ("an idle gap", 100),
                ("a wait as told", 60),
                ("a wait a tick too short", 30),
                ("a delay", delays),
                ("a huge cost", 100),
                ("a late instant", 10),
            ] {
                let times = seen.get(kind).copied().unwrap_or(0);
                assert!(times >= least, "{algorithm} {reach:?}: {kind} only in {times} of 300: {seen:?}");
            }
        }
    }
}

#[test]
fn generated_limits_can_be_had_from_their_numbers() {
    for algorithm in Algorithm::ALL {
        for Case { limit, .. } in cases(algorithm, Reach::Time) {
            assert_eq!(limit_of(limit.params()).params(), limit.params(), "{limit}");
        }
    }
}

/// Two definitions of a token bucket agree: its level from the beginning of time, and its bound. A request fits exactly if
/// no interval that ends with it then holds more than C + R·t/P.
#[test]
fn a_token_bucket_is_its_bound() {
    for Case { limit, steps, .. } in cases(Algorithm::TokenBucket, Reach::Ticks) {
        let params = *limit.params();
        let mut model = Model::new(params);
        for step in steps {
            let at = model.clock(step.now);
            let mut units = i128::from(step.cost);
            let mut fits = units <= definition::quota(&params);
            for entry in model.history().iter().rev() {
                units += entry.cost;
                fits &= units <= units_within(&params, at - u64::try_from(entry.at).unwrap());
            }
            assert_eq!(
                model.ask(step.now, step.cost).is_admitted(),
                fits || step.cost == 0,
                "{limit}: {step:?}"
            );
        }
    }
}

/// The bounds are no wider than they must be: a greedy caller reaches them.
#[test]
fn the_bounds_are_reached() {
    let limit = |algorithm, n: usize| *strategy::edges(algorithm)[n].params();
    for (params, span) in [
        (limit(Algorithm::FixedWindow, 2), 1),
        (limit(Algorithm::SlidingWindowLog, 2), 1),
        // A million in the last millisecond of a day and a million in the last but one of the next: less than a day apart.
        (limit(Algorithm::SlidingWindowCounter, 4), 86_400_000 - 1),
    ] {
        let (Params::FixedWindow(_) | Params::SlidingWindowLog(_) | Params::SlidingWindowCounter(_)) = params
        else {
            panic!("a window");
        };
        let mut model = Model::new(params);
        let edge = longest_wait(&params) - 1;
        let mut units = 0;
        for now in [edge, edge + span] {
            let remaining = model.decide(now, 0).remaining;
            model.ask(now, remaining);
            units += i128::from(remaining);
        }
        assert_eq!(units, units_within(&params, span), "{params:?}");
    }
}
