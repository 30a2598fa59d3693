//! What the store tells about itself.

use core::sync::atomic::{AtomicU64, Ordering};

/// Counters since the store was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RedisStats {
    /// Checks that were asked for.
    pub checks: u64,
    /// Checks that were answered from the cache of denials.
    pub cached_denials: u64,
    /// Script calls that were sent.
    pub calls: u64,
    /// Checks in those calls.
    pub called_checks: u64,
    /// Checks without an answer before their deadline.
    pub timeouts: u64,
    /// Checks that failed for another reason.
    pub failures: u64,
    /// States in the server that could not be read and were taken for absent.
    pub unreadable_states: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Checks that were not answered from the cache of denials.
    pub(crate) asked: AtomicU64,
    pub(crate) cached_denials: AtomicU64,
    pub(crate) calls: AtomicU64,
    pub(crate) called_checks: AtomicU64,
    pub(crate) timeouts: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) unreadable_states: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64, by: u64) -> u64 {
    counter.fetch_add(by, Ordering::Relaxed)
}

impl Counters {
    pub(crate) fn snapshot(&self) -> RedisStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let cached_denials = read(&self.cached_denials);
        RedisStats {
            checks: read(&self.asked).saturating_add(cached_denials),
            cached_denials,
            calls: read(&self.calls),
            called_checks: read(&self.called_checks),
            timeouts: read(&self.timeouts),
            failures: read(&self.failures),
            unreadable_states: read(&self.unreadable_states),
        }
    }
}
