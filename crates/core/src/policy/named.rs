//! Counters by name: a rule, and the parts of a key, as an administrator says them.

use thiserror::Error;

use super::{Policy, Rule};
use crate::check::CheckItem;
use crate::key::{Key, SaidError, Spelling};

/// Why nothing is called so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The policy has no such rule.
    #[error("the policy has no rule of this name")]
    UnknownRule,
    /// The policy has no such tier.
    #[error("the policy has no plan of this name; it has {}", if known.is_empty() { "none" } else { known })]
    UnknownTier {
        /// The tiers there are.
        known: Box<str>,
    },
    /// The parts name no key of the rule.
    #[error(transparent)]
    Parts(#[from] SaidError),
}

/// A key of a rule, and everything that is counted under it.
#[derive(Debug, Clone)]
pub struct Named {
    /// The rule's name and the parts of the key, whichever limit counts them.
    pub key: Key,
    /// The rule's index in [`Policy::rules`].
    pub rule: usize,
    /// One counter, or one for each limit that callers may have by the rule. Each asks for nothing.
    pub counters: Vec<Counter>,
}

/// What is counted under a key by one of the limits of its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// The tiers whose limit it is; none where the rule's limit is not by tier.
    pub tiers: Vec<Box<str>>,
    /// By how much the limit is multiplied for callers who have it.
    pub times: u64,
    /// The key, the limit and a cost of 0.
    pub item: CheckItem,
}

impl Policy {
    /// What is counted under the key of `rule` whose parts are said in `parts`, each as `KIND=VALUE` or as a value alone; of one
    /// tier where `tier` says so. `spelling` brings a value in clear to the one that requests are counted by.
    ///
    /// # Errors
    /// [`NameError`] where there is no such rule, tier or key. It repeats nothing of `parts`.
    pub fn counters<T: AsRef<str>>(
        &self,
        rule: &str,
        parts: &[T],
        tier: Option<&str>,
        spelling: Spelling<'_>,
    ) -> Result<Named, NameError> {
        let named = |own: &(usize, &Rule)| &*own.1.name == rule;
        let (index, rule) = self.rules.iter().enumerate().find(named).ok_or(NameError::UnknownRule)?;
        let said =
            |prefix: &Key| rule.key.said(prefix, parts, self.trust.ipv6_prefix, &self.hasher, spelling);
        let key = said(&Key::builder(&rule.name).build())?;
        let tiers: Vec<&str> = self.tiers().collect();
        if tier.is_some_and(|tier| !tiers.contains(&tier)) {
            return Err(NameError::UnknownTier { known: tiers.join(", ").into() });
        }
        let mut counters: Vec<Counter> = Vec::new();
        for (row, times, numbers) in rule.limits.all() {
            let of = if rule.limits.by_tier { tiers.get(row).copied() } else { None };
            if tier.is_some_and(|tier| of.is_some_and(|of| of != tier)) {
                continue;
            }
            let item = CheckItem { key: said(&numbers.prefix)?, limit: numbers.limit, cost: 0 };
            let times = self.times.get(times).copied().unwrap_or(1);
            let known = counters.iter_mut().find(|known| known.times == times && known.item == item);
            if let Some(known) = known {
                known.tiers.extend(of.map(Into::into));
            } else {
                let tiers = of.map(Into::into).into_iter().collect();
                counters.push(Counter { tiers, times, item });
            }
        }
        Ok(Named { key, rule: index, counters })
    }
}
