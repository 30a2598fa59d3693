//! The keys that are nearest to their limits, as far as this node has seen.
//!
//! Stores cannot be asked: memory keeps fingerprints, Redis hashed names. So keys are noted as they come by, if a decision leaves
//! less than half of their limit. Places are few; one that is taken goes to whoever has less left, and back when the limit
//! is whole again by itself.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use cupo_core::{Key, Outcome, Ruling, Timestamp};
use parking_lot::Mutex;

/// Sets of places, a power of two, and places in each: 4,096 in all.
const SETS: usize = 512;
const WAYS: usize = 8;

/// A key that was seen near its limit.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) rule: Box<str>,
    pub(crate) key: Key,
    /// What was left, of 2^16.
    pub(crate) left: u64,
    pub(crate) at: Timestamp,
    /// When the limit is whole again if nothing else comes.
    until: Timestamp,
}

/// Notes keys that are near their limits. Bounded, and cheap enough for every request: a decision that leaves half of the limit is only
/// looked at, and whoever would have to wait for another request does not note anything.
pub struct Nearest {
    sets: Box<[Mutex<Vec<Seen>>]>,
    hasher: RandomState,
}

impl fmt::Debug for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nearest")
    }
}

impl Default for Nearest {
    fn default() -> Self {
        Self { sets: (0..SETS).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }
    }
}

impl Nearest {
    /// Notes what an outcome shows.
    pub fn observe(&self, outcome: &Outcome) {
        for ruling in outcome.decisions().chain(outcome.shadow_decisions()) {
            if ruling.decision.remaining < ruling.decision.limit.div_ceil(2) {
                self.note(&ruling, outcome.at());
            }
        }
    }

    fn note(&self, ruling: &Ruling<'_>, at: Timestamp) {
        let decision = &ruling.decision;
        let left = decision.remaining.saturating_mul(1 << 16).checked_div(decision.limit).unwrap_or(0);
        let until = at.after(decision.reset_after);
        let hash = self.hasher.hash_one(ruling.key.as_bytes());
        let index = usize::try_from(hash & (SETS as u64 - 1)).unwrap_or(0);
        let Some(mut set) = self.sets.get(index).and_then(Mutex::try_lock) else { return };
        if let Some(known) = set.iter_mut().find(|seen| seen.key == *ruling.key) {
            (known.left, known.at, known.until) = (left, at, until);
            return;
        }
        let new = || Seen { rule: ruling.rule.name().into(), key: ruling.key.clone(), left, at, until };
        if set.len() < WAYS {
            set.push(new());
            return;
        }
        // Who is whole again goes first, then who has the most left, then who was seen longest ago.
        let worth = |seen: &Seen| (seen.until > at, u64::MAX - seen.left, seen.at);
        if let Some(other) = set.iter_mut().min_by_key(|seen| worth(seen))
            && (other.until <= at || other.left >= left)
        {
            *other = new();
        }
    }

    /// Those of `rule`, or of all, that were seen with the least left, and are not whole again by themselves at `now`.
    pub(crate) fn seen(&self, rule: Option<&str>, now: Timestamp, most: usize) -> Vec<Seen> {
        let mut all: Vec<Seen> = Vec::new();
        for set in &self.sets {
            let set = set.lock();
            let wanted = |seen: &&Seen| seen.until > now && rule.is_none_or(|rule| rule == &*seen.rule);
            all.extend(set.iter().filter(wanted).cloned());
        }
        all.sort_by_key(|seen| (seen.left, std::cmp::Reverse(seen.at)));
        all.truncate(most);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use cupo_core::{
        Attributes, Engine, KeySpec, Limit, ManualClock, Policy, PolicySource, RuleSource, Timestamp,
    };
    use cupo_testkit::conformance::{ReferenceStore, block_on};

    use super::{Nearest, SETS, WAYS};

    struct From(u32);

    impl Attributes for From {
        fn client(&self) -> Option<std::net::IpAddr> {
            Some(std::net::Ipv4Addr::from_bits(self.0).into())
        }
    }

    fn engine(limit: u64) -> Engine<ReferenceStore, ManualClock> {
        let limit = Limit::fixed_window(limit, Duration::from_secs(60)).unwrap();
        let rule = RuleSource::new("r", KeySpec::parse(&["ip"]).unwrap(), limit);
        let policy = Policy::compile(PolicySource { rules: vec![rule], ..PolicySource::default() }).unwrap();
        Engine::new(policy, ReferenceStore::default())
            .with_clock(ManualClock::at(Timestamp::from_micros(60_000_000)))
    }

    fn ask(engine: &Engine<ReferenceStore, ManualClock>, nearest: &Nearest, from: u32, times: u32) {
        for _ in 0..times {
            let outcome = block_on(engine.decide(&From(from))).unwrap();
            nearest.observe(&outcome);
        }
    }

    #[test]
    fn who_has_least_left_comes_first_and_who_has_half_is_not_noted() {
        let (engine, nearest) = (Arc::new(engine(10)), Nearest::default());
        for (from, times) in [(1, 5), (2, 6), (3, 9), (4, 12)] {
            ask(&engine, &nearest, from, times);
        }
        let now = Timestamp::from_micros(60_000_000);
        let seen = nearest.seen(None, now, 10);
        let left: Vec<u64> = seen.iter().map(|seen| seen.left).collect();
        assert_eq!(left, [0, 6_553, 26_214]);
        assert_eq!(nearest.seen(Some("r"), now, 2).len(), 2);
        assert_eq!(nearest.seen(Some("other"), now, 2).len(), 0);
        assert_eq!(nearest.seen(None, now.after(Duration::from_secs(60)), 10).len(), 0, "whole again");
    }

    #[test]
    fn places_are_bounded_and_go_to_who_has_less() {
        let (engine, nearest) = (Arc::new(engine(10)), Nearest::default());
        for from in 0..20_000 {
            ask(&engine, &nearest, from, 6);
        }
        let now = Timestamp::from_micros(60_000_000);
        assert!(nearest.seen(None, now, usize::MAX).len() <= SETS * WAYS);
        ask(&engine, &nearest, 1 << 20, 11);
        let least = &nearest.seen(None, now, 1)[0];
        assert_eq!((least.left, least.key.said_parts()), (0, vec!["ip=0.16.0.0".to_owned()]));
    }
}
