//! One key: the store decides like the algorithm.

use cupo_core::{Algorithm, Check, Decision, Key, Limit, Timestamp};
use proptest::test_runner::{TestCaseError, TestRunner};

use super::{Setup, execute, key};
use crate::laws;
use crate::model::Model;
use crate::strategy::{self, Case, Reach};
use crate::subject::{Subject, in_ticks, instant, limit_of};
use crate::vectors;
use crate::walk::forwards;

/// One limit on one key of a store of its own.
struct InStore<'a, S: Setup> {
    setup: &'a S,
    store: S::Store,
    key: Key,
    limit: Limit,
    latest: Timestamp,
}

impl<'a, S: Setup> InStore<'a, S> {
    fn new(setup: &'a S, limit: Limit) -> Self {
        Self { setup, store: setup.store(), key: key(0), limit, latest: Timestamp::EPOCH }
    }

    /// The tick at which the store decided, and its decision.
    fn decide(&mut self, now: u64, cost: u64) -> (u64, Decision<u64>) {
        let now = instant(&self.limit, now);
        let check = Check::one(self.key.clone(), self.limit, cost);
        let executed = execute(self.setup, &self.store, &check, now);
        self.latest = now.max(self.latest);
        assert!(executed.at <= self.latest, "decided at {:?}, which nobody has shown", executed.at);
        (self.limit.resolution().tick(executed.at), in_ticks(&self.limit, &executed.decisions[0]))
    }
}

impl<S: Setup> Subject for InStore<'_, S> {
    fn ask(&mut self, now: u64, cost: u64) -> Decision<u64> {
        self.decide(now, cost).1
    }

    fn is_absent(&self) -> Option<bool> {
        self.setup.keys(&self.store).map(|keys| keys == 0)
    }
}

/// The frozen traces of every algorithm come out of the store.
pub fn the_frozen_traces_are_followed<S: Setup>(setup: &S) {
    for algorithm in Algorithm::ALL {
        for trace in vectors::frozen(algorithm) {
            let limit = limit_of(&trace.params);
            let mut store = InStore::new(setup, limit);
            let mut model = Model::new(trace.params);
            // As long as the store's clock goes back with the caller's, to the letter; from then on by the model.
            let mut to_the_letter = true;
            for (i, step) in trace.steps.iter().enumerate() {
                let (at, decision) = store.decide(step.now, step.cost);
                let expected = model.ask(at, step.cost);
                let place = format!("{algorithm}, {}, step {i}, {} units at {at}", trace.name, step.cost);
                assert_eq!(decision, expected, "{place}");
                to_the_letter &= at == step.now;
                assert!(!to_the_letter || decision == step.decision, "{place}");
            }
        }
    }
}

/// Random histories of every algorithm, with backward steps and at the edges of the number domain, come out of the store
/// as the reference model decides them.
pub fn random_histories_follow_the_model<S: Setup>(setup: &S) {
    for algorithm in Algorithm::ALL {
        let cases = strategy::case(algorithm, Reach::Time, 40);
        let test = |Case { limit, steps, .. }: Case| {
            let mut store = InStore::new(setup, limit);
            let mut model = Model::new(*limit.params());
            for step in steps {
                let (at, decision) = store.decide(step.now, step.cost);
                let expected = model.ask(at, step.cost);
                if decision != expected {
                    let seen = format!("{limit}: {step:?} at {at}: {decision:?}, the model {expected:?}");
                    return Err(TestCaseError::fail(seen));
                }
            }
            Ok(())
        };
        TestRunner::new(strategy::config(32))
            .run(&cases, test)
            .unwrap_or_else(|e| panic!("{algorithm}: {e}"));
    }
}

/// The laws hold through the store.
pub fn the_laws_hold<S: Setup>(setup: &S) {
    for algorithm in Algorithm::ALL {
        for (number, name, law) in laws::ALL {
            let limits = if number == 9 { strategy::limit_zero } else { strategy::limit };
            let cases = strategy::case_of(limits(algorithm), Reach::Time, 10);
            let test = |Case { limit, steps, .. }: Case| {
                // Every question moves the clock of a store that never lets it run backwards, so that only the law that
                // is about it may step back.
                let steps = if number == 7 { steps } else { forwards(&steps) };
                law(&limit, &|| Box::new(InStore::new(setup, limit)), &steps)
                    .map_err(|broken| TestCaseError::fail(format!("{limit}: {broken}")))
            };
            TestRunner::new(strategy::config(16))
                .run(&cases, test)
                .unwrap_or_else(|e| panic!("{algorithm}, {name}: {e}"));
        }
    }
}
