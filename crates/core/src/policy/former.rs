//! Limits that were in force before, and which limit of the present policy takes over what they counted.

use core::time::Duration;
use std::sync::Arc;

use super::{Policy, Rule};
use crate::key::{Key, KeySpec};
use crate::limit::Limit;
use crate::time::Timestamp;

/// The most limits before that one takes over from: every one costs a call when a key is first touched.
const MOST_SOURCES: usize = 8;

/// The most limits that are remembered.
const MOST_FORMER: usize = 65_536;

/// How long requests that began under a policy may still count under it, for a clock that is not the store's too.
const GRACE: Duration = Duration::from_secs(1);

/// A limit of an earlier policy.
#[derive(Debug, Clone)]
pub(crate) struct Former {
    rule: Box<str>,
    key: KeySpec,
    /// The tier whose limit it was, by name; `None` where the rule had a limit of its own.
    tier: Option<Box<str>>,
    times: u64,
    prefix: Key,
    limit: Limit,
    /// From when on nothing that it counted counts any more.
    until: Timestamp,
    /// What else there was in its policy.
    scale: Arc<Scale>,
}

/// The tiers and multipliers of a policy.
#[derive(Debug)]
struct Scale {
    tiers: Vec<Box<str>>,
    default: Option<Box<str>>,
    times: Box<[u64]>,
}

impl Scale {
    fn of(policy: &Policy) -> Self {
        Self {
            tiers: policy.tiers().map(Into::into).collect(),
            default: policy.default_tier().map(Into::into),
            times: policy.times.clone(),
        }
    }

    fn has(&self, tier: &str) -> bool {
        self.tiers.iter().any(|known| **known == *tier)
    }
}

/// Where a limit takes over from.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) prefix: Key,
    pub(crate) limit: Limit,
    pub(crate) until: Timestamp,
}

/// A limit that takes over.
#[derive(Debug)]
pub(crate) struct Successor {
    pub(crate) limit: Limit,
    pub(crate) prefix: Key,
    /// Those of the latest policy first.
    pub(crate) sources: Vec<Source>,
}

impl Policy {
    /// Adds the limits of this policy to those that were in force before, as it is replaced at `now`.
    pub(crate) fn retire(&self, now: Timestamp, before: &[Former]) -> Vec<Former> {
        let scale = Arc::new(Scale::of(self));
        let mut all: Vec<Former> = Vec::new();
        for rule in &self.rules {
            for (row, column, numbers) in rule.limits.all() {
                all.push(Former {
                    rule: rule.name.clone(),
                    key: rule.key.clone(),
                    tier: rule.limits.by_tier.then(|| scale.tiers.get(row).cloned()).flatten(),
                    times: scale.times.get(column).copied().unwrap_or(1),
                    prefix: numbers.prefix.clone(),
                    limit: numbers.limit,
                    until: now.after(numbers.limit.memory()).after(GRACE),
                    scale: Arc::clone(&scale),
                });
            }
        }
        all.extend(before.iter().filter(|former| former.until > now).cloned());
        all
    }

    /// Which limits of this policy, by rule, take over from which of `former`; and those of `former` that are worth remembering.
    pub(crate) fn succeed(&self, former: Vec<Former>) -> (Vec<(usize, Vec<Successor>)>, Vec<Former>) {
        let scale = Scale::of(self);
        let mut by_rule: std::collections::HashMap<Box<str>, Vec<Former>> = std::collections::HashMap::new();
        for one in former {
            by_rule.entry(one.rule.clone()).or_default().push(one);
        }
        let mut found = Vec::new();
        for (index, rule) in self.rules.iter().enumerate() {
            let Some(former) = by_rule.get_mut(&rule.name) else { continue };
            // What the same callers still count by needs nobody to take it over.
            former.retain(|one| one.key != rule.key || !rule.goes_on(one, &scale));
            distinct(former);
            let successors = rule.successors(former, &scale);
            if !successors.is_empty() {
                found.push((index, successors));
            }
        }
        let mut kept: Vec<Former> = by_rule.into_values().flatten().collect();
        if kept.len() > MOST_FORMER {
            kept.sort_unstable_by_key(|one| core::cmp::Reverse(one.until));
            kept.truncate(MOST_FORMER);
        }
        (found, kept)
    }
}

/// Leaves of those that count by the same keys for the same callers the first, which is the latest.
fn distinct(former: &mut Vec<Former>) {
    let mut seen = std::collections::HashSet::new();
    former.retain(|one| seen.insert((one.prefix.clone(), one.tier.clone(), one.times)));
}

impl Rule {
    /// The tier and the multiplier of a cell.
    fn of<'a>(&self, (row, column): (usize, usize), scale: &'a Scale) -> (Option<&'a str>, u64) {
        let tier = self.limits.by_tier.then(|| scale.tiers.get(row)).flatten();
        (tier.map(|tier| &**tier), scale.times.get(column).copied().unwrap_or(1))
    }

    /// Whether callers who were under this limit before still count by the same keys.
    fn goes_on(&self, one: &Former, scale: &Scale) -> bool {
        let mut cells = self.limits.all();
        cells.any(|(row, column, numbers)| {
            numbers.prefix == one.prefix && one.precedes(self.of((row, column), scale), scale)
        })
    }

    fn successors(&self, former: &[Former], scale: &Scale) -> Vec<Successor> {
        let mut found: Vec<Successor> = Vec::new();
        for (row, column, numbers) in self.limits.all() {
            let callers = self.of((row, column), scale);
            let of = |one: &&Former| {
                one.key == self.key
                    && one.limit.algorithm() == numbers.limit.algorithm()
                    && one.prefix != numbers.prefix
                    && one.precedes(callers, scale)
            };
            let mut sources: Vec<Source> = Vec::new();
            for one in former.iter().filter(of) {
                let has_room = sources.len() < MOST_SOURCES;
                match sources.iter_mut().find(|source| source.prefix == one.prefix) {
                    // What counts by the same keys holds of it what the largest holds.
                    Some(same) if same.limit.quota() < one.limit.quota() => same.limit = one.limit,
                    None if has_room => {
                        sources.push(Source {
                            prefix: one.prefix.clone(),
                            limit: one.limit,
                            until: one.until,
                        });
                    }
                    Some(_) | None => {}
                }
            }
            if sources.is_empty() {
                continue;
            }
            match found.iter_mut().find(|other| other.limit == numbers.limit) {
                // Two tiers alike: a key does not tell which of them its caller has.
                Some(same) => {
                    let others: Vec<Source> = sources
                        .into_iter()
                        .filter(|one| same.sources.iter().all(|known| known.prefix != one.prefix))
                        .collect();
                    same.sources.extend(others);
                    same.sources.truncate(MOST_SOURCES);
                }
                None => {
                    found.push(Successor { limit: numbers.limit, prefix: numbers.prefix.clone(), sources });
                }
            }
        }
        found
    }
}

impl Former {
    /// Whether callers of this tier and multiplier now were under this limit before.
    fn precedes(&self, (tier, times): (Option<&str>, u64), scale: &Scale) -> bool {
        let is_default = |scale: &Scale, tier: &str| scale.default.as_deref() == Some(tier);
        let by_tier = match (self.tier.as_deref(), tier) {
            (Some(before), Some(now)) if before == now => true,
            // Callers of a tier that is gone are on the default one; those of a tier that is new were.
            (Some(before), Some(now)) => {
                !scale.has(before) && is_default(scale, now)
                    || !self.scale.has(now) && is_default(&self.scale, before)
            }
            (None, _) | (_, None) => true,
        };
        let has = |scale: &Scale, times| scale.times.contains(&times);
        let by_times = self.times == times
            || !has(scale, self.times) && times == 1
            || !has(&self.scale, times) && self.times == 1;
        by_tier && by_times
    }
}
