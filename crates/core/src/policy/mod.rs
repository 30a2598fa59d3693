//! The policy: what the operator wrote ([`PolicySource`]), compiled once into a [`Policy`] that requests are matched against.

mod action;
mod applies;
mod blocked;
mod changes;
mod check;
mod companions;
mod compile;
mod conditions;
mod cost;
mod error;
mod exemption;
mod explain;
mod former;
mod header;
mod index;
mod limits;
mod match_source;
mod named;
mod networks;
mod plans;
mod request;
mod route;
mod source;
mod standing;
mod trust;
mod unmet;

pub use action::{Action, OnMissing, OnStoreError};
pub use applies::AppliesTo;
pub use changes::{
    Changes, CounterChange, Fate, FieldChange, Fresh, OrderChange, RuleChange, RuleChangeKind,
};
pub(crate) use check::{Prepared, ShadowItems};
pub(crate) use cost::whole_units;
pub use cost::{ChargeSource, CostSource, Statuses};
pub use error::{PolicyError, PolicyErrors, Problem};
pub use exemption::{ExemptionSource, ExemptionsSource, HeaderSecret};
pub use explain::Bearing;
pub(crate) use explain::{Borne, Traced};
pub(crate) use former::{Former, Successor};
pub use match_source::{HeaderSource, HeaderTest, MatchSource};
pub use named::{Counter, NameError, Named};
pub use plans::{CallerSource, LimitSource, PlanFrom, PlansSource, TierSource, Who};
pub(crate) use route::Route;
pub use source::{PolicySource, RuleSource, STATUS_RULE};
pub(crate) use standing::Applicable;
pub use trust::{ClientAddressHeader, Proxies, Trust};
pub use unmet::Unmet;

use std::sync::Arc;

use crate::attributes::Attributes;
use crate::check::CheckItem;
use crate::key::{ApiKeyHash, Hasher, KeySpec};
use crate::limit::Limit;
use conditions::Conditions;
use exemption::Exemptions;
use index::Index;
use limits::Limits;
use plans::Plans;
use request::Needs;

/// A compiled policy: immutable, swapped whole.
#[derive(Debug)]
pub struct Policy {
    trust: Trust,
    hasher: Hasher,
    exemptions: Exemptions,
    /// Where there are plans or callers.
    plans: Option<Box<Plans>>,
    /// By how much callers' limits may be multiplied; 1 is the first.
    times: Box<[u64]>,
    /// The rules, and after them the one that guards the status endpoint.
    rules: Vec<Rule>,
    index: Index,
    /// Whether a rule is charged for good only when the response is there.
    awaits_responses: bool,
    /// What conditions and keys ask of requests.
    needs: Needs,
    /// Headers that count from trusted proxies only, in lower case.
    vouched: Box<[Box<str>]>,
}

impl Policy {
    /// Compiles a policy.
    ///
    /// # Errors
    /// [`PolicyErrors`]: everything that is wrong with it, each with the place and a hint.
    pub fn compile(source: PolicySource) -> Result<Arc<Self>, PolicyErrors> {
        compile::compile(source).map(Arc::new)
    }

    /// Whom the policy believes.
    #[must_use]
    pub const fn trust(&self) -> &Trust {
        &self.trust
    }

    /// The headers that count where somebody vouches for them, and from nobody else, in lower case: those that name the user, the
    /// client's address and the plan, and those that say what a request costs.
    pub fn vouched_headers(&self) -> impl Iterator<Item = &str> {
        self.vouched.iter().map(|name| &**name)
    }

    /// The rules, in the order in which they were written.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        self.rules.split_last().map_or(&[], |(_, rules)| rules)
    }

    /// Whether a rule is charged for good only when the response is there.
    #[must_use]
    pub const fn awaits_responses(&self) -> bool {
        self.awaits_responses
    }

    /// How often one address may ask the status endpoint.
    #[must_use]
    pub fn status_limit(&self) -> Option<&Limit> {
        self.rules.last()?.limits().next()?
    }

    /// The rule of this index; the one after the last of [`rules`](Self::rules) guards the status endpoint.
    pub(crate) fn rule(&self, index: usize) -> Option<&Rule> {
        self.rules.get(index)
    }

    /// The check that a question at the status endpoint has to pass.
    pub(crate) fn guard<A: Attributes + ?Sized>(&self, attributes: &A) -> Prepared {
        let index = self.rules.len().saturating_sub(1);
        let context = self.context(&plans::Caller::default(), None, None);
        let mut prepared = Prepared::default();
        let item = |rule: &Rule| rule.item(attributes, &context, rule.limits.at(0, 0)?).ok();
        if let Some(item) = self.rules.get(index).and_then(item) {
            prepared.check.push_new(CheckItem { cost: 1, ..item });
            prepared.rules.push(index);
        }
        prepared
    }

    /// The names of the tiers, in the order in which they were written; none without plans.
    pub fn tiers(&self) -> impl Iterator<Item = &str> {
        self.plans.iter().flat_map(|plans| &plans.tiers).map(|name| &**name)
    }

    /// The tier of callers of whom none is said, or an unknown one.
    #[must_use]
    pub fn default_tier(&self) -> Option<&str> {
        let plans = self.plans.as_ref()?;
        plans.tiers.get(plans.default).map(|name| &**name)
    }

    /// Where callers' tiers are said, in the order in which that counts.
    #[must_use]
    pub fn plan_from(&self) -> &[PlanFrom] {
        self.plans.as_ref().map_or(&[], |plans| &plans.from)
    }

    /// The entries that let requests pass whatever the rules say: their names, and the requests in words.
    pub fn allowed(&self) -> impl Iterator<Item = (&str, String)> {
        let [allowed, _] = self.exemptions.describe();
        allowed
    }

    /// The same of those that refuse requests.
    pub fn blocked(&self) -> impl Iterator<Item = (&str, String)> {
        let [_, blocked] = self.exemptions.describe();
        blocked
    }

    /// How many callers something is said of.
    #[must_use]
    pub fn callers(&self) -> usize {
        self.plans.as_ref().map_or(0, |plans| plans.entries.len())
    }

    /// The hash of an API key as this policy counts it; `None` for a key of blanks.
    #[must_use]
    pub fn hash_api_key(&self, key: &[u8]) -> Option<ApiKeyHash> {
        self.hasher.hash(key)
    }
}

/// A compiled rule: match, key, limit and action under a stable name.
#[derive(Debug)]
pub struct Rule {
    name: Box<str>,
    conditions: Conditions,
    stop: bool,
    key: KeySpec,
    limits: Limits,
    cost: CostSource,
    charge: ChargeSource,
    action: Action,
    on_missing: OnMissing,
    on_store_error: OnStoreError,
}

impl Rule {
    /// The stable name, unique in its policy.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the rules after it are not looked at once it applied to a request.
    #[must_use]
    pub const fn stops(&self) -> bool {
        self.stop
    }

    /// What it counts.
    #[must_use]
    pub const fn key(&self) -> &KeySpec {
        &self.key
    }

    /// How much of it is allowed, by tier and in their order; a single one where the rule has a limit of its own. `None` is
    /// unlimited.
    pub fn limits(&self) -> impl ExactSizeIterator<Item = Option<&Limit>> {
        let columns = self.limits.columns.max(1);
        self.limits.cells.iter().step_by(columns).map(|cell| cell.as_ref().map(|numbers| &numbers.limit))
    }

    /// Whether the limit is that of the caller's tier.
    #[must_use]
    pub const fn is_by_tier(&self) -> bool {
        self.limits.by_tier
    }

    /// The most units that one request takes when it comes.
    #[must_use]
    pub const fn cost(&self) -> u64 {
        self.cost.most()
    }

    /// What one request costs.
    #[must_use]
    pub const fn cost_source(&self) -> &CostSource {
        &self.cost
    }

    /// When that is charged for good.
    #[must_use]
    pub const fn charge_source(&self) -> &ChargeSource {
        &self.charge
    }

    /// What happens on excess.
    #[must_use]
    pub const fn action(&self) -> Action {
        self.action
    }

    /// What happens to a request that lacks a part of the key.
    #[must_use]
    pub const fn on_missing(&self) -> OnMissing {
        self.on_missing
    }

    /// What happens when the store cannot decide.
    #[must_use]
    pub const fn on_store_error(&self) -> OnStoreError {
        self.on_store_error
    }

    /// This node's shares of the [limits](Self::limits): what `on_store_error: local` enforces.
    pub fn shares(&self) -> impl ExactSizeIterator<Item = Option<&Limit>> {
        let columns = self.limits.columns.max(1);
        self.limits.cells.iter().step_by(columns).map(|cell| cell.as_ref().map(|numbers| &numbers.share))
    }

    /// The requests that it applies to, in words.
    #[must_use]
    pub fn describe_match(&self) -> String {
        self.conditions.to_string()
    }
}
