//! Which limits could apply to a caller, whatever they ask for: what the status endpoint lists.

use core::ops::ControlFlow;

use super::action::{Action, OnMissing};
use super::limits::Numbers;
use super::plans::Caller;
use super::request::Request;
use super::route::Route;
use super::{Policy, Rule};
use crate::attributes::Attributes;
use crate::check::CheckItem;
use crate::key::Kind;
use crate::limit::Limit;
use crate::path::Template;
use crate::readings::Readings;
use crate::settled::Settled;
use crate::standing::Endpoint;

/// The most limits that are listed for one caller.
const MOST: usize = 256;

/// What could apply to a caller.
#[derive(Debug, Default)]
pub(crate) struct Applicable {
    pub(crate) places: Vec<Applies>,
    /// Whether there are more.
    pub(crate) truncated: bool,
}

/// A limit that could apply, and what it would count under, as a peek; `None` where that depends on the request.
#[derive(Debug)]
pub(crate) struct Applies {
    pub(crate) rule: usize,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) limit: Limit,
    pub(crate) item: Option<CheckItem>,
}

impl Policy {
    /// The limits that could apply to requests of the caller who sent this one; only those for requests with this method and path
    /// where `about` says so. As an error what settles such requests without any.
    pub(crate) fn applicable<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        about: Option<(&str, &str)>,
    ) -> Result<Applicable, Settled> {
        let caller = self.caller(attributes);
        let mut request = Request::new(attributes, self.needs, caller.tier);
        let Some((method, path)) = about else { return self.anywhere(&request, &caller) };
        (request.method, request.path) = (Some(method), Some(Readings::of(path)));
        let prepared = self.prepare_for(&request, &caller, &mut ())?;
        let items = prepared.rules.iter().zip(prepared.check.items());
        let mut found = Applicable::default();
        for (&index, item) in items {
            let endpoint = self.rules.get(index).and_then(|rule| rule.endpoint());
            let item = CheckItem { cost: 0, ..item.clone() };
            if found.add(Applies { rule: index, endpoint, limit: item.limit, item: Some(item) }).is_break() {
                break;
            }
        }
        Ok(found)
    }

    /// Whether every request of the caller who sent this one is blocked, whatever its method, path and headers.
    #[must_use]
    pub fn blocks_caller<A: Attributes + ?Sized>(&self, attributes: &A) -> bool {
        let caller = self.caller(attributes);
        let request = Request::new(attributes, self.needs, caller.tier);
        matches!(self.settle_always(&request, &caller), Some(Settled::Blocked(_)))
    }

    fn anywhere<A: Attributes + ?Sized>(
        &self,
        request: &Request<'_, A>,
        caller: &Caller<'_>,
    ) -> Result<Applicable, Settled> {
        if let Some(settled) = self.settle_always(request, caller) {
            return Err(settled);
        }
        let mut found = Applicable::default();
        for (index, rule) in self.rules().iter().enumerate() {
            let always = rule.conditions.could_match(request);
            if always == Some(false) || rule.action == Action::Shadow {
                continue;
            }
            let Some(numbers) = rule.limits.at(caller.tier, caller.times) else {
                let context = self.context(caller, None, None);
                if rule.stop && always == Some(true) && rule.has_key(request.attributes, &context) {
                    break;
                }
                continue;
            };
            let counts = if rule.key.kinds().any(|kind| matches!(kind, Kind::Route | Kind::Method)) {
                self.add_each(index, (rule, numbers), (request, caller), &mut found)
            } else {
                let item = rule.peek(request, None, self, caller, numbers);
                match (&item, rule.on_missing) {
                    (None, OnMissing::Skip) => ControlFlow::Continue(false),
                    _ => found.add(Applies {
                        rule: index,
                        endpoint: rule.endpoint(),
                        limit: numbers.limit,
                        item,
                    }),
                }
            };
            match counts {
                ControlFlow::Break(()) => break,
                // Nothing of this caller's reaches the rules after it.
                ControlFlow::Continue(true) if rule.stop && always == Some(true) => break,
                ControlFlow::Continue(_) => {}
            }
        }
        Ok(found)
    }

    /// The counters of a rule that counts by method or route: one for each that the policy names, and one line without a balance
    /// for those that it does not name.
    fn add_each<A: Attributes + ?Sized>(
        &self,
        index: usize,
        (rule, numbers): (&Rule, &Numbers),
        (request, caller): (&Request<'_, A>, &Caller<'_>),
        found: &mut Applicable,
    ) -> ControlFlow<(), bool> {
        let by_route = rule.key.kinds().any(|kind| *kind == Kind::Route);
        let methods: Vec<&str> = rule.conditions.counted_methods().collect();
        let own = rule.conditions.path();
        let templates: Vec<&Template> = if by_route {
            self.index.templates().filter(|template| own.is_none_or(|own| own.covers(template))).collect()
        } else {
            Vec::new()
        };
        let place = |method: Option<&str>, template: Option<&str>, item| Applies {
            rule: index,
            endpoint: Some(Endpoint { method: method.map(Into::into), template: template.map(Into::into) }),
            limit: numbers.limit,
            item,
        };
        let mut counts = false;
        for template in templates.iter().map(|template| Some(*template)).chain((!by_route).then_some(None)) {
            let name = template.or(own).map(Template::as_str);
            for &method in &methods {
                let item = rule.peek(request, Some((method, template)), self, caller, numbers);
                if item.is_some() || rule.on_missing != OnMissing::Skip {
                    found.add(place(Some(method), name, item))?;
                    counts = true;
                }
            }
            if methods.is_empty() {
                found.add(place(None, name, None))?;
                counts = true;
            }
        }
        // Whatever path the policy does not name is a route of its own.
        let told = methods.is_empty() && own.is_some();
        if by_route && own.is_none_or(Template::is_open) && !told {
            let methods = (!methods.is_empty()).then(|| methods.join(", "));
            found.add(place(methods.as_deref(), own.map(Template::as_str), None))?;
            counts = true;
        }
        ControlFlow::Continue(counts)
    }
}

impl Applicable {
    /// Whether there was room for it; of those that there is room for, that it counts.
    fn add(&mut self, place: Applies) -> ControlFlow<(), bool> {
        if self.places.len() >= MOST {
            self.truncated = true;
            return ControlFlow::Break(());
        }
        self.places.push(place);
        ControlFlow::Continue(true)
    }
}

impl Rule {
    /// The requests that it applies to, as far as method and path tell; `None` where it applies to all.
    fn endpoint(&self) -> Option<Endpoint> {
        let methods: Vec<&str> = self.conditions.counted_methods().collect();
        let endpoint = Endpoint {
            method: (!methods.is_empty()).then(|| methods.join(", ").into()),
            template: self.conditions.path().map(|template| template.as_str().into()),
        };
        (endpoint.method.is_some() || endpoint.template.is_some()).then_some(endpoint)
    }

    /// What it counts for this caller, as a peek, at an endpoint.
    fn peek<A: Attributes + ?Sized>(
        &self,
        request: &Request<'_, A>,
        endpoint: Option<(&str, Option<&Template>)>,
        policy: &Policy,
        caller: &Caller<'_>,
        numbers: &Numbers,
    ) -> Option<CheckItem> {
        let (method, template) = endpoint.unzip();
        let template = template.flatten();
        let route = template.map(|template| Route { path: template.as_str(), template: Some(template) });
        let context = policy.context(caller, method, route.as_ref());
        Some(CheckItem { cost: 0, ..self.item(request.attributes, &context, numbers).ok()? })
    }
}
