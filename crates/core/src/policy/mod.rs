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

pub use action::{Action, OnMissing, OnStoreError};
pub(crate) use check::{Prepared, ShadowItems};
pub use error::{PolicyError, PolicyErrors, Problem};
pub use exemption::{ExemptionSource, ExemptionsSource, HeaderSecret};
pub use match_source::{HeaderSource, HeaderTest, MatchSource};
pub(crate) use route::Route;
pub use source::{PolicySource, RuleSource, Trust};

use std::sync::Arc;

use crate::key::{Key, KeySpec};
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
        &self.rules
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
