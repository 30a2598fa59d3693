//! How every rule of the policy bears on a request, told by the code that decides.

use super::check::{Told, Trace};
use super::plans::Caller;
use super::request::Request;
use super::unmet::Unmet;
use super::{Policy, Prepared};
use crate::attributes::Attributes;
use crate::explanation::CallerView;
use crate::settled::Settled;

/// How a rule bears on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bearing {
    /// It applies, and is enforced.
    Enforced,
    /// It applies, and only watches (`action: shadow`).
    Watched,
    /// It does not apply: this condition does not hold.
    Unmet(Unmet),
    /// It does not apply: the caller's plan has no limit by it.
    Unlimited,
    /// It does not apply: the request lacks this part of its key (`on_missing: skip`, or a rule that only watches).
    Lacks(Box<str>),
    /// It refuses the request, which lacks this part of its key (`on_missing: deny`).
    Refuses(Box<str>),
    /// It is not looked at: a rule before it, of this name, stops the rest.
    Stopped(Box<str>),
    /// It is not looked at: what was said of the request before settles it.
    Settled,
}

/// A rule that applies, or why it does not.
#[derive(Debug, Clone)]
pub(crate) struct Borne {
    pub(crate) bearing: Bearing,
    /// Whether the rules after it are not looked at because of it.
    pub(crate) stops: bool,
    /// Whether it says `stop`, and does not, since the lines of a header or the readings of the path disagree.
    pub(crate) doubtful: bool,
}

/// What is known before the store is asked.
#[derive(Debug)]
pub(crate) struct Traced {
    pub(crate) caller: CallerView,
    /// One for each rule, in their order.
    pub(crate) rules: Vec<Borne>,
    pub(crate) prepared: Result<Prepared, Settled>,
}

impl Trace for Vec<(usize, Told)> {
    fn tell(&mut self, rule: usize, told: Told) {
        self.push((rule, told));
    }
}

impl Policy {
    /// The checks for a request as [`prepare`](Self::prepare) has them, and how it came to them.
    pub(crate) fn trace<A: Attributes + ?Sized>(&self, attributes: &A) -> Traced {
        let caller = self.caller(attributes);
        let request = Request::new(attributes, self.needs, caller.tier);
        let mut told: Vec<(usize, Told)> = Vec::new();
        let prepared = self.prepare_for(&request, &caller, &mut told);
        let mut told = told.into_iter().peekable();
        let mut stopped: Option<&str> = None;
        let mut rules = Vec::with_capacity(self.rules().len());
        for (index, rule) in self.rules().iter().enumerate() {
            let mut borne = Borne { bearing: Bearing::Settled, stops: false, doubtful: false };
            let mut looked_at = false;
            while let Some((_, told)) = told.next_if(|(of, _)| *of == index) {
                looked_at = true;
                let part = |n| rule.key.part(n).unwrap_or_default().into();
                match told {
                    Told::Enforced => borne.bearing = Bearing::Enforced,
                    Told::Watched => borne.bearing = Bearing::Watched,
                    Told::Unlimited => borne.bearing = Bearing::Unlimited,
                    Told::Lacks(n) => borne.bearing = Bearing::Lacks(part(n)),
                    Told::Refuses(n) => borne.bearing = Bearing::Refuses(part(n)),
                    Told::Stops => borne.stops = true,
                    Told::Doubts => borne.doubtful = true,
                }
            }
            if !looked_at {
                let unmet = self.unmet(&rule.conditions, &request).map(Bearing::Unmet);
                let hidden = || stopped.map(|by| Bearing::Stopped(by.into()));
                borne.bearing = unmet.or_else(hidden).unwrap_or(Bearing::Settled);
            }
            if borne.stops {
                stopped = Some(rule.name());
            }
            rules.push(borne);
        }
        Traced { caller: self.view(attributes, &caller), rules, prepared }
    }

    fn view<A: Attributes + ?Sized>(&self, attributes: &A, caller: &Caller<'_>) -> CallerView {
        let mut keys = 0_usize;
        attributes.api_key_lines(&mut |_| keys = keys.saturating_add(1));
        let api_key = || self.hasher.hash(&attributes.api_key()?);
        let plans = self.plans.as_deref();
        let from = caller.from.and_then(|from| self.plan_from().get(from));
        CallerView {
            client: attributes.client(),
            api_key: caller.api_key.or_else(api_key),
            several_keys: keys > 1,
            user: attributes.user().map(|user| user.escape_ascii().to_string().into()),
            plan: self.tiers().nth(caller.tier).map(Into::into),
            plan_from: from.cloned(),
            entry: caller.entry.map(|entry| format!("callers[{entry}]").into()),
            times: plans.and_then(|plans| plans.times.get(caller.times)).copied().unwrap_or(1),
            bad_credentials: attributes.has_bad_credentials(),
        }
    }
}
