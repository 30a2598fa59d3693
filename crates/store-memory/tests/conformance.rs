//! The suite that every store has to pass, with room for all keys and with keys counted.

#![allow(missing_docs, clippy::unwrap_used)]

use cupo_store_memory::MemoryStore;
use cupo_testkit::conformance::Setup;

cupo_testkit::conformance!(MemoryStore::new);

/// The same in a single shard, and with an eye on what is kept.
struct Counted;

impl Setup for Counted {
    type Store = MemoryStore;

    fn store(&self) -> MemoryStore {
        MemoryStore::builder().shards(1).build().unwrap()
    }

    fn keys(&self, store: &MemoryStore) -> Option<usize> {
        Some(store.stats().keys)
    }
}

mod in_one_shard {
    use super::Counted;

    cupo_testkit::conformance!(Counted);
    cupo_testkit::upkeep_conformance!(Counted);
}
