//! The longest waits, one for each key.

use std::time::Duration;

use cupo_core::{Key, Timestamp};

const KEPT: usize = 10;

/// A key, the longest that it was told to wait, and when.
pub(super) struct Wait {
    pub(super) span: Duration,
    pub(super) at: Timestamp,
    pub(super) key: Key,
}

/// The longest first. A key that was dropped can come back only with a longer wait, so what is here is exact.
#[derive(Default)]
pub(super) struct Waits(Vec<Wait>);

impl Waits {
    pub(super) fn add(&mut self, span: Duration, at: Timestamp, key: &Key) {
        if self.0.len() == KEPT && self.0.last().is_some_and(|shortest| span <= shortest.span) {
            return;
        }
        if let Some(own) = self.0.iter().position(|wait| wait.key == *key) {
            if self.0.get(own).is_some_and(|wait| span <= wait.span) {
                return;
            }
            self.0.remove(own);
        }
        self.0.insert(self.0.partition_point(|wait| wait.span >= span), Wait { span, at, key: key.clone() });
        self.0.truncate(KEPT);
    }

    pub(super) fn top(&self) -> &[Wait] {
        &self.0
    }
}
