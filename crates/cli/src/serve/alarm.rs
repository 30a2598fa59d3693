//! Says loudly that the store cannot decide, and that it can again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cupo_core::{Clock, Observer, Outcome, Rule, Settlement, StoreError, SystemClock};
use cupo_server::{Nearest, StoreReport};
use parking_lot::Mutex;

/// Between two lines about an outage that goes on, in microseconds.
const EVERY_MICROS: u64 = 5_000_000;

/// Without a failure for so long the store has come back, in microseconds: longer than denials are answered from memory.
const QUIET_MICROS: u64 = 2_000_000;

/// Logs the beginning of an outage of the store, that it goes on, and its end, and knows how the store does.
pub(super) struct Alarm {
    clock: SystemClock,
    /// Failures since the store last decided.
    failures: AtomicU64,
    /// When it last failed, and when that was last told, in microseconds.
    failed: AtomicU64,
    told: AtomicU64,
    /// Failures since the start, and why the last one failed.
    total: AtomicU64,
    last: Mutex<Option<&'static str>>,
    /// Where keys near their limits are noted, for administrators.
    nearest: Option<Arc<Nearest>>,
}

impl Alarm {
    pub(super) fn new(nearest: Option<Arc<Nearest>>) -> Self {
        Self {
            clock: SystemClock::new(),
            failures: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            told: AtomicU64::new(0),
            total: AtomicU64::new(0),
            last: Mutex::new(None),
            nearest,
        }
    }

    /// What is known of the store; `connected` says whether there is a connection to it.
    pub(super) fn report(&self, connected: bool) -> StoreReport {
        StoreReport {
            degraded: !connected || self.failures.load(Ordering::Relaxed) > 0,
            failures: self.total.load(Ordering::Relaxed),
            last_error: *self.last.lock(),
        }
    }
}

impl Observer for Alarm {
    fn decided(&self, outcome: &Outcome) {
        if let Some(nearest) = &self.nearest {
            nearest.observe(outcome);
        }
        // A request that no rule asked the store about says nothing of the store.
        let asked = outcome.store_error().is_none() && outcome.binding().is_some();
        if !asked || self.failures.load(Ordering::Relaxed) == 0 {
            return;
        }
        let quiet = self.clock.now().as_micros().saturating_sub(self.failed.load(Ordering::Relaxed));
        if quiet >= QUIET_MICROS {
            let failures = self.failures.swap(0, Ordering::Relaxed);
            if failures > 0 {
                self.told.store(0, Ordering::Relaxed);
                tracing::warn!(failures, "the store decides again");
            }
        }
    }

    fn store_failed(&self, error: &StoreError) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        self.total.fetch_add(1, Ordering::Relaxed);
        *self.last.lock() = Some(error.name());
        let (now, told) = (self.clock.now().as_micros(), self.told.load(Ordering::Relaxed));
        self.failed.store(now, Ordering::Relaxed);
        let due = now.saturating_sub(told) >= EVERY_MICROS;
        // Of several threads that find it due, one tells.
        if due && self.told.compare_exchange(told, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            tracing::error!(failures, %error, "the store cannot decide; rules act by their on_store_error");
        }
    }

    fn settled(&self, rule: &Rule, settlement: &Settlement, uncovered: u64) {
        if uncovered > 0 {
            let (rule, actual) = (rule.name(), settlement.actual);
            tracing::debug!(rule, actual, uncovered, "a request cost more than there was room for");
        }
    }

    fn cost_unknown(&self, rule: &Rule) {
        tracing::debug!(
            rule = rule.name(),
            "the response does not say what the request cost; what was reserved stays charged"
        );
    }
}
