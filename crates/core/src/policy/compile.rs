//! From what the operator wrote to what requests are matched against; everything wrong is told at once.

use std::collections::HashMap;

use super::error::{PolicyError, PolicyErrors, Problem};
use super::matcher::Matcher;
use super::{Action, OnStoreError, Policy, PolicySource, Rule, RuleSource, Trust};
use crate::algorithm::{Algorithm, Params};
use crate::key::{Key, Kind};
use crate::path::Template;
use crate::time::Resolution;

pub(super) fn compile(source: PolicySource) -> Result<Policy, PolicyErrors> {
    let mut errors = Errors(Vec::new());
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
        if first != i {
            errors
                .add(&format!("rules[{i}].name"), Problem::DuplicateName { name: rule.name.clone(), first });
        }
    }
    let replicas = source.replicas;
    let rules: Vec<Rule> = source
        .rules
        .into_iter()
        .enumerate()
        .filter_map(|(i, rule)| compile_rule(i, rule, replicas, &mut errors))
        .collect();
    if !errors.0.is_empty() {
        return Err(PolicyErrors(errors.0));
    }
    let mut templates: Vec<Template> = rules.iter().filter_map(|rule| rule.matcher.path.clone()).collect();
    templates.sort_by(|a, b| b.specificity().cmp(&a.specificity()));
    templates.dedup();
    let needs_path =
        !templates.is_empty() || rules.iter().any(|r| r.key.kinds().any(|kind| *kind == Kind::Route));
    Ok(Policy { trust: source.trust, rules, templates, needs_path })
}

struct Errors(Vec<PolicyError>);

impl Errors {
    fn add(&mut self, path: &str, problem: Problem) {
        self.0.push(PolicyError { path: path.to_owned(), problem });
    }
}

fn check_trust(trust: &Trust, errors: &mut Errors) {
    if !(1..=128).contains(&trust.ipv6_prefix) {
        errors.add("ipv6_prefix", Problem::Ipv6Prefix(trust.ipv6_prefix));
    }
    for (path, name) in [("api_key_header", &trust.api_key_header), ("user_header", &trust.user_header)] {
        let legal = |b: u8| is_token(b) && !b.is_ascii_uppercase();
        if name.is_empty() || !name.bytes().all(legal) {
            errors.add(path, Problem::HeaderName(name.clone()));
        }
    }
}

fn compile_rule(index: usize, rule: RuleSource, replicas: u32, errors: &mut Errors) -> Option<Rule> {
    let mut problems = Vec::new();
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':');
    if !(1..=64).contains(&rule.name.len()) || !rule.name.bytes().all(legal) {
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
    for method in &rule.matches.methods {
        if method.is_empty() || !method.bytes().all(|b| is_token(b) && !b.is_ascii_lowercase()) {
            problems.push(("match.method", Problem::Method(method.clone())));
        }
    }
    let path = match rule.matches.path.as_deref().map(Template::parse).transpose() {
        Ok(path) => path,
        Err(error) => {
            problems.push(("match.path", error.into()));
            None
        }
    };
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
    sound.then(|| Rule {
        prefix: prefix(&rule),
        matcher: Matcher { methods: rule.matches.methods.into_iter().map(Into::into).collect(), path },
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
        Params::FixedWindow(_) | Params::SlidingWindowLog(_) | Params::SlidingWindowCounter(_) => 0,
    };
    let parts = parts.to_le_bytes();
    let used = parts.iter().rposition(|byte| *byte != 0).map_or(0, |last| last.saturating_add(1));
    Key::builder(&rule.name).part(ticks, "", parts.get(..used).unwrap_or_default()).build()
}

/// A character of a token (RFC 9110, section 5.6.2).
const fn is_token(b: u8) -> bool {
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
