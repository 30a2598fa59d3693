//! What tells two policies apart, and what becomes of what is counted when one replaces the other.

mod counters;
mod order;
mod rules;
mod settings;

use super::Policy;
use crate::time::Timestamp;

/// What tells two policies apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Changes {
    /// Rules that are new, say something else, or count anew; in the order of the new policy, and after them those that are gone.
    pub rules: Vec<RuleChange>,
    /// Rules that say `stop` and come before others than they did.
    pub order: Vec<OrderChange>,
    /// Plans, callers, exemptions, and whom the policy believes.
    pub settings: Vec<FieldChange>,
    /// How many rules are the same, and go on counting.
    pub unchanged: usize,
}

impl Changes {
    /// Whether both policies say the same.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.order.is_empty() && self.settings.is_empty()
    }
}

/// A rule that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleChange {
    /// The name.
    pub name: Box<str>,
    /// What happened to it.
    pub kind: RuleChangeKind,
    /// What it says now and did not, or did and does not.
    pub fields: Vec<FieldChange>,
    /// What becomes of its counters: one for all callers, or one for each tier.
    pub counters: Vec<CounterChange>,
}

/// What happened to a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleChangeKind {
    /// It is new.
    Added {
        /// A rule that is gone, and matched and counted the same: what it counted is not taken over.
        looks_like: Option<Box<str>>,
    },
    /// It is gone. What it counted is forgotten as it ends, or taken over where a rule of this name comes back before.
    Removed,
    /// It says something else, or what it says means something else.
    Changed,
}

/// Something that is said otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldChange {
    /// What, as a policy calls it, such as `limit` or `plans.pro.requests`.
    pub field: Box<str>,
    /// What was said; `None` where nothing was.
    pub before: Option<Box<str>>,
    /// What is said; `None` where nothing is.
    pub after: Option<Box<str>>,
}

/// What becomes of what is counted by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterChange {
    /// The tier whose limit counts; `None` for all.
    pub tier: Option<Box<str>>,
    /// What becomes of it.
    pub fate: Fate,
    /// Whether clients with IPv6 addresses start fresh in any case, since they are grouped otherwise.
    pub ipv6_starts_fresh: bool,
}

/// What becomes of what is counted under one limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// The same counters go on.
    Keeps,
    /// What still counts is charged to the new limit, when a key is first seen.
    Carried {
        /// The limit that counted before.
        from: Box<str>,
    },
    /// Nobody has used anything of the new limit.
    Fresh(Fresh),
}

/// Why a limit starts fresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fresh {
    /// It counts by another algorithm.
    Algorithm,
    /// It counts by something else.
    Key,
    /// What it counts by is hashed under another secret.
    Secret,
    /// There was no limit.
    Unlimited,
}

impl Fresh {
    /// In words, such as `the algorithm changed`.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Algorithm => "the algorithm changed",
            Self::Key => "the key changed",
            Self::Secret => "the secret of hashes changed",
            Self::Unlimited => "there was no limit",
        }
    }
}

/// A rule that says `stop`, and hides others than it did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrderChange {
    /// The rule that says `stop`.
    pub rule: Box<str>,
    /// Rules that now come after it, and did not.
    pub hides: Vec<Box<str>>,
    /// Rules that came after it, and do not.
    pub reveals: Vec<Box<str>>,
}

impl Policy {
    /// What is different in `new`, and what becomes of what is counted when it replaces this policy.
    #[must_use]
    pub fn changes(&self, new: &Self) -> Changes {
        // The same that happens when one replaces the other.
        let (successors, _) = new.succeed(self.retire(Timestamp::EPOCH, &[], new));
        let (rules, unchanged) = rules::changes(self, new, &successors);
        Changes { rules, order: order::changes(self, new), settings: settings::changes(self, new), unchanged }
    }
}

/// A field, where it is said otherwise.
#[allow(clippy::needless_pass_by_value, reason = "most values are made for it")]
fn field<T: PartialEq>(
    name: impl Into<Box<str>>,
    before: Option<T>,
    after: Option<T>,
    say: impl Fn(&T) -> String,
) -> Option<FieldChange> {
    (before != after).then(|| FieldChange {
        field: name.into(),
        before: before.as_ref().map(|value| say(value).into()),
        after: after.as_ref().map(|value| say(value).into()),
    })
}
