//! Taking over what was counted under the limits of earlier policies, key by key, when a key is first touched.

use core::hash::BuildHasher as _;
use core::sync::atomic::{AtomicU32, Ordering};
use std::hash::RandomState;
use std::sync::OnceLock;

use crate::check::CheckItem;
use crate::key::Key;
use crate::limit::Limit;
use crate::policy::{Former, Policy, Successor};
use crate::store::{Store, StoreError};
use crate::time::Timestamp;

/// Pages of places for keys that are done, and places on each: a million places in all, 4 MiB once that many keys were seen.
const PAGES: usize = 2_048;
const PLACES: usize = 512;

/// What a policy takes over from those before it.
#[derive(Debug)]
pub(crate) struct Carrying {
    /// Limits that were in force before, for the policies after this one.
    former: Vec<Former>,
    /// By rule, in the order of their indices.
    rules: Vec<(usize, Vec<Successor>)>,
    /// From when on there is nothing to take over.
    until: Timestamp,
    done: Done,
}

/// Keys that are done. A key that another one has pushed out is asked for once more, which changes nothing.
struct Done {
    pages: Box<[OnceLock<Box<[AtomicU32]>>]>,
    /// Random, so that nobody can choose keys that push each other out, or pass for one that is done.
    seed: RandomState,
}

impl Carrying {
    /// What `policy` takes over at `now`, when it replaces `old`, which took over from `before`; `None` where there is nothing to
    /// remember.
    pub(crate) fn between(
        before: Option<&Self>,
        old: &Policy,
        policy: &Policy,
        now: Timestamp,
    ) -> Option<Self> {
        let former = old.retire(now, before.map_or(&[], |before| &before.former), policy);
        let (rules, former) = policy.succeed(former);
        let sources = || rules.iter().flat_map(|(_, all)| all).flat_map(|one| &one.sources);
        let until = sources().map(|source| source.until).max().unwrap_or(Timestamp::EPOCH);
        let pages = if rules.is_empty() { 0 } else { PAGES };
        (!former.is_empty()).then(|| Self { former, rules, until, done: Done::new(pages) })
    }

    /// Whether there may be anything to take over at `now`.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// Takes over what was counted of these items, each with its rule.
    pub(crate) async fn carry<S: Store>(
        &self,
        store: &S,
        items: impl Iterator<Item = (usize, &CheckItem)> + Send,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for (rule, item) in items {
            let Some(successor) = self.successor(rule, item) else { continue };
            let place = self.done.place(&item.key);
            if place.is_some_and(|(place, print)| place.load(Ordering::Relaxed) == print) {
                continue;
            }
            for source in successor.sources.iter().filter(|source| now < source.until) {
                let Some(key) = item.key.moved(&successor.prefix, &source.prefix) else { continue };
                store.carry(&CheckItem { key, limit: source.limit, cost: 0 }, item, now).await?;
            }
            if let Some((place, print)) = place {
                place.store(print, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Takes over what was counted of these items under a policy before.
    #[allow(single_use_lifetimes, reason = "an `impl Trait` argument cannot elide it")]
    pub(crate) async fn follow<'a, S: Store>(
        &self,
        store: &S,
        items: impl Iterator<Item = (&'a Key, &'a Limit)> + Send,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for (key, limit) in items {
            let all = self.rules.iter().flat_map(|(_, all)| all);
            let to = all.filter_map(|one| {
                let source = one.sources.iter().find(|source| {
                    source.limit.algorithm() == limit.algorithm() && key.begins_with(&source.prefix)
                })?;
                Some((one.limit, key.moved(&source.prefix, &one.prefix)?))
            });
            // Of several tiers whose callers counted by it, the one that loses nothing.
            let Some(to) = to.max_by_key(|(limit, _)| limit.quota()) else { continue };
            let from = CheckItem { key: key.clone(), limit: *limit, cost: 0 };
            store.carry(&from, &CheckItem { key: to.1, limit: to.0, cost: 0 }, now).await?;
        }
        Ok(())
    }

    /// Takes over what was counted of this key, whichever of its rule's limits counts it.
    pub(crate) async fn take_over<S: Store>(
        &self,
        store: &S,
        key: &Key,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mine = || {
            let all = self.rules.iter().flat_map(|(_, all)| all);
            all.filter(|one| key.begins_with(&one.prefix))
        };
        let Some(limit) = mine().map(|one| one.limit).max_by_key(|limit| limit.quota()) else {
            return Ok(());
        };
        let to = CheckItem { key: key.clone(), limit, cost: 0 };
        for one in mine() {
            for source in one.sources.iter().filter(|source| now < source.until) {
                let Some(key) = key.moved(&one.prefix, &source.prefix) else { continue };
                store.carry(&CheckItem { key, limit: source.limit, cost: 0 }, &to, now).await?;
            }
        }
        Ok(())
    }

    fn successor(&self, rule: usize, item: &CheckItem) -> Option<&Successor> {
        let at = self.rules.binary_search_by_key(&rule, |(rule, _)| *rule).ok()?;
        let (_, successors) = self.rules.get(at)?;
        successors.iter().find(|one| one.limit == item.limit)
    }
}

impl core::fmt::Debug for Done {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Done").field("pages", &self.pages.len()).finish_non_exhaustive()
    }
}

impl Done {
    fn new(pages: usize) -> Self {
        Self { pages: (0..pages).map(|_| OnceLock::new()).collect(), seed: RandomState::new() }
    }

    /// The place of a key, and what is there once it is done.
    fn place(&self, key: &Key) -> Option<(&AtomicU32, u32)> {
        let hash = self.seed.hash_one(key);
        // Half of the hash says where, the other half what.
        let print = u32::try_from(hash >> 32).ok()?;
        let place = usize::try_from(hash & u64::from(u32::MAX)).ok()?;
        let page = self.pages.get(place.checked_div(PLACES)?.checked_rem(self.pages.len())?)?;
        let page = page.get_or_init(|| (0..PLACES).map(|_| AtomicU32::new(0)).collect());
        // 0 is in every place.
        Some((page.get(place.checked_rem(PLACES)?)?, print.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::sync::Arc;

    use super::Carrying;
    use crate::{KeySpec, Limit, Policy, PolicySource, RuleSource, Timestamp};

    fn policy(hours: u64, other: u64) -> Arc<Policy> {
        let rule = |name: &str, hours| {
            let limit = Limit::fixed_window(9, Duration::from_secs(hours * 3_600)).unwrap();
            RuleSource::new(name, KeySpec::parse(&["ip"]).unwrap(), limit)
        };
        let rules = vec![rule("changes", hours), rule("other", other)];
        Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap()
    }

    #[test]
    fn what_is_remembered_does_not_grow_with_the_number_of_reloads() {
        let now = Timestamp::from_micros(1_760_000_000_000_000);
        let mut carrying: Option<Carrying> = None;
        for turn in 0..50 {
            let (old, new) = (policy(1 + turn % 3, 1), policy(1 + (turn + 1) % 3, 1));
            carrying = Carrying::between(carrying.as_ref(), &old, &new, now);
        }
        let carrying = carrying.unwrap();
        assert_eq!(carrying.former.len(), 3, "three windows of the one rule, and nothing of the other");
        assert_eq!(carrying.rules.len(), 1);
        assert_eq!(carrying.rules[0].1[0].sources.len(), 2);
        // Of many windows the latest.
        let mut many: Option<Carrying> = None;
        for turn in 1..20 {
            many = Carrying::between(many.as_ref(), &policy(turn, 1), &policy(turn + 1, 1), now);
        }
        let many = many.unwrap();
        let sources = &many.rules[0].1[0].sources;
        let windows: Vec<u64> = sources.iter().map(|one| one.limit.window().as_secs() / 3_600).collect();
        assert_eq!(windows, [19, 18, 17, 16, 15, 14, 13, 12]);
        // And nothing of it is left once nothing of it counts.
        let later = now.after(Duration::from_secs(4 * 3_600));
        let same = policy(1, 1);
        assert!(Carrying::between(Some(&carrying), &same, &same, later).is_none());
        assert!(carrying.is_due(now) && !carrying.is_due(later));
    }
}
