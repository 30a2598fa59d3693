//! The frozen decision traces: any difference in any decision or state fails. A change of them is a change of the product;
//! `CUPO_BLESS=1 cargo test -p cupo-core --test vectors` freezes anew.

use cupo_core::number::DOMAIN;
use cupo_core::{Algorithm, Verdict};
use cupo_testkit::model::Model;
use cupo_testkit::vectors;

fn replay(algorithm: Algorithm) {
    if std::env::var_os("CUPO_BLESS").is_some_and(|value| value == "1") {
        vectors::freeze(algorithm);
    }
    let traces = vectors::frozen(algorithm);
    for trace in &traces {
        let params = trace.params;
        let (mut model, mut state) = (Model::new(params), None);
        for (i, step) in trace.steps.iter().enumerate() {
            let (decision, change) = params.decide(state.as_ref(), step.now, step.cost);
            params.apply(&mut state, change);
            let place = format!("{algorithm}, {}, step {i}: {} units at {}", trace.name, step.cost, step.now);
            assert_eq!(decision, step.decision, "{place}");
            assert_eq!(state, step.state, "{place}");
            assert_eq!(model.ask(step.now, step.cost), step.decision, "the model: {place}");
            assert!(step.now < DOMAIN && step.cost < DOMAIN, "{place}");
        }
    }
    // The traces show what they are for.
    let steps = || traces.iter().flat_map(|trace| &trace.steps);
    let count = |verdict: fn(&Verdict<u64>) -> bool| steps().filter(|s| verdict(&s.decision.verdict)).count();
    assert!(count(|v| *v == Verdict::Admit) > 60, "{algorithm}: few admissions");
    assert!(count(|v| matches!(v, Verdict::Deny { .. })) > 40, "{algorithm}: few denials");
    assert!(count(|v| *v == Verdict::Impossible) > 16, "{algorithm}: few impossible costs");
    let backwards = |trace: &vectors::Trace| trace.steps.is_sorted_by_key(|s| s.now);
    assert!(!traces.iter().any(backwards), "{algorithm}: a trace without a step back");
    let charged = |s: &vectors::Recorded| s.decision.is_admitted() && s.cost > 0;
    let together =
        |pair: &[vectors::Recorded]| charged(&pair[0]) && charged(&pair[1]) && pair[0].now == pair[1].now;
    assert!(
        traces.iter().any(|trace| trace.steps.windows(2).any(together)),
        "{algorithm}: no two in one tick"
    );
    // Nothing that is written is lost or left over: the file is what would be written now.
    assert_eq!(vectors::text(algorithm, &traces), vectors::text(algorithm, &vectors::traces(algorithm)));
}

#[test]
fn fixed_window() {
    replay(Algorithm::FixedWindow);
}

#[test]
fn sliding_window_log() {
    replay(Algorithm::SlidingWindowLog);
}

#[test]
fn sliding_window_counter() {
    replay(Algorithm::SlidingWindowCounter);
}

#[test]
fn token_bucket() {
    replay(Algorithm::TokenBucket);
}

#[test]
fn leaky_bucket() {
    replay(Algorithm::LeakyBucket);
}
