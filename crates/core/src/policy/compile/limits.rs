//! From a rule's limit, or the number of that name in every tier, to the table of all that it allows.

use core::time::Duration;

use super::super::limits::{Limits, Numbers};
use super::super::{Action, LimitSource, OnStoreError, PlansSource, Problem, RuleSource, TierSource};
use super::prefix::prefix;
use super::{Errors, costs};
use crate::algorithm::Algorithm;
use crate::limit::Limit;
use crate::time::Resolution;

/// What the limits of every rule depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) replicas: u32,
    pub(super) plans: &'a PlansSource,
    /// By how much callers' limits are multiplied, 1 first; each with the first entry that says so.
    pub(super) multipliers: &'a [(u64, usize)],
}

/// A limit of the rule, by tier, and where it was written.
struct Row {
    path: String,
    limit: Option<Limit>,
}

/// The limits of the rule; `None` where something is wrong with them, which has been told.
pub(super) fn limits(
    index: usize,
    rule: &RuleSource,
    ground: &Ground<'_>,
    errors: &mut Errors,
) -> Option<Limits> {
    let before = errors.count();
    let rows = rows(index, rule, ground.plans, errors);
    check_rows(index, rule, &rows, errors);
    let by_tier = matches!(rule.limit, LimitSource::Plan(_));
    let mut cells = Vec::with_capacity(rows.len().saturating_mul(ground.multipliers.len()));
    for row in &rows {
        for &(times, caller) in ground.multipliers {
            let Some(limit) = row.limit else {
                cells.push(None);
                continue;
            };
            let limit = match limit.times(times) {
                Ok(limit) => limit,
                Err(error) => {
                    let problem = Problem::Times { times, rule: rule.name.clone(), error };
                    errors.add_once(&format!("callers[{caller}].times"), problem);
                    continue;
                }
            };
            let share = match rule.on_store_error {
                OnStoreError::Local => limit.share(ground.replicas),
                OnStoreError::Allow | OnStoreError::Deny => Ok(limit),
            };
            match share {
                Ok(share) => cells.push(Some((limit, share))),
                Err(error) => errors.add_once(&row.path, Problem::Share(error)),
            }
        }
    }
    if errors.count() > before {
        return None;
    }
    in_same_ticks(&mut cells);
    let numbers = |(limit, share)| Numbers { prefix: prefix(&rule.name, &limit), limit, share };
    let cells = cells.into_iter().map(|cell| cell.map(numbers)).collect();
    Some(Limits { by_tier, columns: ground.multipliers.len(), cells })
}

/// Counts all limits of a rule in milliseconds that have the same window as one that is too large for microseconds. Callers with
/// several limits may meet at one key: in other ticks one of them would not see what the others have used.
fn in_same_ticks(cells: &mut [Option<(Limit, Limit)>]) {
    let coarse: Vec<Duration> = cells
        .iter()
        .flatten()
        .flat_map(|(limit, share)| [limit, share])
        .filter(|limit| limit.resolution() == Resolution::Millis)
        .map(Limit::window)
        .collect();
    for limit in cells.iter_mut().flatten().flat_map(|(limit, share)| [limit, share]) {
        if coarse.contains(&limit.window())
            && let Some(same) = limit.in_millis()
        {
            *limit = same;
        }
    }
}

fn rows(index: usize, rule: &RuleSource, plans: &PlansSource, errors: &mut Errors) -> Vec<Row> {
    let name = match &rule.limit {
        LimitSource::Own(limit) => {
            return vec![Row { path: format!("rules[{index}].limit"), limit: Some(*limit) }];
        }
        LimitSource::Plan(name) => name,
    };
    let number =
        |tier: &TierSource| tier.numbers.iter().find(|(own, _)| own == name).map(|(_, limit)| *limit);
    if plans.tiers.iter().all(|tier| number(tier).is_none()) {
        let mut known: Vec<&str> =
            plans.tiers.iter().flat_map(|tier| &tier.numbers).map(|(name, _)| name.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        let problem = Problem::UnknownNumber { number: name.clone(), known: known.join(", ") };
        errors.add(&format!("rules[{index}].limit.plan"), problem);
        return Vec::new();
    }
    let mut row = |tier: &TierSource| {
        let limit = number(tier);
        if limit.is_none() {
            let problem =
                Problem::TierLacks { tier: tier.name.clone(), number: name.clone(), rule: rule.name.clone() };
            errors.add_once(&format!("plans.{}.{name}", tier.name), problem);
        }
        Row { path: format!("plans.{}.{name}", tier.name), limit: limit.flatten() }
    };
    plans.tiers.iter().map(&mut row).collect()
}

/// What has to hold of the limit of every tier.
fn check_rows(index: usize, rule: &RuleSource, rows: &[Row], errors: &mut Errors) {
    let limits = || rows.iter().filter_map(|row| row.limit);
    // A limit of 0 blocks everything, whatever that costs.
    let least = limits().map(|limit| limit.quota()).filter(|quota| *quota > 0).min();
    if let Some(quota) = least.filter(|quota| rule.cost.most() > *quota) {
        let problem = Problem::CostAboveQuota { cost: rule.cost.most(), quota };
        errors.add(&format!("rules[{index}].{}", costs::most_at(&rule.cost)), problem);
    }
    if rule.awaits_response() && limits().any(|limit| limit.algorithm() == Algorithm::LeakyBucket) {
        errors.add(&format!("rules[{index}].{}", costs::awaited_at(rule)), Problem::SettleInSlots);
    }
    if rule.action == Action::Delay && limits().any(|limit| limit.algorithm() != Algorithm::LeakyBucket) {
        errors.add(&format!("rules[{index}].action"), Problem::DelayWithoutSlots);
    }
}
