//! The difference for programs.

use cupo_core::{CounterChange, Fate, FieldChange, OrderChange, RuleChange, RuleChangeKind};
use serde_json::{Value, json};

use super::Difference;

/// One JSON object, and a line end.
pub(crate) fn show(difference: &Difference) -> String {
    let changes = &difference.changes;
    let settings = difference
        .settings
        .iter()
        .map(|setting| json!({ "field": setting.field, "needs_restart": setting.needs_restart }));
    let whole = json!({
        "same": difference.is_empty(),
        "rules": changes.rules.iter().map(rule).collect::<Vec<_>>(),
        "unchanged_rules": changes.unchanged,
        "order": changes.order.iter().map(order).collect::<Vec<_>>(),
        "policy": changes.settings.iter().map(field).collect::<Vec<_>>(),
        "settings": settings.collect::<Vec<_>>(),
    });
    format!("{whole:#}\n")
}

fn rule(rule: &RuleChange) -> Value {
    let (change, looks_like) = match &rule.kind {
        RuleChangeKind::Added { looks_like } => ("added", looks_like.as_ref()),
        RuleChangeKind::Removed => ("removed", None),
        _ => ("changed", None),
    };
    let mut value = json!({
        "rule": rule.name,
        "change": change,
        "fields": rule.fields.iter().map(field).collect::<Vec<_>>(),
        "counters": rule.counters.iter().map(counter).collect::<Vec<_>>(),
    });
    if let Some(gone) = looks_like {
        value["looks_like"] = json!(gone);
    }
    value
}

fn field(change: &FieldChange) -> Value {
    json!({ "field": change.field, "before": change.before, "after": change.after })
}

fn counter(counter: &CounterChange) -> Value {
    let (fate, why) = match &counter.fate {
        Fate::Keeps => ("keeps", None),
        Fate::Carried { from } => ("carried", Some(("from", from.to_string()))),
        Fate::Fresh(why) => ("fresh", Some(("because", why.reason().to_owned()))),
        _ => ("unknown", None),
    };
    let mut value =
        json!({ "tier": counter.tier, "fate": fate, "ipv6_starts_fresh": counter.ipv6_starts_fresh });
    if let Some((name, why)) = why {
        value[name] = json!(why);
    }
    value
}

fn order(order: &OrderChange) -> Value {
    json!({ "rule": order.rule, "hides": order.hides, "reveals": order.reveals })
}
