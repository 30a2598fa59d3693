//! What becomes of what a rule counts.

use super::super::former::Successor;
use super::super::{Policy, Rule};
use super::{CounterChange, Fate, Fresh};
use crate::key::Kind;

/// What becomes of the counters of a rule that both policies have: by tier, or once where that is the same for all.
pub(super) fn changes(
    (old, was): (&Policy, &Rule),
    (new, is): (&Policy, &Rule),
    successors: &[Successor],
) -> Vec<CounterChange> {
    let counts_by = |wanted: fn(&Kind) -> bool| is.key.kinds().any(wanted);
    let hashed =
        |kind: &Kind| matches!(kind, Kind::ApiKey | Kind::Header(_) | Kind::Query(_) | Kind::Cookie(_));
    let other_secret = !old.hasher.is_like(&new.hasher) && counts_by(hashed);
    let ipv6_starts_fresh = old.trust.ipv6_prefix != new.trust.ipv6_prefix
        && counts_by(|kind| *kind == Kind::Ip)
        && was.key == is.key;
    let tiers: Vec<&str> = new.tiers().collect();
    let mut found: Vec<CounterChange> = Vec::new();
    for (row, _, numbers) in is.limits.all().filter(|(_, times, _)| *times == 0) {
        let successor = || successors.iter().find(|one| one.limit == numbers.limit);
        let fate = if was.limits.all().next().is_none() {
            Fate::Fresh(Fresh::Unlimited)
        } else if was.key != is.key {
            Fate::Fresh(Fresh::Key)
        } else if other_secret {
            Fate::Fresh(Fresh::Secret)
        } else if let Some(source) = successor().and_then(|one| one.sources.first()) {
            Fate::Carried { from: source.limit.to_string().into() }
        } else if was.limits.counts_by(&numbers.prefix) {
            Fate::Keeps
        } else {
            Fate::Fresh(Fresh::Algorithm)
        };
        let tier = if is.limits.by_tier { tiers.get(row).map(|tier| (*tier).into()) } else { None };
        found.push(CounterChange { tier, fate, ipv6_starts_fresh });
    }
    match found.split_first() {
        Some((first, rest)) if rest.iter().all(|other| other.fate == first.fate) => {
            vec![CounterChange { tier: None, ..first.clone() }]
        }
        _ => found,
    }
}
