//! What would become of a request, and why. Nothing is taken.

use std::net::IpAddr;
use std::sync::Arc;

use crate::check::CheckItem;
use crate::decision::Decision;
use crate::key::ApiKeyHash;
use crate::outcome::Outcome;
use crate::policy::{Bearing, Borne, PlanFrom, Policy, Rule};
use crate::store::StoreError;

/// What would become of a request, and why: made by [`Engine::explain`](crate::Engine::explain).
#[derive(Debug, Clone)]
pub struct Explanation {
    policy: Arc<Policy>,
    caller: CallerView,
    rules: Vec<Seen>,
    outcome: Result<Outcome, StoreError>,
}

/// Who the caller is taken to be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallerView {
    /// The address, after trusted proxies have been walked.
    pub client: Option<IpAddr>,
    /// The hash of the API key, as the policy hashes keys; of several, of what all such requests share.
    pub api_key: Option<ApiKeyHash>,
    /// Whether there are several API keys.
    pub several_keys: bool,
    /// The user, escaped.
    pub user: Option<Box<str>>,
    /// The plan; `None` without plans.
    pub plan: Option<Box<str>>,
    /// Where that is said; `None` where it is the default.
    pub plan_from: Option<PlanFrom>,
    /// The entry that says something of the caller, such as `callers[3]`.
    pub entry: Option<Box<str>>,
    /// By how much the caller's limits are multiplied, by that entry.
    pub times: u64,
    /// Whether the request shows credentials that do not hold, where such requests are refused.
    pub bad_credentials: bool,
}

/// One rule and the request.
#[derive(Debug, Clone)]
struct Seen {
    borne: Borne,
    counted: Option<CheckItem>,
    balance: Option<Decision>,
    decision: Option<Decision>,
}

/// One rule and the request.
#[derive(Debug, Clone, Copy)]
pub struct RuleView<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// Whether it applies, or why it does not.
    pub bearing: &'a Bearing,
    /// Whether the rules after it are not looked at because of it.
    pub stops: bool,
    /// Whether it says `stop` and does not hide the rules after it, since the lines of a header or the readings of the path
    /// disagree.
    pub doubtful: bool,
    /// What it counts: key, limit and cost.
    pub counted: Option<&'a CheckItem>,
    /// What is left now, as a peek shows it.
    pub balance: Option<Decision>,
    /// What it would say. `None` where it would not be asked, such as a rule that only watches when another refuses.
    pub decision: Option<Decision>,
}

impl Explanation {
    /// The explanation of what `traced` found and the store said: the balance and the decision of each item of a rule.
    pub(crate) fn new(
        policy: Arc<Policy>,
        (caller, rules): (CallerView, Vec<Borne>),
        counted: Vec<Counted>,
        outcome: Result<Outcome, StoreError>,
    ) -> Self {
        let seen = |borne| Seen { borne, counted: None, balance: None, decision: None };
        let mut rules: Vec<Seen> = rules.into_iter().map(seen).collect();
        for counted in counted {
            if let Some(seen) = rules.get_mut(counted.rule) {
                seen.counted = Some(counted.item);
                seen.balance = counted.balance;
                seen.decision = counted.decision;
            }
        }
        Self { policy, caller, rules, outcome }
    }

    /// The policy that it is about.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Who the caller is taken to be.
    #[must_use]
    pub const fn caller(&self) -> &CallerView {
        &self.caller
    }

    /// Every rule, in the order of the policy.
    pub fn rules(&self) -> impl Iterator<Item = RuleView<'_>> {
        self.policy.rules().iter().zip(&self.rules).map(|(rule, seen)| RuleView {
            rule,
            bearing: &seen.borne.bearing,
            stops: seen.borne.stops,
            doubtful: seen.borne.doubtful,
            counted: seen.counted.as_ref(),
            balance: seen.balance,
            decision: seen.decision,
        })
    }

    /// What [`Engine::decide`](crate::Engine::decide) would answer now.
    ///
    /// # Errors
    /// The error that it would answer: the store cannot decide, and a rule refuses then.
    pub const fn outcome(&self) -> Result<&Outcome, &StoreError> {
        self.outcome.as_ref()
    }
}

/// What a rule counts, and what the store said to it.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) rule: usize,
    pub(crate) item: CheckItem,
    pub(crate) balance: Option<Decision>,
    pub(crate) decision: Option<Decision>,
}

impl Counted {
    /// Before the store has said anything.
    pub(crate) const fn new(rule: usize, item: CheckItem) -> Self {
        Self { rule, item, balance: None, decision: None }
    }
}
