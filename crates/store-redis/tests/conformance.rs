//! The suite that every store passes, through the script that is deployed, with virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic"
)]

mod support;

use core::sync::atomic::{AtomicU64, Ordering};

use cupo_store_redis::{RedisStore, StoreClock};
use cupo_testkit::conformance::Setup;
use cupo_testkit::redis::RedisServer;
use tokio::runtime::Runtime;

/// A server, and stores on it under prefixes of their own.
struct Prefixes {
    runtime: Runtime,
    store: RedisStore,
    server: RedisServer,
    made: AtomicU64,
}

impl Prefixes {
    fn on(server: RedisServer) -> Self {
        let runtime = Runtime::new().unwrap();
        let mut settings = support::patient(&server.url());
        settings.clock = StoreClock::Caller;
        let store = runtime.block_on(async { RedisStore::new(settings) }).unwrap();
        Self { runtime, store, server, made: AtomicU64::new(0) }
    }
}

impl Setup for Prefixes {
    type Store = RedisStore;

    fn store(&self) -> RedisStore {
        let n = self.made.fetch_add(1, Ordering::Relaxed);
        self.store.with_prefix(format!("{n}:")).unwrap()
    }

    fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    fn keys(&self, _: &RedisStore) -> Option<usize> {
        let n = self.made.load(Ordering::Relaxed) - 1;
        let pattern = format!("{n}:*");
        Some(self.server.command(&["KEYS", &pattern]).array().len())
    }
}

impl Drop for Prefixes {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.assert_every_key_has_a_ttl();
        }
    }
}

cupo_testkit::conformance!(Prefixes::on(RedisServer::standalone().start()));
cupo_testkit::upkeep_conformance!(Prefixes::on(RedisServer::standalone().start()));
