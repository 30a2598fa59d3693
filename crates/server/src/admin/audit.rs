//! What was changed: by whom, when, and what was before and after.

use std::collections::VecDeque;

use cupo_core::{StoreError, Timestamp};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

/// The target of the log lines about changes.
pub const AUDIT_TARGET: &str = "cupo::admin";

/// Changes that are remembered.
const MOST: usize = 256;

/// A change.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Change {
    pub(crate) at_us: u64,
    /// Who made it.
    pub(crate) who: String,
    /// What was done: the last part of the route.
    pub(crate) what: &'static str,
    /// What it was done to.
    pub(crate) target: Value,
    pub(crate) before: Value,
    pub(crate) after: Value,
}

/// The last changes of this node.
#[derive(Debug, Default)]
pub(crate) struct Audit(Mutex<VecDeque<Change>>);

impl Audit {
    /// Logs a change, and remembers it.
    pub(crate) fn record(
        &self,
        at: Timestamp,
        who: &str,
        what: &'static str,
        target: Value,
        before: Value,
        after: Value,
    ) {
        tracing::info!(target: "cupo::admin", who, what, %target, %before, %after, "an administrator changed something");
        let change = Change { at_us: at.as_micros(), who: who.to_owned(), what, target, before, after };
        let mut changes = self.0.lock();
        if changes.len() >= MOST {
            changes.pop_front();
        }
        changes.push_back(change);
    }

    /// Logs a change that the store did not confirm: it may have been made.
    pub(crate) fn record_doubt(
        &self,
        at: Timestamp,
        who: &str,
        what: &'static str,
        target: Value,
        before: Value,
        error: &StoreError,
    ) {
        self.record(at, who, what, target, before, serde_json::json!({ "error": error.name() }));
    }

    /// The last `most` changes, newest first.
    pub(crate) fn last(&self, most: usize) -> Vec<Change> {
        self.0.lock().iter().rev().take(most).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Audit, MOST, Timestamp, Value};

    #[test]
    fn the_last_changes_are_kept_newest_first() {
        let audit = Audit::default();
        for n in 0..MOST as u64 + 5 {
            audit.record(Timestamp::from_micros(n), "ops", "reset", Value::Null, Value::Null, Value::Null);
        }
        let last = audit.last(MOST * 2);
        assert_eq!((last.len(), last[0].at_us, last[MOST - 1].at_us), (MOST, MOST as u64 + 4, 5));
        assert_eq!(audit.last(1).len(), 1);
    }
}
