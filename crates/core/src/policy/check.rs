//! From a request to the checks that it must pass.

use std::sync::Arc;

use smallvec::SmallVec;

use super::action::{Action, OnMissing, OnStoreError};
use super::limits::Numbers;
use super::plans::Caller;
use super::request::Request;
use super::route::Route;
use super::{Policy, Rule};
use crate::attributes::Attributes;
use crate::check::{Check, CheckItem, Executed};
use crate::in_force::InForce;
use crate::key::{Context, Key};
use crate::outcome::Outcome;
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
    /// The indices of the caller's tier and multiplier.
    numbers: (usize, usize),
}

/// What is told of a rule whose conditions hold, while a request is prepared.
#[derive(Debug, Clone, Copy)]
pub(super) enum Told {
    /// It is in the check.
    Enforced,
    /// It only watches.
    Watched,
    /// It allows this caller without limit.
    Unlimited,
    /// The request lacks the part of its key at this place, and it does not apply.
    Lacks(usize),
    /// The request lacks the part of its key at this place, and it refuses.
    Refuses(usize),
    /// The rules after it are not looked at.
    Stops,
    /// It says `stop`, and it is in doubt whether it applies.
    Doubts,
}

/// Who is told. Nobody is when a request is decided.
pub(super) trait Trace {
    fn tell(&mut self, rule: usize, told: Told);
}

impl Trace for () {
    #[inline]
    fn tell(&mut self, _: usize, _: Told) {}
}

/// Rules that only watch, by index, each with what it counts.
pub(crate) type ShadowItems = Vec<(usize, CheckItem)>;

impl Policy {
    /// The checks for a request; as an error what settles it without any.
    pub(crate) fn prepare<A: Attributes + ?Sized>(&self, attributes: &A) -> Result<Prepared, Settled> {
        let caller = self.caller(attributes);
        self.prepare_for(&Request::new(attributes, self.needs, caller.tier), &caller, &mut ())
    }

    /// The checks for a request, all that conditions may ask of which is known.
    pub(super) fn prepare_for<A: Attributes + ?Sized, T: Trace>(
        &self,
        request: &Request<'_, A>,
        caller: &Caller<'_>,
        trace: &mut T,
    ) -> Result<Prepared, Settled> {
        let attributes = request.attributes;
        if let Some(settled) = self.settle(request, caller) {
            return Err(settled);
        }
        if attributes.is_uncounted() {
            return Err(Settled::Uncounted);
        }
        let path = request.path.as_ref();
        let found = self.index.find(path, request.host.as_deref());
        let route = path.map(|path| Route { path: path.normal(), template: found.template });
        let context = self.context(caller, request.method, route.as_ref());
        let bad_credentials = attributes.has_bad_credentials();
        let numbers = (caller.tier, caller.times);
        let mut prepared = Prepared { bad_credentials, numbers, ..Prepared::default() };
        for index in found.rules {
            let Some(rule) = self.rules.get(index).filter(|rule| rule.conditions.matches(request)) else {
                continue;
            };
            let own = route.as_ref().and_then(|route| rule.doubtful_route(route));
            let context = Context { route: own.as_ref().or(context.route), ..context };
            let Some(numbers) = rule.limits.at(caller.tier, caller.times) else {
                // What is unlimited for this caller counts nothing, and stops what a count would stop.
                trace.tell(index, Told::Unlimited);
                if rule.stop && rule.has_key(attributes, &context) && rule.stops_after(request, index, trace)
                {
                    break;
                }
                continue;
            };
            match (rule.item(attributes, &context, numbers), rule.on_missing) {
                (Ok(item), _) if rule.action == Action::Shadow => {
                    prepared.shadow.push((index, item));
                    trace.tell(index, Told::Watched);
                }
                (Ok(item), _) => {
                    prepared.check.push_new(item);
                    prepared.rules.push(index);
                    trace.tell(index, Told::Enforced);
                }
                (Err(part), OnMissing::Deny) if rule.action != Action::Shadow && !bad_credentials => {
                    trace.tell(index, Told::Refuses(part));
                    return Err(Settled::Lacks { rule: index });
                }
                // What does not count does not stop anything either: what a caller leaves out gains nothing.
                (Err(part), _) => {
                    trace.tell(index, Told::Lacks(part));
                    continue;
                }
            }
            if rule.stop && rule.stops_after(request, index, trace) {
                break;
            }
        }
        Ok(prepared)
    }

    /// What settles the request, if anything does. Whoever is blocked anywhere does not pass.
    fn settle<A: Attributes + ?Sized>(
        &self,
        request: &Request<'_, A>,
        caller: &Caller<'_>,
    ) -> Option<Settled> {
        let listed = self.exemptions.settle(request, &self.hasher, caller.only_api_key());
        Self::either(listed, caller)
    }

    /// What settles every request of the caller's.
    pub(super) fn settle_always<A: Attributes + ?Sized>(
        &self,
        request: &Request<'_, A>,
        caller: &Caller<'_>,
    ) -> Option<Settled> {
        let listed = self.exemptions.settle_always(request, &self.hasher, caller.only_api_key());
        Self::either(listed, caller)
    }

    fn either(listed: Option<Settled>, caller: &Caller<'_>) -> Option<Settled> {
        match (listed, caller.settled) {
            (Some(Settled::Allowed(_)), Some(blocked @ Settled::Blocked(_))) => Some(blocked.clone()),
            (None, Some(said)) => Some(said.clone()),
            (listed, _) => listed,
        }
    }

    /// What the policy adds to the request when keys are made.
    pub(super) const fn context<'a>(
        &'a self,
        caller: &Caller<'_>,
        method: Option<&'a str>,
        route: Option<&'a Route<'a>>,
    ) -> Context<'a> {
        let ipv6_prefix = self.trust.ipv6_prefix;
        Context { ipv6_prefix, method, route, hasher: &self.hasher, api_key: caller.api_key }
    }

    /// Who makes the request, as far as the policy asks.
    pub(super) fn caller<A: Attributes + ?Sized>(&self, attributes: &A) -> Caller<'_> {
        self.plans.as_ref().map_or_else(Caller::default, |plans| plans.caller(attributes, &self.hasher))
    }
}

impl Prepared {
    /// What the store said to the check, as the answer to the request.
    pub(crate) fn fold(self, in_force: Arc<InForce>, executed: &Executed) -> Outcome {
        let outcome = Outcome::fold(in_force, self.check, &self.rules, executed);
        if self.bad_credentials { outcome.with_bad_credentials() } else { outcome }
    }

    /// What this node decides by itself when the store cannot: the rules that say `local`, each with its share of the limit.
    /// `None` where a rule refuses then.
    pub(crate) fn shares(self, policy: &Policy) -> Option<Self> {
        let (tier, times) = self.numbers;
        let bad_credentials = self.bad_credentials;
        let mut shares = Self { numbers: self.numbers, bad_credentials, ..Self::default() };
        for (&index, item) in self.rules.iter().zip(self.check.items()) {
            let rule = policy.rules.get(index)?;
            match rule.on_store_error {
                OnStoreError::Allow => {}
                OnStoreError::Deny => return None,
                OnStoreError::Local => {
                    let limit = rule.limits.at(tier, times)?.share;
                    shares.check.push_new(CheckItem { limit, ..item.clone() });
                    shares.rules.push(index);
                }
            }
        }
        Some(shares)
    }
}

impl Rule {
    /// The route of a request whose normal path is not what the rule matches: another reading is. By the normal one a caller
    /// could invent counters.
    pub(super) fn doubtful_route<'a>(&'a self, route: &Route<'a>) -> Option<Route<'a>> {
        let template = self.conditions.path().filter(|own| !own.matches(route.path))?;
        Some(Route { path: template.as_str(), template: Some(template) })
    }

    /// Whether a rule that says `stop`, and applies, hides those after it.
    fn stops_after<A: Attributes + ?Sized, T: Trace>(
        &self,
        request: &Request<'_, A>,
        index: usize,
        trace: &mut T,
    ) -> bool {
        let stops = self.conditions.surely_match(request);
        trace.tell(index, if stops { Told::Stops } else { Told::Doubts });
        stops
    }

    /// Whether the rule counts requests like this one, for callers whom it limits.
    pub(super) fn has_key<A: Attributes + ?Sized>(&self, attributes: &A, context: &Context<'_>) -> bool {
        let shared = self.on_missing == OnMissing::Shared;
        self.key.key(&Key::builder("").build(), attributes, context, shared).is_ok()
    }

    /// What it counts of a request.
    ///
    /// # Errors
    /// The place of the part of its key that the request lacks.
    pub(super) fn item<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        context: &Context<'_>,
        numbers: &Numbers,
    ) -> Result<CheckItem, usize> {
        let shared = self.on_missing == OnMissing::Shared;
        let key = self.key.key(&numbers.prefix, attributes, context, shared)?;
        // A product out of range is a cost that can never fit, which is what the bound says too.
        let cost = self.cost.units(attributes).saturating_mul(attributes.cost());
        Ok(CheckItem { key, limit: numbers.limit, cost })
    }
}
