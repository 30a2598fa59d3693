//! From plans and callers as they were written to what requests are matched against.

use std::sync::Arc;

use super::super::plans::{CallerEntry, Callers, Plans};
use super::super::{CallerSource, PlanFrom, PlansSource, Problem, Who};
use super::{Errors, is_header_name};
use crate::settled::{Entry, Settled};

/// More multipliers than this are no policy, and every rule has a limit for each.
const MOST_MULTIPLIERS: usize = 100;

/// Tells what is wrong with the tiers; the index of the default one.
pub(super) fn check(plans: &PlansSource, errors: &mut Errors) -> usize {
    if plans.tiers.is_empty() {
        if !plans.from.is_empty() || !plans.default.is_empty() {
            errors.add("plan", Problem::NoPlans);
        }
        return 0;
    }
    for (i, tier) in plans.tiers.iter().enumerate() {
        let path = format!("plans.{}", tier.name);
        if !is_plan_name(&tier.name) {
            errors.add(&path, Problem::PlanName(tier.name.clone()));
        }
        if plans.tiers.iter().take(i).any(|other| other.name == tier.name) {
            errors.add(&path, Problem::PlanTwice(tier.name.clone()));
        }
        for (i, (number, _)) in tier.numbers.iter().enumerate() {
            let path = format!("{path}.{number}");
            if !is_plan_name(number) {
                errors.add(&path, Problem::PlanName(number.clone()));
            }
            if tier.numbers.iter().take(i).any(|(other, _)| other == number) {
                errors.add(&path, Problem::PlanTwice(number.clone()));
            }
        }
    }
    for (i, from) in plans.from.iter().enumerate() {
        match from {
            PlanFrom::Header(name) if !is_header_name(name) => {
                errors.add(&format!("plan.from[{i}]"), Problem::HeaderName(name.clone()));
            }
            PlanFrom::Claim(name) if name.is_empty() => {
                errors.add(&format!("plan.from[{i}]"), Problem::EmptyClaim);
            }
            PlanFrom::Callers | PlanFrom::Claim(_) | PlanFrom::Header(_) => {}
        }
    }
    tier(plans, &plans.default, "plan.default", errors).unwrap_or(0)
}

/// The multipliers of all callers, 1 first, each with the first entry that says so.
pub(super) fn multipliers(callers: &[CallerSource], errors: &mut Errors) -> Vec<(u64, usize)> {
    let mut multipliers = vec![(1, 0)];
    for (i, caller) in callers.iter().enumerate() {
        if caller.times == 0 {
            errors.add(&format!("callers[{i}].times"), Problem::ZeroTimes);
        } else if !multipliers.iter().any(|(times, _)| *times == caller.times) {
            if multipliers.len() == MOST_MULTIPLIERS {
                errors.add(&format!("callers[{i}].times"), Problem::ManyTimes { most: MOST_MULTIPLIERS });
                break;
            }
            multipliers.push((caller.times, i));
        }
    }
    multipliers
}

/// Plans and callers, where there are any.
pub(super) fn compile(
    plans: &PlansSource,
    default: usize,
    callers: Vec<CallerSource>,
    multipliers: &[(u64, usize)],
    errors: &mut Errors,
) -> Option<Box<Plans>> {
    if plans.tiers.is_empty() && callers.is_empty() {
        return None;
    }
    let mut found = Callers::default();
    let mut entries = Vec::with_capacity(callers.len());
    for (i, caller) in callers.into_iter().enumerate() {
        let at = |field: &str| format!("callers[{i}]{field}");
        if caller.blocked && caller.unlimited {
            errors.add(&at(".unlimited"), Problem::BlockedAndUnlimited);
        }
        let name = caller.plan.as_deref();
        let tier = name.and_then(|name| tier(plans, name, &at(".plan"), errors));
        if tier.is_some() && !plans.from.contains(&PlanFrom::Callers) {
            errors.add(&at(".plan"), Problem::CallersNotAsked);
        }
        let entry = || Entry::Caller(Arc::from(at("")));
        let settled = match (caller.blocked, caller.unlimited) {
            (true, _) => Some(Settled::Blocked(entry())),
            (false, true) => Some(Settled::Allowed(entry())),
            (false, false) => None,
        };
        let times = multipliers.iter().position(|(times, _)| *times == caller.times).unwrap_or(0);
        entries.push(CallerEntry { tier, times, settled });
        if caller.who == Who::User(String::new()) {
            errors.add(&at(".user"), Problem::EmptyUser);
        } else if let Err(first) = found.add(caller.who, i) {
            errors.add(&at(""), Problem::CallerTwice { first });
        }
    }
    let tiers = plans.tiers.iter().map(|tier| tier.name.as_str().into()).collect();
    let times = multipliers.iter().map(|(times, _)| *times).collect();
    Some(Box::new(Plans { tiers, from: plans.from.clone(), default, callers: found, entries, times }))
}

/// The index of the tier of this name, which stands at `path`.
pub(in super::super) fn tier(
    plans: &PlansSource,
    name: &str,
    path: &str,
    errors: &mut Errors,
) -> Option<usize> {
    let found = plans.tiers.iter().position(|tier| tier.name == name);
    if found.is_none() {
        let known: Vec<&str> = plans.tiers.iter().map(|tier| tier.name.as_str()).collect();
        errors.add(path, Problem::UnknownPlan { name: name.to_owned(), known: known.join(", ") });
    }
    found
}

/// A name that a path such as `plans.free.requests` can hold.
fn is_plan_name(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(legal)
}
