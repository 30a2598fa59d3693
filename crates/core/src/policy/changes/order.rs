//! Which rules hide which.

use std::collections::HashSet;

use super::super::{Policy, Rule};
use super::OrderChange;

/// Of the rules that say `stop` in both policies: those that come before others than they did, as far as both policies have them.
pub(super) fn changes(old: &Policy, new: &Policy) -> Vec<OrderChange> {
    let names = |policy: &Policy| -> HashSet<Box<str>> {
        policy.rules().iter().map(|rule| rule.name.clone()).collect()
    };
    let (before, now) = (names(old), names(new));
    let stops = new.rules().iter().filter(|rule| rule.stop);
    stops
        .filter_map(|rule| {
            let was = old.rules().iter().find(|old| old.name == rule.name && old.stop)?;
            let (was, is) = (after(old, was, &now), after(new, rule, &before));
            let only = |one: &[&Rule], other: &[&Rule]| -> Vec<Box<str>> {
                let known: HashSet<&str> = other.iter().map(|rule| rule.name()).collect();
                one.iter().filter(|rule| !known.contains(rule.name())).map(|rule| rule.name.clone()).collect()
            };
            let (hides, reveals) = (only(&is, &was), only(&was, &is));
            let same = hides.is_empty() && reveals.is_empty();
            (!same).then(|| OrderChange { rule: rule.name.clone(), hides, reveals })
        })
        .collect()
}

/// The rules after `rule` that the other policy has, too.
fn after<'a>(policy: &'a Policy, rule: &Rule, others: &HashSet<Box<str>>) -> Vec<&'a Rule> {
    let rest = policy.rules().iter().skip_while(|one| one.name != rule.name).skip(1);
    rest.filter(|one| others.contains(&one.name)).collect()
}
