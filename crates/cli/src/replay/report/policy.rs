//! What one policy said.

use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use cupo_core::{Key, Outcome, Policy, Rule, Ruling, Timestamp, Verdict};

use super::frequent::Frequent;
use super::waits::Waits;

/// Denied keys that are counted exactly; of more, the most frequent are right to within what the report says.
const DENIED_KEYS: usize = 20_000;

/// Counts of one rule.
#[derive(Default)]
pub(super) struct RuleCounts {
    pub(super) matched: u64,
    /// Requests that it refused, alone or with others.
    pub(super) denied: u64,
    /// Requests that it would have refused, had it not only watched.
    pub(super) shadow_denied: u64,
}

pub(super) struct PolicyReport {
    pub(super) name: String,
    policy: Arc<Policy>,
    pub(super) rules: Vec<RuleCounts>,
    pub(super) admitted: u64,
    pub(super) denied: u64,
    /// Of the denied: those that lacked what a rule counts by.
    pub(super) lacking: u64,
    /// Of the denied: those that cost more than a limit can ever hold.
    pub(super) impossible: u64,
    pub(super) delayed: u64,
    pub(super) longest_delay: Duration,
    pub(super) denied_keys: Frequent<Key>,
    pub(super) waits: Waits,
}

impl PolicyReport {
    pub(super) fn new(name: &str, policy: &Arc<Policy>) -> Self {
        Self {
            name: name.to_owned(),
            policy: policy.clone(),
            rules: policy.rules().iter().map(|_| RuleCounts::default()).collect(),
            admitted: 0,
            denied: 0,
            lacking: 0,
            impossible: 0,
            delayed: 0,
            longest_delay: Duration::ZERO,
            denied_keys: Frequent::new(DENIED_KEYS),
            waits: Waits::default(),
        }
    }

    pub(super) fn rule_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.policy.rules().iter().map(Rule::name)
    }

    /// Counts an outcome. The rule that denied, if it was denied: of several the one with the longest wait.
    pub(super) fn observe(&mut self, at: Timestamp, outcome: &Outcome) -> Option<usize> {
        for ruling in outcome.decisions() {
            self.ruling(at, &ruling);
        }
        for ruling in outcome.shadow_decisions() {
            if let Some(counts) = self.counts(ruling.rule) {
                counts.matched += 1;
                counts.shadow_denied += u64::from(!ruling.decision.verdict.is_admit());
            }
        }
        if outcome.is_admitted() {
            self.admitted += 1;
            self.delayed += u64::from(!outcome.delay().is_zero());
            self.longest_delay = self.longest_delay.max(outcome.delay());
            return None;
        }
        self.denied += 1;
        let rule = if let Some(rule) = outcome.lacks() {
            self.lacking += 1;
            if let Some(counts) = self.counts(rule) {
                counts.matched += 1;
                counts.denied += 1;
            }
            rule
        } else {
            self.impossible += u64::from(outcome.verdict() == Verdict::Impossible);
            outcome.binding()?.rule
        };
        self.index(rule)
    }

    fn ruling(&mut self, at: Timestamp, ruling: &Ruling<'_>) {
        let denied = !ruling.decision.verdict.is_admit();
        if let Some(counts) = self.counts(ruling.rule) {
            counts.matched += 1;
            counts.denied += u64::from(denied);
        }
        if denied {
            self.denied_keys.add(ruling.key);
        }
        if let Some(wait) = ruling.decision.retry_after() {
            self.waits.add(wait, at, ruling.key);
        }
    }

    fn counts(&mut self, rule: &Rule) -> Option<&mut RuleCounts> {
        let index = self.index(rule)?;
        self.rules.get_mut(index)
    }

    fn index(&self, rule: &Rule) -> Option<usize> {
        self.policy.rules().iter().position(|other| ptr::eq(other, rule))
    }
}
