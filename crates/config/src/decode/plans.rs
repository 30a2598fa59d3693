//! Plans: tiers of named numbers, and where a caller's tier is said.

use cupo_core::{Limit, PlanFrom, PlansSource, TierSource};

use super::limit;
use super::value::{Map, Value};
use crate::problem::Problem;
use crate::tree::Content;

/// The plans, none where none are written; `None` where something is wrong with them, which has been reported.
pub(super) fn plans(root: &Map<'_>) -> Option<PlansSource> {
    let said = root.get("plan");
    let tiers = root.or("plans", Vec::new(), |value| {
        let tiers: Vec<Option<TierSource>> =
            value.fields()?.iter().map(|(name, value)| tier(name, &value)).collect();
        tiers.into_iter().collect()
    });
    if root.get("plans").is_some() && said.is_none() {
        root.need("plan", "plan: { from: [callers], default: free }")?;
    }
    let Some(said) = said else { return Some(PlansSource { tiers: tiers?, ..PlansSource::default() }) };
    let map = said.map(&["from", "default"])?;
    let from = map.need("from", "from: [callers, header(x-plan)]").and_then(|value| {
        let texts = super::rule::texts(&value)?;
        if texts.is_empty() {
            return value.fault(Problem::EmptyList);
        }
        let from = |(value, text): &(Value<'_>, &str)| {
            from(value, text).inspect(|from| check_said(root, value, from))
        };
        let from: Vec<Option<PlanFrom>> = texts.iter().map(from).collect();
        from.into_iter().collect()
    });
    let default = map.need("default", "default: free").and_then(|value| value.text());
    Some(PlansSource { tiers: tiers?, from: from?, default: default?.to_owned() })
}

fn tier(name: &str, value: &Value<'_>) -> Option<TierSource> {
    let number = |(name, value): (&str, Value<'_>)| Some((name.to_owned(), number(&value)?));
    let numbers: Vec<Option<(String, Option<Limit>)>> = value.fields()?.iter().map(number).collect();
    Some(TierSource { name: name.to_owned(), numbers: numbers.into_iter().collect::<Option<_>>()? })
}

/// A limit, or `unlimited`.
fn number(value: &Value<'_>) -> Option<Option<Limit>> {
    match value.content() {
        Content::Text { text, .. } if text == "unlimited" => Some(None),
        _ => limit::limit(value).map(Some),
    }
}

/// `callers`, `claim(NAME)` or `header(NAME)`.
fn from(value: &Value<'_>, text: &str) -> Option<PlanFrom> {
    let argument =
        |kind: &str| text.strip_prefix(kind)?.trim().strip_prefix('(')?.strip_suffix(')').map(str::trim);
    if text == "callers" {
        Some(PlanFrom::Callers)
    } else if let Some(name) = argument("claim").filter(|name| !name.is_empty()) {
        Some(PlanFrom::Claim(name.to_owned()))
    } else if let Some(name) = argument("header").filter(|name| !name.is_empty()) {
        Some(PlanFrom::Header(name.to_ascii_lowercase()))
    } else {
        value.fault(Problem::PlanFrom(text.into()))
    }
}

/// Tells where nobody can ever say it: everybody would be on the default plan, and nobody would know why.
fn check_said(root: &Map<'_>, value: &Value<'_>, from: &PlanFrom) {
    let is_said = |field: &str| root.get(field).is_some_and(|value| !value.is_empty_list());
    let (field, problem) = match from {
        PlanFrom::Claim(_) => ("jwt", Problem::PlanWithoutTokens),
        PlanFrom::Callers => ("callers", Problem::PlanWithoutCallers),
        PlanFrom::Header(_) => ("trusted_proxies", Problem::PlanWithoutProxies),
        _ => return,
    };
    if !is_said(field) {
        value.fault::<()>(problem);
    }
}
