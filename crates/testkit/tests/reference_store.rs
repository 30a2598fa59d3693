//! The suite's positive control: the simplest store that is right passes.

use cupo_testkit::conformance::{ReferenceStore, Setup};

/// A setup that also counts keys.
struct Counted;

impl Setup for Counted {
    type Store = ReferenceStore;

    fn store(&self) -> ReferenceStore {
        ReferenceStore::default()
    }

    fn keys(&self, store: &ReferenceStore) -> Option<usize> {
        Some(store.keys())
    }
}

cupo_testkit::conformance!(Counted);

/// The one line, from a closure.
mod from_a_closure {
    use super::ReferenceStore;

    cupo_testkit::conformance!(ReferenceStore::default);
    cupo_testkit::upkeep_conformance!(ReferenceStore::default);
}
