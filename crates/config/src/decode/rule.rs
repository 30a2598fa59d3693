//! A rule: match, key, limit and action.

use cupo_core::{Action, ChargeSource, KeySpec, Kind, MatchSource, OnMissing, OnStoreError, RuleSource};

use super::cost::{charge, cost};
use super::limit;
use super::matches::matches;
use super::value::Value;
use crate::problem::{Expected, Problem};
use crate::tree::{Content, Node};

const FIELDS: &[&str] = &[
    "name",
    "match",
    "stop",
    "key",
    "limit",
    "cost",
    "charge",
    "action",
    "on_missing",
    "on_store_error",
    "response",
];

/// The rule; everything wrong with it is reported before `None` is returned.
pub(super) fn rule(value: &Value<'_>) -> Option<RuleSource> {
    let map = value.map(FIELDS)?;
    let name = map.need("name", "name: per-client").and_then(|value| value.text());
    let matches = map.or("match", MatchSource::default(), matches);
    let stop = map.or("stop", false, |value| value.boolean());
    let key = map.need("key", "key: ip").and_then(|value| key(&value));
    let limit = map.need("limit", "limit: 100/minute").and_then(|value| limit::of_rule(&value));
    let cost = map.or("cost", 1.into(), cost);
    let charge = map.or("charge", ChargeSource::default(), charge);
    let action =
        map.or("action", Action::default(), |value| value.word("an action", Action::ALL, Action::name));
    let on_missing = map.or("on_missing", OnMissing::default(), |value| {
        value.word("an answer to a missing part", OnMissing::ALL, OnMissing::name)
    });
    let on_store_error = map.or("on_store_error", OnStoreError::default(), |value| {
        value.word("an answer to a store that fails", OnStoreError::ALL, OnStoreError::name)
    });
    let mut rule = RuleSource::new(name?, key?, limit?);
    rule.matches = matches?;
    rule.stop = stop?;
    rule.cost = cost?;
    rule.charge = charge?;
    rule.action = action?;
    rule.on_missing = on_missing?;
    rule.on_store_error = on_store_error?;
    Some(rule)
}

/// The key, if it is one; nothing is reported.
pub(super) fn quiet_key(value: &Value<'_>) -> Option<KeySpec> {
    let text = |node: &Node| match &node.content {
        Content::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    let parts: Option<Vec<String>> = match value.content() {
        Content::Text { text, .. } => Some(vec![text.clone()]),
        Content::List(items) => items.iter().map(text).collect(),
        _ => None,
    };
    KeySpec::parse(&parts?).ok()
}

fn key(value: &Value<'_>) -> Option<KeySpec> {
    let parts = texts(value)?;
    // Each part alone first, so that the fault is at the part.
    let sound = parts.iter().filter_map(|(part, text)| parsed(part, &[*text])).count();
    if sound < parts.len() {
        return None;
    }
    let texts: Vec<&str> = parts.into_iter().map(|(_, text)| text).collect();
    let key = parsed(value, &texts)?;
    if key.kinds().any(|kind| matches!(kind, Kind::Header(name) if name.eq_ignore_ascii_case("host"))) {
        return value.fault(Problem::HostIsNoKey);
    }
    Some(key)
}

fn parsed(value: &Value<'_>, parts: &[&str]) -> Option<KeySpec> {
    KeySpec::parse(parts).map_err(|error| value.fault::<()>(Problem::Key(error))).ok()
}

/// One text, or a list of them.
pub(super) fn texts<'a>(value: &Value<'a>) -> Option<Vec<(Value<'a>, &'a str)>> {
    match value.content() {
        Content::Text { text, .. } => Some(vec![(value.clone(), text)]),
        Content::List(_) => {
            let texts: Vec<_> =
                value.list()?.into_iter().map(|item| item.text().map(|text| (item.clone(), text))).collect();
            texts.into_iter().collect()
        }
        _ => value.wrong_type(Expected::TextOrList),
    }
}
