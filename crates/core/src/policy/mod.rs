//! The policy: what the operator wrote ([`PolicySource`]), compiled once into a [`Policy`] that requests are matched against.

mod action;
mod check;
mod compile;
mod conditions;
mod error;
mod exemption;
mod header;
mod index;
mod match_source;
mod networks;
mod request;
mod route;
mod source;
mod standing;

pub use action::{Action, OnMissing, OnStoreError};
pub(crate) use check::{Prepared, ShadowItems};
pub use error::{PolicyError, PolicyErrors, Problem};
pub use exemption::{ExemptionSource, ExemptionsSource, HeaderSecret};
pub use match_source::{HeaderSource, HeaderTest, MatchSource};
pub(crate) use route::Route;
pub use source::{PolicySource, RuleSource, STATUS_RULE, Trust};
pub(crate) use standing::Applicable;

use std::sync::Arc;

use crate::attributes::Attributes;
use crate::check::CheckItem;
use crate::key::{Context, Key, KeySpec};
use crate::limit::Limit;
use conditions::Conditions;
use exemption::Exemptions;
use index::Index;
use request::Needs;

/// A compiled policy: immutable, swapped whole.
#[derive(Debug)]
pub struct Policy {
    trust: Trust,
    exemptions: Exemptions,
    /// The rules, and after them the one that guards the status endpoint.
    rules: Vec<Rule>,
    index: Index,
    /// What conditions and keys ask of requests.
    needs: Needs,
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

    /// The rules, in the order in which they were written.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        self.rules.split_last().map_or(&[], |(_, rules)| rules)
    }

    /// The rule of this index; the one after the last of [`rules`](Self::rules) guards the status endpoint.
    pub(crate) fn rule(&self, index: usize) -> Option<&Rule> {
        self.rules.get(index)
    }

    /// The check that a question at the status endpoint has to pass.
    pub(crate) fn guard<A: Attributes + ?Sized>(&self, attributes: &A) -> Prepared {
        let index = self.rules.len().saturating_sub(1);
        let context = Context { ipv6_prefix: self.trust.ipv6_prefix, method: None, route: None };
        let mut prepared = Prepared::default();
        if let Some(item) = self.rules.get(index).and_then(|rule| rule.item(attributes, &context)) {
            prepared.check.push_new(CheckItem { cost: 1, ..item });
            prepared.rules.push(index);
        }
        prepared
    }
}

/// A compiled rule: match, key, limit and action under a stable name.
#[derive(Debug)]
pub struct Rule {
    name: Box<str>,
    conditions: Conditions,
    stop: bool,
    key: KeySpec,
    prefix: Key,
    limit: Limit,
    cost: u64,
    action: Action,
    on_missing: OnMissing,
    on_store_error: OnStoreError,
    /// This node's share of the limit.
    share: Limit,
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

    /// How much of it is allowed.
    #[must_use]
    pub const fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Units that one request takes.
    #[must_use]
    pub const fn cost(&self) -> u64 {
        self.cost
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

    /// This node's share of the limit: what `on_store_error: local` enforces.
    #[must_use]
    pub const fn share(&self) -> &Limit {
        &self.share
    }

    /// The requests that it applies to, in words.
    #[must_use]
    pub fn describe_match(&self) -> String {
        self.conditions.to_string()
    }
}
