//! Whether a rule applies to a request.

use core::fmt;

use ipnet::IpNet;

use super::applies::AppliesTo;
use super::compile::Errors;
use super::compile::plans::tier;
use super::error::Problem;
use super::header::Header;
use super::match_source::MatchSource;
use super::networks::Networks;
use super::plans::PlansSource;
use super::request::{Needs, Request};
use crate::attributes::Attributes;
use crate::host::{Hosts, pattern_key};
use crate::path::Template;
use crate::readings::Readings;
use crate::token::is_token;

/// The compiled conditions of a [`MatchSource`]; all must hold.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    methods: Box<[Box<str>]>,
    path: Option<Template>,
    hosts: Hosts,
    headers: Box<[Header]>,
    clients: Networks,
    /// Indices and names of tiers.
    plans: Box<[(usize, Box<str>)]>,
    /// None may hold.
    not: Box<[Self]>,
}

/// Tiers are the same by their names.
impl PartialEq for Conditions {
    fn eq(&self, other: &Self) -> bool {
        let Self { methods, path, hosts, headers, clients, plans, not } = self;
        *methods == other.methods
            && *path == other.path
            && *hosts == other.hosts
            && *headers == other.headers
            && *clients == other.clients
            && plans.iter().map(|(_, name)| name).eq(other.plans.iter().map(|(_, name)| name))
            && *not == other.not
    }
}

/// A condition that does not hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Failing<'a> {
    Method,
    Path,
    Host,
    Client,
    /// None of these tiers.
    Plan(&'a [(usize, Box<str>)]),
    Header(&'a Header),
    /// These hold, and may not.
    Not(&'a Conditions),
}

impl Conditions {
    /// Compiles the conditions that stand at `path`. What is wrong is added to `errors`, and left out.
    pub(super) fn compile(source: MatchSource, path: &str, plans: &PlansSource, errors: &mut Errors) -> Self {
        let mut add = |field: &str, problem: Problem| errors.add(&format!("{path}.{field}"), problem);
        for (i, not) in source.not.iter().enumerate() {
            if not.is_everything() {
                add(&format!("not[{i}]"), Problem::NotEverything);
            } else if source.is_within(not) {
                add(&format!("not[{i}]"), Problem::NeverMatches);
            }
        }
        for method in &source.methods {
            if method.is_empty() || !method.bytes().all(|b| is_token(b) && !b.is_ascii_lowercase()) {
                add("method", Problem::Method(method.clone()));
            }
        }
        let template = source.path.as_deref().map(Template::parse).transpose();
        let template = template.unwrap_or_else(|error| {
            add("path", error.into());
            None
        });
        let mut hosts = Vec::new();
        for (i, host) in source.hosts.into_iter().enumerate() {
            match pattern_key(&host) {
                Some(key) => hosts.push(key),
                None => add(&format!("host[{i}]"), Problem::Host(host.into())),
            }
        }
        let mut headers = Vec::new();
        for header in source.headers {
            let field = format!("header.{}", header.name);
            match Header::compile(header) {
                Ok(header) => headers.push(header),
                Err(problem @ Problem::Regex { .. }) => add(&format!("{field}.regex"), problem),
                Err(problem) => add(&field, problem),
            }
        }
        let mut tiers = Vec::new();
        for (i, name) in source.plans.into_iter().enumerate() {
            let path = format!("{path}.plan[{i}]");
            if plans.tiers.is_empty() {
                errors.add(&path, Problem::NoPlans);
            } else {
                tiers.extend(tier(plans, &name, &path, errors).map(|index| (index, name.into())));
            }
        }
        let nots = source.not.into_iter().enumerate();
        Self {
            methods: source.methods.into_iter().map(Into::into).collect(),
            path: template,
            hosts: hosts.into_iter().collect(),
            headers: headers.into(),
            clients: source.clients.into_iter().collect(),
            plans: tiers.into(),
            not: nots
                .map(|(i, not)| Self::compile(not, &format!("{path}.not[{i}]"), plans, errors))
                .collect(),
        }
    }

    /// Whether the request passes. Where the lines of a header or the readings of the path disagree it does.
    pub(super) fn matches<A: Attributes + ?Sized>(&self, request: &Request<'_, A>) -> bool {
        self.hold(request, true)
    }

    /// Whether the request passes whichever line of a header and reading of the path counts elsewhere: what an exception from protection has to ask.
    pub(super) fn surely_match<A: Attributes + ?Sized>(&self, request: &Request<'_, A>) -> bool {
        self.hold(request, false)
    }

    /// `in_doubt` is the answer where the lines of a header or the readings of the path disagree. Under `not` it is the other, so that doubt has one
    /// direction throughout.
    fn hold<A: Attributes + ?Sized>(&self, request: &Request<'_, A>, in_doubt: bool) -> bool {
        self.failing(request, in_doubt).is_none()
    }

    /// The first condition that does not hold.
    #[inline]
    pub(super) fn failing<A: Attributes + ?Sized>(
        &self,
        request: &Request<'_, A>,
        in_doubt: bool,
    ) -> Option<Failing<'_>> {
        let Self { methods: _, path: _, hosts, headers, clients, plans, not } = self;
        if !self.method_fits(request.method) {
            return Some(Failing::Method);
        }
        if !self.path_fits(request.path.as_ref(), in_doubt) {
            return Some(Failing::Path);
        }
        if !hosts.is_empty() && !request.host.as_ref().is_some_and(|host| hosts.contain(host)) {
            return Some(Failing::Host);
        }
        if !clients.is_empty() && !request.client.is_some_and(|client| clients.contain(client)) {
            return Some(Failing::Client);
        }
        if !self.plan_fits(request.tier) {
            return Some(Failing::Plan(plans));
        }
        if let Some(header) = headers.iter().find(|header| !header.fits(request.attributes, in_doubt)) {
            return Some(Failing::Header(header));
        }
        not.iter().find(|not| not.hold(request, !in_doubt)).map(Failing::Not)
    }

    /// What the policy calls a condition that fails, and what it asks for.
    pub(super) fn wanted(&self, failing: Failing<'_>) -> (&'static str, String) {
        match failing {
            Failing::Method => ("method", self.methods.join(" or ")),
            Failing::Path => ("path", self.path.as_ref().map_or("", Template::as_str).to_owned()),
            Failing::Host => ("host", any_of(self.hosts.keys().map(shown_host))),
            Failing::Client => ("client", any_of(self.clients.as_slice().iter().map(IpNet::to_string))),
            Failing::Plan(plans) => ("plan", any_of(plans.iter().map(|(_, name)| name.to_string()))),
            Failing::Header(header) => ("header", header.to_string()),
            Failing::Not(not) => ("not", not.to_string()),
        }
    }

    /// Whether every request of the caller who sent this one passes, or none does; `None` where that depends on method, path or
    /// headers.
    pub(super) fn could_match<A: Attributes + ?Sized>(&self, request: &Request<'_, A>) -> Option<bool> {
        let Self { methods, path, hosts, headers, clients, plans: _, not } = self;
        let known = (hosts.is_empty() || request.host.as_ref().is_some_and(|host| hosts.contain(host)))
            && (clients.is_empty() || request.client.is_some_and(|client| clients.contain(client)))
            && self.plan_fits(request.tier);
        let nots = || not.iter().map(|not| not.could_match(request));
        if !known || nots().any(|could| could == Some(true)) {
            return Some(false);
        }
        let open = !methods.is_empty() || path.is_some() || !headers.is_empty();
        (!open && nots().all(|could| could == Some(false))).then_some(true)
    }

    /// The methods, without `HEAD` where `GET` covers it.
    pub(super) fn counted_methods(&self) -> impl Iterator<Item = &str> {
        let gets = self.methods.iter().any(|method| **method == *"GET");
        self.methods.iter().map(|method| &**method).filter(move |method| !gets || *method != "HEAD")
    }

    /// What they ask for, for those who send requests.
    pub(super) fn applies_to(&self) -> AppliesTo<'_> {
        AppliesTo {
            methods: self.counted_methods().collect(),
            path: self.path.as_ref().map(Template::as_str),
            hosts: self.hosts.keys().map(shown_host).collect(),
            plans: self.plans.iter().map(|(_, name)| &**name).collect(),
            others: !self.headers.is_empty() || !self.clients.is_empty(),
            exceptions: !self.not.is_empty(),
        }
    }

    fn plan_fits(&self, tier: usize) -> bool {
        self.plans.is_empty() || self.plans.iter().any(|(own, _)| *own == tier)
    }

    /// Whoever asks with `HEAD` gets what `GET` costs.
    fn method_fits(&self, method: Option<&str>) -> bool {
        let same = str::eq_ignore_ascii_case;
        let fits = |own: &str, method: &str| same(own, method) || (own == "GET" && same(method, "HEAD"));
        self.methods.is_empty()
            || method.is_some_and(|method| self.methods.iter().any(|own| fits(own, method)))
    }

    fn path_fits(&self, path: Option<&Readings<'_>>, in_doubt: bool) -> bool {
        let fits =
            |own, path: &Readings<'_>| if in_doubt { path.some_match(own) } else { path.all_match(own) };
        self.path.as_ref().is_none_or(|own| path.is_some_and(|path| fits(own, path)))
    }

    pub(super) const fn path(&self) -> Option<&Template> {
        self.path.as_ref()
    }

    pub(super) const fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// What they ask of requests.
    pub(super) fn needs(&self) -> Needs {
        let own = Needs {
            path: self.path.is_some(),
            host: !self.hosts.is_empty(),
            client: !self.clients.is_empty(),
        };
        self.not.iter().map(Self::needs).fold(own, Needs::and)
    }
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.methods, &self.path) {
            ([], None) => f.write_str("every request"),
            ([], Some(path)) => f.write_str(path.as_str()),
            (methods, None) => write!(f, "{} requests", methods.join(" or ")),
            (methods, Some(path)) => write!(f, "{} {}", methods.join(" or "), path.as_str()),
        }?;
        list(f, " on ", self.hosts.keys().map(shown_host))?;
        list(f, " from ", self.clients.as_slice().iter().map(IpNet::to_string))?;
        list(f, " on the plan ", self.plans.iter().map(|(_, name)| name.to_string()))?;
        let headers: Vec<String> = self.headers.iter().map(Header::to_string).collect();
        if !headers.is_empty() {
            write!(f, " with {}", headers.join(" and "))?;
        }
        self.not.iter().try_for_each(|not| write!(f, ", but not ({not})"))
    }
}

/// A host as a policy writes it.
fn shown_host(key: &str) -> String {
    if key.starts_with('.') { format!("*{key}") } else { key.to_owned() }
}

/// `before`, and the items, if there are any.
fn list(f: &mut fmt::Formatter<'_>, before: &str, items: impl Iterator<Item = String>) -> fmt::Result {
    let items = any_of(items);
    if items.is_empty() { Ok(()) } else { write!(f, "{before}{items}") }
}

/// The items with `or` between them; of many only the first.
fn any_of(items: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 8;
    let items: Vec<String> = items.collect();
    let rest = items.len().saturating_sub(SHOWN);
    let shown = items.get(..items.len().saturating_sub(rest)).unwrap_or_default().join(" or ");
    if rest > 0 { format!("{shown} or {rest} more") } else { shown }
}
