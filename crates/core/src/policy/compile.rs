//! From what the operator wrote to what requests are matched against; everything wrong is told at once.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::conditions::Conditions;
use super::error::{PolicyError, PolicyErrors, Problem};
use super::exemption::Exemptions;
use super::index::Index;
use super::request::Needs;
use super::{Action, OnMissing, OnStoreError, Policy, PolicySource, Rule, RuleSource, STATUS_RULE, Trust};
use crate::algorithm::ending_window::Edges;
use crate::algorithm::{Algorithm, Params};
use crate::key::{Key, KeySpec, Kind};
use crate::limit::Limit;
use crate::time::Resolution;

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
    let exemptions = Exemptions::compile(source.exemptions, &mut errors);
    check_stops(&source.rules, &mut errors);
    let replicas = source.replicas;
    let guard = guard(source.status);
    let rules: Vec<Rule> = source
        .rules
        .into_iter()
        .chain([guard])
        .enumerate()
        .filter_map(|(i, rule)| compile_rule(i, rule, replicas, &mut errors))
        .collect();
    if !errors.is_empty() {
        return Err(PolicyErrors(errors.0));
    }
    let mut index = Index::new();
    let matched = rules.iter().take(rules.len().saturating_sub(1));
    matched.enumerate().for_each(|(i, rule)| index.add(i, &rule.conditions));
    let mut needs = rules.iter().map(|rule| rule.conditions.needs()).fold(exemptions.needs(), Needs::and);
    needs.path |= rules.iter().any(|rule| rule.key.kinds().any(|kind| *kind == Kind::Route));
    Ok(Policy { trust: source.trust, exemptions, rules, index, needs })
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
}

fn check_trust(trust: &Trust, errors: &mut Errors) {
    if !(1..=128).contains(&trust.ipv6_prefix) {
        errors.add("ipv6_prefix", Problem::Ipv6Prefix(trust.ipv6_prefix));
    }
    for (path, name) in [("api_key_header", &trust.api_key_header), ("user_header", &trust.user_header)] {
        if !is_header_name(name) {
            errors.add(path, Problem::HeaderName(name.clone()));
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

fn compile_rule(index: usize, rule: RuleSource, replicas: u32, errors: &mut Errors) -> Option<Rule> {
    let mut problems = Vec::new();
    if !is_name(&rule.name) {
        problems.push(("name", Problem::Name(rule.name.clone())));
    }
    let quota = rule.limit.quota();
    if rule.cost == 0 {
        problems.push(("cost", Problem::ZeroCost));
    } else if rule.cost > quota && quota > 0 {
        problems.push(("cost", Problem::CostAboveQuota { cost: rule.cost, quota }));
    }
    if rule.action == Action::Delay && rule.limit.algorithm() != Algorithm::LeakyBucket {
        problems.push(("action", Problem::DelayWithoutSlots));
    }
    let share = match rule.on_store_error {
        OnStoreError::Local => rule.limit.share(replicas),
        OnStoreError::Allow | OnStoreError::Deny => Ok(rule.limit),
    };
    if let Err(error) = &share {
        problems.push(("limit", Problem::Share(error.clone())));
    }
    let sound = problems.is_empty();
    for (field, problem) in problems {
        errors.add(&format!("rules[{index}].{field}"), problem);
    }
    let prefix = prefix(&rule);
    let conditions = Conditions::compile(rule.matches, &format!("rules[{index}].match"), errors);
    sound.then(|| Rule {
        prefix,
        conditions,
        stop: rule.stop,
        name: rule.name.into(),
        key: rule.key,
        limit: rule.limit,
        cost: rule.cost,
        action: rule.action,
        on_missing: rule.on_missing,
        on_store_error: rule.on_store_error,
        share: share.unwrap_or(rule.limit),
    })
}

/// What every key of the rule begins with. A state counted in other ticks, or in other parts of a unit, would be misread:
/// so it gets other keys, and a rule whose rate changes starts anew.
fn prefix(rule: &RuleSource) -> Key {
    let ticks = match rule.limit.resolution() {
        Resolution::Micros => 0x40,
        Resolution::Millis => 0x41,
    };
    let parts = match rule.limit.params() {
        Params::TokenBucket(p) => p.period,
        Params::LeakyBucket(p) => p.period,
        Params::EndingWindow(p) => return prefix_of_edges(rule, ticks, p.edges),
        Params::FixedWindow(_) | Params::SlidingWindowLog(_) | Params::SlidingWindowCounter(_) => 0,
    };
    let parts = parts.to_le_bytes();
    let used = parts.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
    Key::builder(&rule.name).part(ticks, "", parts.get(..used).unwrap_or_default()).build()
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

/// A window that is kept by its end goes on to that end: under other edges it would lock its key out until then, so it gets
/// other keys too.
fn prefix_of_edges(rule: &RuleSource, ticks: u8, edges: Edges) -> Key {
    let mut hash = Sha256::new();
    match edges {
        Edges::FirstRequest { window } => hash.update(window.to_le_bytes()),
        Edges::Calendar(calendar) => hash.update(calendar.name()),
    }
    // Four bytes tell the edges of one rule's past from each other.
    let hash = hash.finalize();
    Key::builder(&rule.name).part(ticks, "", hash.get(..4).unwrap_or_default()).build()
}

/// A character of a token (RFC 9110, section 5.6.2).
pub(super) const fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric()
        || matches!(
            b,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}
