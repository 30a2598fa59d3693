//! Limits that were in force before, and which limit of the present policy takes over what they counted.

use core::time::Duration;
use std::collections::{HashMap, HashSet};
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
#[derive(Debug, PartialEq)]
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
    /// Adds the limits of this policy to those that were in force before, as `new` replaces it at `now`. Of rules that go on as they
    /// are there is nothing to remember.
    pub(crate) fn retire(&self, now: Timestamp, before: &[Former], new: &Self) -> Vec<Former> {
        let scale = Arc::new(Scale::of(self));
        let is_scale = *scale == Scale::of(new);
        let present: HashMap<&str, &Rule> = new.rules.iter().map(|rule| (rule.name(), rule)).collect();
        let goes_on =
            |rule: &Rule| is_scale && present.get(rule.name()).is_some_and(|new| rule.counts_like(new));
        let mut all: Vec<Former> = Vec::new();
        for rule in self.rules.iter().filter(|rule| !goes_on(rule)) {
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
        let mut by_rule: HashMap<Box<str>, Vec<Former>> = HashMap::new();
        for one in former {
            by_rule.entry(one.rule.clone()).or_default().push(one);
        }
        let mut found = Vec::new();
        for (index, rule) in self.rules.iter().enumerate() {
            let Some(former) = by_rule.get_mut(&rule.name) else { continue };
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

/// Leaves of those that count by the same keys for the same callers the first, which is the latest: however often policies come and
/// go, there are no more than there are different limits.
fn distinct(former: &mut Vec<Former>) {
    let mut seen = HashSet::new();
    former.retain(|one| seen.insert((one.prefix.clone(), one.tier.clone(), one.times)));
}

impl Rule {
    /// The tier and the multiplier of a cell.
    fn of<'a>(&self, (row, column): (usize, usize), scale: &'a Scale) -> (Option<&'a str>, u64) {
        let tier = self.limits.by_tier.then(|| scale.tiers.get(row)).flatten();
        (tier.map(|tier| &**tier), scale.times.get(column).copied().unwrap_or(1))
    }

    /// Whether every caller counts by the same keys as under the other rule of a policy with the same tiers and multipliers.
    fn counts_like(&self, other: &Self) -> bool {
        let prefixes = |rule: &Self| -> Vec<Option<Key>> {
            rule.limits.cells.iter().map(|cell| cell.as_ref().map(|numbers| numbers.prefix.clone())).collect()
        };
        self.key == other.key
            && self.limits.by_tier == other.limits.by_tier
            && prefixes(self) == prefixes(other)
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
            let mut sources = former.iter().filter(of).peekable();
            if sources.peek().is_none() {
                continue;
            }
            // Two tiers may be alike: a key does not tell which of them its caller has.
            let at = found.iter().position(|other| other.limit == numbers.limit).unwrap_or_else(|| {
                let (limit, prefix) = (numbers.limit, numbers.prefix.clone());
                found.push(Successor { limit, prefix, sources: Vec::new() });
                found.len().saturating_sub(1)
            });
            if let Some(successor) = found.get_mut(at) {
                sources.for_each(|one| successor.add(one));
            }
        }
        found
    }
}

impl Successor {
    /// Takes over from that one, too, unless there are enough already.
    fn add(&mut self, one: &Former) {
        let Former { prefix, limit, until, .. } = one;
        let has_room = self.sources.len() < MOST_SOURCES;
        match self.sources.iter_mut().find(|source| source.prefix == *prefix) {
            // What counts by the same keys holds of it what the largest holds.
            Some(same) if same.limit.quota() < limit.quota() => same.limit = *limit,
            None if has_room => {
                self.sources.push(Source { prefix: prefix.clone(), limit: *limit, until: *until });
            }
            Some(_) | None => {}
        }
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
