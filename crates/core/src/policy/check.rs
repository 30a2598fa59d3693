//! From a request to the checks that it must pass.

use smallvec::SmallVec;

use super::action::{Action, OnMissing, OnStoreError};
use super::request::Request;
use super::route::Route;
use super::{Policy, Rule};
use crate::attributes::Attributes;
use crate::check::{Check, CheckItem};
use crate::key::Context;
use crate::settled::Settled;

/// What a request has to pass.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// The check of all rules that are enforced.
    pub(crate) check: Check,
    /// The rule of each of its items, by index.
    pub(crate) rules: SmallVec<[usize; 4]>,
    /// The rules that only watch.
    pub(crate) shadow: ShadowItems,
    /// Whether the request is to be refused for its credentials once it is counted.
    pub(crate) bad_credentials: bool,
}

/// Rules that only watch, by index, each with what it counts.
pub(crate) type ShadowItems = Vec<(usize, CheckItem)>;

impl Policy {
    /// The checks for a request; as an error what settles it without any.
    pub(crate) fn prepare<A: Attributes + ?Sized>(&self, attributes: &A) -> Result<Prepared, Settled> {
        self.prepare_for(&Request::new(attributes, self.needs))
    }

    /// The checks for a request, all that conditions may ask of which is known.
    pub(super) fn prepare_for<A: Attributes + ?Sized>(
        &self,
        request: &Request<'_, A>,
    ) -> Result<Prepared, Settled> {
        let attributes = request.attributes;
        if let Some(settled) = self.exemptions.settle(request) {
            return Err(settled);
        }
        let path = request.path.as_deref();
        let found = self.index.find(path, request.host.as_deref());
        let route = path.map(|path| Route { path, template: found.template });
        let context =
            Context { ipv6_prefix: self.trust.ipv6_prefix, method: request.method, route: route.as_ref() };
        let bad_credentials = attributes.has_bad_credentials();
        let mut prepared = Prepared { bad_credentials, ..Prepared::default() };
        for index in found.rules {
            let Some(rule) = self.rules.get(index).filter(|rule| rule.conditions.matches(request)) else {
                continue;
            };
            match (rule.item(attributes, &context), rule.on_missing) {
                (Some(item), _) if rule.action == Action::Shadow => prepared.shadow.push((index, item)),
                (Some(item), _) => {
                    prepared.check.push_new(item);
                    prepared.rules.push(index);
                }
                (None, OnMissing::Deny) if rule.action != Action::Shadow && !bad_credentials => {
                    return Err(Settled::Lacks { rule: index });
                }
                // What does not count does not stop anything either: what a caller leaves out gains nothing.
                (None, _) => continue,
            }
            if rule.stop && rule.conditions.surely_match(request) {
                break;
            }
        }
        Ok(prepared)
    }
}

impl Prepared {
    /// What this node decides by itself when the store cannot: the rules that say `local`, each with its share of the limit.
    /// `None` where a rule refuses then.
    pub(crate) fn shares(self, policy: &Policy) -> Option<Self> {
        let mut shares = Self::default();
        for (&index, item) in self.rules.iter().zip(self.check.items()) {
            let rule = policy.rules.get(index)?;
            match rule.on_store_error {
                OnStoreError::Allow => {}
                OnStoreError::Deny => return None,
                OnStoreError::Local => {
                    shares.check.push_new(CheckItem { limit: rule.share, ..item.clone() });
                    shares.rules.push(index);
                }
            }
        }
        Some(shares)
    }
}

impl Rule {
    pub(super) fn item<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        context: &Context<'_>,
    ) -> Option<CheckItem> {
        let shared = self.on_missing == OnMissing::Shared;
        let key = self.key.key(&self.prefix, attributes, context, shared)?;
        // A product out of range is a cost that can never fit, which is what the bound says too.
        Some(CheckItem { key, limit: self.limit, cost: self.cost.saturating_mul(attributes.cost()) })
    }
}
