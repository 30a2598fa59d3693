//! The laws of every algorithm, one test per law and algorithm, in ticks and in time.

#![allow(clippy::panic, reason = "this is a test")]

use cupo_core::{Algorithm, Limit};
use cupo_testkit::laws::{self, Law};
use cupo_testkit::strategy::{self, Case, Reach};
use cupo_testkit::subject::{InTicks, InTime};
use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{TestCaseError, TestRunner};

const CASES: u32 = 96;
const LENGTH: usize = 24;

fn holds(law: Law, limits: impl Fn() -> BoxedStrategy<Limit>) {
    let run = |reach: Reach| {
        let cases = strategy::case_of(limits(), reach, LENGTH);
        let test = |Case { limit, steps, late }: Case| {
            match reach {
                Reach::Ticks => law(&limit, &|| Box::new(InTicks::new(limit)), &steps),
                Reach::Time => law(&limit, &|| Box::new(InTime::new(limit, late)), &steps),
            }
            .map_err(|broken| TestCaseError::fail(format!("{limit} {reach:?}: {broken}")))
        };
        TestRunner::new(strategy::config(CASES)).run(&cases, test).unwrap_or_else(|e| panic!("{e}"));
    };
    run(Reach::Ticks);
    run(Reach::Time);
}

macro_rules! laws {
    ($($module:ident: $algorithm:ident),+ $(,)?) => { $(mod $module {
        use super::{Algorithm, holds, laws, strategy};

        fn limits() -> proptest::strategy::BoxedStrategy<cupo_core::Limit> {
            strategy::limit(Algorithm::$algorithm)
        }

        #[test]
        fn law_1_a_denial_changes_nothing() {
            holds(laws::a_denial_changes_nothing, limits);
        }

        #[test]
        fn law_2_retry_after_is_exact() {
            holds(laws::retry_after_is_exact, limits);
        }

        #[test]
        fn law_3_impossible_is_not_deny() {
            holds(laws::impossible_is_not_deny, limits);
        }

        #[test]
        fn law_4_remaining_is_the_real_balance() {
            holds(laws::remaining_is_the_real_balance, limits);
        }

        #[test]
        fn law_5_expiry_is_unobservable() {
            holds(laws::expiry_is_unobservable, limits);
        }

        #[test]
        fn law_6_a_peek_changes_nothing() {
            holds(laws::a_peek_changes_nothing, limits);
        }

        #[test]
        fn law_7_a_clock_that_steps_back_grants_nothing() {
            holds(laws::a_clock_that_steps_back_grants_nothing, limits);
        }

        #[test]
        fn law_8_admissions_stay_within_the_bound() {
            holds(laws::admissions_stay_within_the_bound, limits);
        }

        #[test]
        fn law_9_limit_zero_blocks_everything() {
            holds(laws::limit_zero_blocks_everything, || strategy::limit_zero(Algorithm::$algorithm));
        }
    })+ };
}

laws! {
    fixed_window: FixedWindow,
    sliding_window_log: SlidingWindowLog,
    sliding_window_counter: SlidingWindowCounter,
    token_bucket: TokenBucket,
    leaky_bucket: LeakyBucket,
}

#[test]
fn every_law_is_tried() {
    assert_eq!(laws::ALL.map(|(number, ..)| number), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}
