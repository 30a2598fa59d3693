//! Every law can fail, for every algorithm: a subject that breaks it is found out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "this is a test")]

use cupo_core::{Algorithm, Decision, Limit, Verdict};
use cupo_testkit::laws::{self, Law};
use cupo_testkit::strategy::{self, Case, Reach};
use cupo_testkit::subject::{InTicks, Subject};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    DenialTakesTheRest,
    RetryTooEarly,
    RetryTooLate,
    ImpossibleIsDenied,
    QuotaIsImpossible,
    DenialShowsNothingLeft,
    OneTooManyRemains,
    ForgetsEarly,
    PeekCharges,
    PeekIsDenied,
    StartsAnewWhenTheClockStepsBack,
    ForgetsNow,
    ZeroLetsPeeksLeaveSomething,
}

struct Faulty {
    limit: Limit,
    inner: InTicks,
    latest: u64,
    fault: Fault,
}

impl Subject for Faulty {
    fn ask(&mut self, now: u64, cost: u64) -> Decision<u64> {
        if now < self.latest && self.fault == Fault::StartsAnewWhenTheClockStepsBack {
            self.inner = InTicks::new(self.limit);
        }
        self.latest = now.max(self.latest);
        if self.fault == Fault::ForgetsNow && now.is_multiple_of(3) {
            self.inner = InTicks::new(self.limit);
        }
        let mut decision = self.inner.ask(now, cost);
        match (self.fault, &mut decision.verdict) {
            (Fault::DenialTakesTheRest, Verdict::Deny { .. }) => {
                self.inner.ask(now, decision.remaining);
            }
            (Fault::RetryTooEarly, Verdict::Deny { retry_after }) => *retry_after -= 1,
            (Fault::RetryTooLate, Verdict::Deny { retry_after }) => *retry_after += 1,
            (Fault::ImpossibleIsDenied, verdict @ Verdict::Impossible) => {
                *verdict = Verdict::Deny { retry_after: 1 };
            }
            (Fault::QuotaIsImpossible, verdict @ Verdict::Deny { .. }) if cost == self.limit.quota() => {
                *verdict = Verdict::Impossible;
            }
            (Fault::DenialShowsNothingLeft, Verdict::Deny { .. }) => decision.remaining = 0,
            (Fault::OneTooManyRemains, _) => decision.remaining += 1,
            (Fault::PeekCharges, Verdict::Admit) if cost == 0 => {
                self.inner.ask(now, 1);
            }
            (Fault::PeekIsDenied, verdict) if cost == 0 && decision.remaining == 0 => {
                *verdict = Verdict::Deny { retry_after: 1 };
            }
            (Fault::ZeroLetsPeeksLeaveSomething, _) => decision.remaining = 1,
            _ => {}
        }
        decision
    }

    fn forget_expired(&mut self, now: u64) {
        if self.fault == Fault::ForgetsEarly {
            self.inner.forget_expired(now + 1);
        } else {
            self.inner.forget_expired(now);
        }
    }

    fn is_absent(&self) -> Option<bool> {
        self.inner.is_absent()
    }
}

fn tried(law: Law, number: u8, algorithm: Algorithm, fault: Fault) -> Result<(), String> {
    let limits = if number == 9 { strategy::limit_zero } else { strategy::limit };
    let histories = strategy::case_of(limits(algorithm), Reach::Ticks, 24);
    let test = |Case { limit, steps, .. }: Case| {
        let make = || -> Box<dyn Subject> {
            Box::new(Faulty { limit, inner: InTicks::new(limit), latest: 0, fault })
        };
        law(&limit, &make, &steps).map_err(|broken| {
            assert_eq!(broken.law, number);
            TestCaseError::fail(broken.to_string())
        })
    };
    // Until it fails; what does not is tried thoroughly elsewhere.
    let cases = if fault == Fault::None { 40 } else { 600 };
    let config = Config { cases, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, rng).run(&histories, test).map_err(|e| e.to_string())
}

fn is_found_out(number: u8, faults: &[Fault]) {
    let (_, name, law) = laws::ALL[usize::from(number) - 1];
    for algorithm in Algorithm::ALL {
        tried(law, number, algorithm, Fault::None).unwrap();
        for fault in faults {
            let seen = tried(law, number, algorithm, *fault);
            let seen = seen.expect_err(&format!("{algorithm}: {fault:?} is not found out by {name}"));
            assert!(seen.contains(&format!("law {number} is broken")), "{seen}");
        }
    }
}

#[test]
fn law_1() {
    is_found_out(1, &[Fault::DenialTakesTheRest]);
}

#[test]
fn law_2() {
    is_found_out(2, &[Fault::RetryTooEarly, Fault::RetryTooLate]);
}

#[test]
fn law_3() {
    is_found_out(3, &[Fault::ImpossibleIsDenied, Fault::QuotaIsImpossible]);
}

#[test]
fn law_4() {
    is_found_out(4, &[Fault::DenialShowsNothingLeft, Fault::OneTooManyRemains]);
}

#[test]
fn law_5() {
    is_found_out(5, &[Fault::ForgetsEarly]);
}

#[test]
fn law_6() {
    is_found_out(6, &[Fault::PeekCharges, Fault::PeekIsDenied]);
}

#[test]
fn law_7() {
    is_found_out(7, &[Fault::StartsAnewWhenTheClockStepsBack, Fault::RetryTooEarly]);
}

#[test]
fn law_8() {
    is_found_out(8, &[Fault::ForgetsNow, Fault::StartsAnewWhenTheClockStepsBack]);
}

#[test]
fn law_9() {
    is_found_out(9, &[Fault::ZeroLetsPeeksLeaveSomething]);
}
