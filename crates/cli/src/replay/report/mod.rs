//! What came of a replay, for people: counts, the keys that were denied most, the longest waits, and how it went over time.

mod axis;
mod balance;
mod chart;
mod frequent;
mod html;
mod policy;
mod series;
mod text;
mod timeline;
mod units;
mod waits;

use std::sync::Arc;

use cupo_core::{Outcome, Policy, Timestamp};

use balance::Watch;
use policy::PolicyReport;
use timeline::Timeline;

pub(super) use html::write_page;
pub(super) use text::write_summary;
pub(super) use units::{count, share};

use super::log::Tally;

/// What was replayed.
pub(super) struct About {
    pub(super) inputs: Vec<String>,
    pub(super) format: String,
    /// Of a log; events are all read or none.
    pub(super) tally: Option<Tally>,
}

pub(super) struct Report {
    first: Option<Timestamp>,
    last: Timestamp,
    requests: u64,
    timeline: Timeline,
    policies: Vec<PolicyReport>,
    watches: Vec<Watch>,
}

impl Report {
    /// A report on these policies, each with what to call it, that shows the balance of these keys; if there are none, of the
    /// first one that is denied.
    pub(super) fn new(policies: &[(String, Arc<Policy>)], keys: &[String]) -> Self {
        let rules: Vec<usize> = policies.iter().map(|(_, policy)| policy.rules().len()).collect();
        let watches = match keys {
            [] => vec![Watch::first_denied(policies.len())],
            keys => keys.iter().map(|key| Watch::of(key, policies.len())).collect(),
        };
        Self {
            first: None,
            last: Timestamp::EPOCH,
            requests: 0,
            timeline: Timeline::new(&rules, watches.len()),
            policies: policies.iter().map(|(name, policy)| PolicyReport::new(name, policy)).collect(),
            watches,
        }
    }

    pub(super) const fn requests(&self) -> u64 {
        self.requests
    }

    /// Counts a request, which the policies then decide one after the other.
    pub(super) fn request(&mut self, at: Timestamp) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = self.last.max(at);
        self.requests = self.requests.saturating_add(1);
        let cell = self.timeline.at(at.as_micros());
        cell.requests = cell.requests.saturating_add(1);
    }

    /// Counts what this policy said of the request at this instant.
    pub(super) fn decided(&mut self, policy: usize, at: Timestamp, outcome: &Outcome) {
        let Some(report) = self.policies.get_mut(policy) else { return };
        let denied_by = report.observe(at, outcome);
        let Some(cell) = self.timeline.at(at.as_micros()).policies.get_mut(policy) else { return };
        if let Some(rule) = denied_by {
            cell.denied = cell.denied.saturating_add(1);
            if let Some(by_rule) = cell.by_rule.get_mut(rule) {
                *by_rule = by_rule.saturating_add(1);
            }
        }
        for (watch, balance) in self.watches.iter_mut().zip(&mut cell.balances) {
            for ruling in outcome.decisions().chain(outcome.shadow_decisions()) {
                if watch.matches(policy, &ruling) {
                    balance.observe(&ruling.decision);
                    break;
                }
            }
        }
    }
}
