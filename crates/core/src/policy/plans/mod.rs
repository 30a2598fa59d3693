//! Plans and callers, compiled: whose request is it, and on which tier?

mod callers;
mod source;

pub(super) use callers::{Callers, Known};
pub use source::{CallerSource, LimitSource, PlanFrom, PlansSource, TierSource, Who};

use crate::attributes::Attributes;
use crate::key::{ApiKeyHash, Hasher};
use crate::settled::Settled;

/// The tiers, where they are said, and what is said of callers.
#[derive(Debug)]
pub(super) struct Plans {
    pub(super) tiers: Vec<Box<str>>,
    pub(super) from: Vec<PlanFrom>,
    /// The tier of callers of whom none is said.
    pub(super) default: usize,
    pub(super) callers: Callers,
    pub(super) entries: Vec<CallerEntry>,
    /// The multipliers.
    pub(super) times: Vec<u64>,
}

/// What is said of one caller.
#[derive(Debug)]
pub(super) struct CallerEntry {
    pub(super) tier: Option<usize>,
    /// The index of its multiplier.
    pub(super) times: usize,
    /// Where that settles all.
    pub(super) settled: Option<Settled>,
}

/// Who makes a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Caller<'a> {
    /// The index of the tier; 0 without plans.
    pub(crate) tier: usize,
    /// The index of the multiplier; 0 is once.
    pub(crate) times: usize,
    /// The index of where the tier is said; `None` where it is the default one.
    pub(crate) from: Option<usize>,
    /// The index of the entry that is about the caller, of several the first.
    pub(crate) entry: Option<usize>,
    /// Where the policy says of the caller that nothing counts.
    pub(crate) settled: Option<&'a Settled>,
    /// The hash of the API key, where it was looked at.
    pub(crate) api_key: Option<ApiKeyHash>,
    /// Whether that stands for several keys.
    pub(crate) several_keys: bool,
}

impl Caller<'_> {
    /// The hash of the only API key, where it was looked at.
    pub(super) fn only_api_key(&self) -> Option<ApiKeyHash> {
        self.api_key.filter(|_| !self.several_keys)
    }
}

impl Plans {
    /// Who makes the request. O(1) in the number of callers.
    pub(super) fn caller<A: Attributes + ?Sized>(&self, attributes: &A, hasher: &Hasher) -> Caller<'_> {
        let found = self.callers.find(attributes, hasher);
        let entries = || found.entries.iter().filter_map(|index| self.entries.get(*index));
        // Of several lines each can harm its sender and none can help: what is said in favour counts of a single one only.
        let only = entries().next().filter(|_| !found.several);
        let is_blocked = |settled: &&Settled| matches!(settled, Settled::Blocked(_));
        let blocked = entries().filter_map(|entry| entry.settled.as_ref()).find(is_blocked);
        let said = |from: &PlanFrom| match from {
            PlanFrom::Callers => entries().find_map(|entry| entry.tier),
            PlanFrom::Claim(name) => self.tier(&attributes.claim(name)?),
            PlanFrom::Header(name) => self.tier(&attributes.vouched_header(name)?),
        };
        let (from, tier) = self.from.iter().enumerate().find_map(|(i, from)| Some((i, said(from)?))).unzip();
        Caller {
            tier: tier.unwrap_or(self.default),
            from,
            entry: found.entries.first().copied(),
            times: only.map_or(0, |entry| entry.times),
            settled: blocked.or_else(|| only?.settled.as_ref()),
            api_key: found.api_key,
            several_keys: found.several_keys,
        }
    }

    /// The index of the tier of this name.
    fn tier(&self, name: &[u8]) -> Option<usize> {
        let name = name.trim_ascii();
        self.tiers.iter().position(|tier| tier.as_bytes() == name)
    }
}
