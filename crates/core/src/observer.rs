//! Who is told of every outcome.

use crate::outcome::Outcome;
use crate::store::StoreError;

/// Is told of every outcome: metrics, logs, decision streams. Called on the request's path, so it must not block.
pub trait Observer: Send + Sync {
    /// A request was decided.
    fn decided(&self, outcome: &Outcome);

    /// The store could not decide.
    fn store_failed(&self, error: &StoreError);
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
}
