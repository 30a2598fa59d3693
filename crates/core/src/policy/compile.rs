//! From what the operator wrote to what requests are matched against; everything wrong is told at once.

mod costs;
mod limits;
pub(super) mod plans;
mod prefix;

use core::mem::discriminant;
use std::collections::HashMap;

use super::conditions::Conditions;
use super::error::{PolicyError, PolicyErrors, Problem};
use super::exemption::Exemptions;
use super::index::Index;
use super::request::Needs;
use super::{CostSource, OnMissing, PlanFrom, Policy, PolicySource, Rule, RuleSource, STATUS_RULE, Trust};
use crate::key::{Hasher, KeySpec, Kind};
use crate::limit::Limit;
use crate::token::is_token;
use limits::Ground;

pub(super) fn compile(source: PolicySource) -> Result<Policy, PolicyErrors> {
    let mut errors = Errors::default();
    check_trust(&source.trust, &mut errors);
    if source.replicas == 0 {
        errors.add("replicas", Problem::NoReplicas);
    }
    if source.rules.is_empty() {
        errors.add("rules", Problem::NoRules);
    }
    let mut names = HashMap::new();
    for (i, rule) in source.rules.iter().enumerate() {
        let first = *names.entry(&rule.name).or_insert(i);
        if rule.name == STATUS_RULE {
            errors.add(&format!("rules[{i}].name"), Problem::ReservedName(rule.name.clone()));
        } else if first != i {
            errors
                .add(&format!("rules[{i}].name"), Problem::DuplicateName { name: rule.name.clone(), first });
        }
    }
    let exemptions = Exemptions::compile(source.exemptions, &source.plans, &mut errors);
    check_stops(&source.rules, &mut errors);
    let default = plans::check(&source.plans, &mut errors);
    let multipliers = plans::multipliers(&source.callers, &mut errors);
    let callers = plans::compile(&source.plans, default, source.callers, &multipliers, &mut errors);
    let ground = Ground { replicas: source.replicas, plans: &source.plans, multipliers: &multipliers };
    // Asking is the same for everybody.
    let level = Ground { multipliers: multipliers.get(..1).unwrap_or_default(), ..ground };
    let guard = guard(source.status);
    let rules: Vec<Rule> = source
        .rules
        .into_iter()
        .map(|rule| (rule, &ground))
        .chain([(guard, &level)])
        .enumerate()
        .filter_map(|(i, (rule, ground))| compile_rule(i, rule, ground, &mut errors))
        .collect();
    if !errors.is_empty() {
        return Err(PolicyErrors(errors.0));
    }
    let mut index = Index::new();
    let matched = rules.iter().take(rules.len().saturating_sub(1));
    matched.enumerate().for_each(|(i, rule)| index.add(i, &rule.conditions));
    let mut needs = rules.iter().map(|rule| rule.conditions.needs()).fold(exemptions.needs(), Needs::and);
    needs.path |= rules.iter().any(|rule| rule.key.kinds().any(|kind| *kind == Kind::Route));
    let hasher = Hasher::new(source.api_key_secret.as_ref());
    let times = multipliers.iter().map(|(times, _)| *times).collect();
    let awaits_responses = rules.iter().any(Rule::awaits_response);
    let (trust, plans) = (source.trust, callers);
    let vouched = vouched(&trust, &source.plans.from, &rules);
    Ok(Policy { vouched, trust, hasher, exemptions, plans, times, rules, index, awaits_responses, needs })
}

/// The headers that count from trusted proxies only, each once.
fn vouched(trust: &Trust, from: &[PlanFrom], rules: &[Rule]) -> Box<[Box<str>]> {
    let plans = from.iter().filter_map(|from| match from {
        PlanFrom::Header(name) => Some(name.as_str()),
        _ => None,
    });
    let costs = rules.iter().filter_map(|rule| match &rule.cost {
        CostSource::Request { header, .. } => Some(header.as_str()),
        _ => None,
    });
    let own = [trust.user_header.as_str(), trust.client_address_header.name()];
    let mut names: Vec<Box<str>> = own.into_iter().chain(plans).chain(costs).map(Into::into).collect();
    names.sort_unstable();
    names.dedup();
    names.into()
}

/// The rule that guards the status endpoint: it applies to no request, and is asked by itself.
fn guard(limit: Limit) -> RuleSource {
    RuleSource::new(STATUS_RULE, KeySpec::ip(), limit)
}

#[derive(Default)]
pub(super) struct Errors(Vec<PolicyError>);

impl Errors {
    pub(super) fn add(&mut self, path: &str, problem: Problem) {
        self.0.push(PolicyError { path: path.to_owned(), problem });
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what may be found several times, for several rules, and is told once.
    fn add_once(&mut self, path: &str, problem: Problem) {
        let kind = discriminant(&problem);
        if !self.0.iter().any(|error| error.path == path && discriminant(&error.problem) == kind) {
            self.add(path, problem);
        }
    }

    const fn count(&self) -> usize {
        self.0.len()
    }
}

fn check_trust(trust: &Trust, errors: &mut Errors) {
    if !(1..=128).contains(&trust.ipv6_prefix) {
        errors.add("ipv6_prefix", Problem::Ipv6Prefix(trust.ipv6_prefix));
    }
    for (path, name) in [
        ("api_key_header", trust.api_key_header.as_str()),
        ("user_header", &trust.user_header),
        ("client_address_header", trust.client_address_header.name()),
    ] {
        if !is_header_name(name) {
            errors.add(path, Problem::HeaderName(name.to_owned()));
        }
    }
}

/// A rule that stops every request would silently leave the rules after it without effect.
fn check_stops(rules: &[RuleSource], errors: &mut Errors) {
    let before_others = rules.len().saturating_sub(1);
    for (i, rule) in rules.iter().take(before_others).enumerate() {
        if rule.stop && rule.matches.is_everything() && rule.on_missing != OnMissing::Skip {
            errors.add(&format!("rules[{i}].stop"), Problem::StopsAll);
        }
    }
}

fn compile_rule(index: usize, rule: RuleSource, ground: &Ground<'_>, errors: &mut Errors) -> Option<Rule> {
    let mut problems = Vec::new();
    if !is_name(&rule.name) {
        problems.push(("name", Problem::Name(rule.name.clone())));
    }
    let sound = problems.is_empty();
    for (field, problem) in problems {
        errors.add(&format!("rules[{index}].{field}"), problem);
    }
    let limits = limits::limits(index, &rule, ground, errors);
    costs::check(index, &rule, limits.as_ref(), errors);
    let conditions =
        Conditions::compile(rule.matches, &format!("rules[{index}].match"), ground.plans, errors);
    let limits = limits?;
    sound.then(|| Rule {
        conditions,
        stop: rule.stop,
        name: rule.name.into(),
        key: rule.key,
        limits,
        cost: rule.cost,
        charge: rule.charge,
        action: rule.action,
        on_missing: rule.on_missing,
        on_store_error: rule.on_store_error,
    })
}

/// Whether headers and logs can carry `name` as the name of a rule or an entry.
pub(super) fn is_name(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':');
    (1..=64).contains(&name.len()) && name.bytes().all(legal)
}

/// Whether `name` is a header's, in lower case.
pub(super) fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| is_token(b) && !b.is_ascii_uppercase())
}
