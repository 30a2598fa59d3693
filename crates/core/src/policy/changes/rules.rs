//! Rules, one by one.

use std::collections::HashMap;

use super::super::former::Successor;
use super::super::{ChargeSource, CostSource, Policy, Rule};
use super::{Fate, FieldChange, RuleChange, RuleChangeKind, counters, field};
use crate::limit::Limit;

/// Rules that are not what they were; and how many are.
pub(super) fn changes(
    old: &Policy,
    new: &Policy,
    successors: &[(usize, Vec<Successor>)],
) -> (Vec<RuleChange>, usize) {
    let by_name = |policy: &Policy| -> HashMap<Box<str>, usize> {
        policy.rules.iter().enumerate().map(|(i, rule)| (rule.name.clone(), i)).collect()
    };
    let (before, now) = (by_name(old), by_name(new));
    let gone: Vec<&Rule> = old.rules().iter().filter(|rule| !now.contains_key(&rule.name)).collect();
    let (mut found, mut unchanged) = (Vec::new(), 0_usize);
    for (index, rule) in new.rules.iter().enumerate() {
        let Some(was) = before.get(&rule.name).and_then(|at| old.rules.get(*at)) else {
            let like = gone.iter().find(|gone| gone.key == rule.key && gone.conditions == rule.conditions);
            let kind = RuleChangeKind::Added { looks_like: like.map(|gone| gone.name.clone()) };
            let fields = said(new, rule).into_iter().map(|(name, value)| FieldChange {
                field: name.into(),
                before: None,
                after: Some(value.into()),
            });
            found.push(RuleChange {
                name: rule.name.clone(),
                kind,
                fields: fields.collect(),
                counters: Vec::new(),
            });
            continue;
        };
        let own = successors.binary_search_by_key(&index, |(rule, _)| *rule).ok();
        let own = own.and_then(|at| successors.get(at)).map_or(&[][..], |(_, own)| own);
        let counters = counters::changes((old, was), (new, rule), own);
        let fields = fields((old, was), (new, rule));
        let goes_on = counters.iter().all(|one| one.fate == Fate::Keeps && !one.ipv6_starts_fresh);
        if fields.is_empty() && goes_on {
            unchanged = unchanged.saturating_add(1);
            continue;
        }
        found.push(RuleChange { name: rule.name.clone(), kind: RuleChangeKind::Changed, fields, counters });
    }
    found.extend(gone.into_iter().map(|rule| RuleChange {
        name: rule.name.clone(),
        kind: RuleChangeKind::Removed,
        fields: Vec::new(),
        counters: Vec::new(),
    }));
    // The guard of the status endpoint is no rule of the policy's.
    let guarded = found.iter().all(|rule| *rule.name != *super::super::STATUS_RULE);
    (found, unchanged.saturating_sub(usize::from(guarded)))
}

/// What a new rule says, apart from what is usual.
fn said(policy: &Policy, rule: &Rule) -> Vec<(String, String)> {
    let mut all =
        vec![("match".to_owned(), rule.conditions.to_string()), ("key".to_owned(), rule.key.to_string())];
    all.extend(limits(policy, rule).into_iter().map(|(name, limit)| (name, show(limit.as_ref()))));
    all
}

fn fields((old, was): (&Policy, &Rule), (new, is): (&Policy, &Rule)) -> Vec<FieldChange> {
    let mut found = Vec::new();
    if was.conditions != is.conditions {
        let [before, after] = [was, is].map(|rule| rule.conditions.to_string().into());
        found.push(FieldChange { field: "match".into(), before: Some(before), after: Some(after) });
    }
    found.extend(field("stop", Some(was.stop), Some(is.stop), bool::to_string));
    found.extend(field("key", Some(&was.key), Some(&is.key), ToString::to_string));
    let (before, after) = (limits(old, was), limits(new, is));
    let get = |all: &[(String, Option<Limit>)], name: &str| {
        all.iter().find(|(own, _)| own == name).map(|(_, limit)| *limit)
    };
    for (name, limit) in &before {
        found.extend(field(name.as_str(), Some(*limit), get(&after, name), |limit| show(limit.as_ref())));
    }
    for (name, limit) in after.iter().filter(|(name, _)| get(&before, name).is_none()) {
        found.extend(field(name.as_str(), None, Some(*limit), |limit| show(limit.as_ref())));
    }
    let times = |limit: Option<&Limit>| limit.map(ToString::to_string);
    if before == after && was.shares().map(times).ne(is.shares().map(times)) {
        let all = |rule: &Rule| rule.shares().map(|share| show(share)).collect::<Vec<_>>().join(", ");
        found.extend(field("share of each node", Some(all(was)), Some(all(is)), String::clone));
    }
    found.extend(field("cost", Some(&was.cost), Some(&is.cost), |cost| show_cost(cost)));
    found.extend(field("charge", Some(&was.charge), Some(&is.charge), |charge| show_charge(charge)));
    found.extend(field("action", Some(was.action), Some(is.action), ToString::to_string));
    found.extend(field("on_missing", Some(was.on_missing), Some(is.on_missing), ToString::to_string));
    let on_error = |rule: &Rule| Some(rule.on_store_error);
    found.extend(field("on_store_error", on_error(was), on_error(is), ToString::to_string));
    found
}

/// The limits of a rule, each as its field is called.
fn limits(policy: &Policy, rule: &Rule) -> Vec<(String, Option<Limit>)> {
    let tiers: Vec<&str> = policy.tiers().collect();
    let name = |row: usize| match tiers.get(row) {
        Some(tier) if rule.is_by_tier() => format!("limit of {tier}"),
        _ => "limit".to_owned(),
    };
    rule.limits().enumerate().map(|(row, limit)| (name(row), limit.copied())).collect()
}

fn show(limit: Option<&Limit>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), ToString::to_string)
}

fn show_cost(cost: &CostSource) -> String {
    match cost {
        CostSource::Fixed(units) => units.to_string(),
        CostSource::Response { header, reserve } => {
            format!("what the response says in {header}, {reserve} reserved")
        }
        CostSource::Request { header, max, default } => {
            format!("what the request says in {header}, at most {max}, else {default}")
        }
        CostSource::Body { unit, max } => format!("one for each {unit} bytes of the body, at most {max}"),
    }
}

fn show_charge(charge: &ChargeSource) -> String {
    match charge {
        ChargeSource::OnRequest => "every request".to_owned(),
        ChargeSource::OnResponse(statuses) => format!("responses of status {statuses}"),
    }
}
