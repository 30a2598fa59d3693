//! Plans and callers as plain values.

use ipnet::IpNet;

use crate::key::ApiKeyHash;
use crate::limit::Limit;

/// Tiers of named numbers, and how a caller's tier is found. Without tiers there are no plans.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlansSource {
    /// The tiers.
    pub tiers: Vec<TierSource>,
    /// Where a caller's tier is said: the first that names a known one counts.
    pub from: Vec<PlanFrom>,
    /// The tier of callers of whom none is said, or an unknown one.
    pub default: String,
}

/// A tier: named numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct TierSource {
    /// The name, unique among the tiers.
    pub name: String,
    /// The numbers by name; `None` is unlimited. A number that a rule takes has to be in every tier.
    pub numbers: Vec<(String, Option<Limit>)>,
}

/// Where a caller's tier may be said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanFrom {
    /// In the list of callers.
    Callers,
    /// In the claim of this name of a verified token.
    Claim(String),
    /// In the header of this name, in lower case, where somebody vouches for it.
    Header(String),
}

/// What is said of one caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerSource {
    /// Who that is; nobody is in the list twice.
    pub who: Who,
    /// The caller's tier.
    pub plan: Option<String>,
    /// The caller may do so many times what others may, at least 1.
    pub times: u64,
    /// Nothing of the caller's passes.
    pub blocked: bool,
    /// No rule applies to the caller.
    pub unlimited: bool,
}

impl CallerSource {
    /// A caller like any other, until more is said.
    #[must_use]
    pub const fn new(who: Who) -> Self {
        Self { who, plan: None, times: 1, blocked: false, unlimited: false }
    }
}

/// Who a caller is. Of several entries that are about one request the first of this order counts, alone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Who {
    /// Who has the API key of this hash.
    ApiKey(ApiKeyHash),
    /// The user of this name.
    User(String),
    /// Who comes from this network; of several the smallest.
    Network(IpNet),
}

/// How much a rule allows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitSource {
    /// As much as this.
    Own(Limit),
    /// As much as the number of this name in the caller's tier.
    Plan(String),
}

impl From<Limit> for LimitSource {
    fn from(limit: Limit) -> Self {
        Self::Own(limit)
    }
}
