//! Who is told of every outcome.

use crate::outcome::Outcome;
use crate::policy::Rule;
use crate::settlement::Settlement;
use crate::store::StoreError;

/// Is told of every outcome: metrics, logs, decision streams. Called on the request's path, so it must not block.
pub trait Observer: Send + Sync {
    /// A request was decided.
    fn decided(&self, outcome: &Outcome);

    /// The store could not decide.
    fn store_failed(&self, error: &StoreError);

    /// A charge of `rule` was settled. `uncovered` units of what the request cost found no room, and nobody pays them.
    fn settled(&self, rule: &Rule, settlement: &Settlement, uncovered: u64) {
        let _ = (rule, settlement, uncovered);
    }

    /// The response did not say what the request cost, in whole units: what `rule` had reserved stays charged.
    fn cost_unknown(&self, rule: &Rule) {
        let _ = rule;
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn decided(&self, _: &Outcome) {}

    fn store_failed(&self, _: &StoreError) {}
}

impl<O: Observer + ?Sized> Observer for std::sync::Arc<O> {
    fn decided(&self, outcome: &Outcome) {
        (**self).decided(outcome);
    }

    fn store_failed(&self, error: &StoreError) {
        (**self).store_failed(error);
    }

    fn settled(&self, rule: &Rule, settlement: &Settlement, uncovered: u64) {
        (**self).settled(rule, settlement, uncovered);
    }

    fn cost_unknown(&self, rule: &Rule) {
        (**self).cost_unknown(rule);
    }
}
