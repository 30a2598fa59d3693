//! A policy as plain values, before it is compiled: what a configuration file or a program builds.

use super::action::{Action, OnMissing, OnStoreError};
use super::cost::{ChargeSource, CostSource};
use super::exemption::ExemptionsSource;
use super::match_source::MatchSource;
use super::plans::{CallerSource, LimitSource, PlansSource};
use super::trust::Trust;
use crate::key::{KeySecret, KeySpec};
use crate::limit::Limit;

/// Everything the operator wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySource {
    /// Whom the policy believes.
    pub trust: Trust,
    /// How many nodes enforce this policy together, above 0; 1 unless said otherwise. While the store is out of reach, a
    /// rule with `on_store_error: local` allows each of them its share.
    pub replicas: u32,
    /// Who passes and who does not, whatever the rules say.
    pub exemptions: ExemptionsSource,
    /// How often one address may ask the status endpoint; 60 per minute unless said otherwise. It counts under the name
    /// [`STATUS_RULE`].
    pub status: Limit,
    /// What hashes of API keys and other secrets are keyed with; plain SHA-256 without. Another secret starts counters by
    /// such keys anew.
    pub api_key_secret: Option<KeySecret>,
    /// Tiers of numbers that rules take their limits from.
    pub plans: PlansSource,
    /// What is said of single callers.
    pub callers: Vec<CallerSource>,
    /// The rules.
    pub rules: Vec<RuleSource>,
}

/// The name of the rule that guards the status endpoint.
pub const STATUS_RULE: &str = "rate-limit-status";

impl Default for PolicySource {
    fn default() -> Self {
        Self {
            trust: Trust::default(),
            replicas: 1,
            exemptions: ExemptionsSource::default(),
            status: Limit::STATUS,
            api_key_secret: None,
            plans: PlansSource::default(),
            callers: Vec::new(),
            rules: Vec::new(),
        }
    }
}

/// A rule: match, key, limit and action.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleSource {
    /// The stable name, unique in the policy: counters, headers and metrics know the rule by it.
    pub name: String,
    /// The requests that the rule applies to.
    pub matches: MatchSource,
    /// Whether the rules after it in the policy are not looked at once it applied to a request.
    pub stop: bool,
    /// What it counts.
    pub key: KeySpec,
    /// How much of it is allowed.
    pub limit: LimitSource,
    /// What one request takes of it.
    pub cost: CostSource,
    /// When that is charged for good.
    pub charge: ChargeSource,
    /// What happens on excess.
    pub action: Action,
    /// What happens to a request that lacks a part of the key.
    pub on_missing: OnMissing,
    /// What happens when the store cannot decide.
    pub on_store_error: OnStoreError,
}

impl RuleSource {
    /// A rule for all requests, of cost 1, that denies on excess.
    #[must_use]
    pub fn new(name: &str, key: KeySpec, limit: impl Into<LimitSource>) -> Self {
        Self {
            name: name.to_owned(),
            matches: MatchSource::default(),
            stop: false,
            key,
            limit: limit.into(),
            cost: CostSource::Fixed(1),
            charge: ChargeSource::default(),
            action: Action::default(),
            on_missing: OnMissing::default(),
            on_store_error: OnStoreError::default(),
        }
    }

    /// Whether it is charged for good only when the response is there.
    pub(super) const fn awaits_response(&self) -> bool {
        self.cost.is_open() || matches!(self.charge, ChargeSource::OnResponse(_))
    }
}
