//! The difference for people.

use std::fmt::Write as _;

use cupo_core::{CounterChange, Fate, FieldChange, RuleChange, RuleChangeKind, STATUS_RULE};

use super::Difference;

/// The text; lines that end.
pub(crate) fn show(difference: &Difference) -> String {
    let mut out = String::new();
    if difference.is_empty() {
        out.push_str("the policies say the same\n");
        return out;
    }
    let changes = &difference.changes;
    for rule in &changes.rules {
        show_rule(rule, &mut out);
    }
    for order in &changes.order {
        let _ = writeln!(out, "rule {} stops others", order.rule);
        for (what, rules) in [("now stops", &order.hides), ("no longer stops", &order.reveals)] {
            if !rules.is_empty() {
                let _ = writeln!(out, "  {what:<16} {}", rules.join(", "));
            }
        }
    }
    if !changes.settings.is_empty() {
        out.push_str("policy\n");
        changes.settings.iter().for_each(|field| show_field(field, &mut out));
    }
    if !difference.settings.is_empty() {
        out.push_str("settings\n");
    }
    for setting in &difference.settings {
        let how = if setting.needs_restart { "changed; waits for a restart" } else { "changed" };
        let _ = writeln!(out, "  {:<16} {how}", setting.field);
    }
    let _ = match changes.unchanged {
        0 => Ok(()),
        1 => writeln!(out, "1 rule is unchanged; its counters go on"),
        n => writeln!(out, "{n} rules are unchanged; their counters go on"),
    };
    out
}

fn show_rule(rule: &RuleChange, out: &mut String) {
    let name = if *rule.name == *STATUS_RULE { "the status endpoint" } else { &rule.name };
    let _ = match &rule.kind {
        RuleChangeKind::Added { .. } => writeln!(out, "rule {name} is new"),
        RuleChangeKind::Removed => writeln!(out, "rule {name} is gone"),
        _ if name == &*rule.name => writeln!(out, "rule {name} changes"),
        _ => writeln!(out, "{name} changes"),
    };
    rule.fields.iter().for_each(|field| show_field(field, out));
    if let RuleChangeKind::Added { looks_like: Some(gone) } = &rule.kind {
        let _ = writeln!(
            out,
            "  {:<16} start fresh: counters go by the name, and {gone}, which is gone, was another",
            "counters"
        );
    }
    rule.counters.iter().for_each(|counter| show_counter(counter, out));
}

fn show_field(change: &FieldChange, out: &mut String) {
    let said = match (&change.before, &change.after) {
        (Some(before), Some(after)) => format!("{before} -> {after}"),
        (None, Some(after)) => after.to_string(),
        (Some(before), None) => format!("{before} -> nothing"),
        (None, None) => return,
    };
    let _ = writeln!(out, "  {:<16} {said}", change.field);
}

fn show_counter(counter: &CounterChange, out: &mut String) {
    let of = counter.tier.as_ref().map(|tier| format!(" of {tier}")).unwrap_or_default();
    let _ = write!(out, "  {:<16} {}", format!("counters{of}"), fate(&counter.fate));
    if counter.ipv6_starts_fresh {
        out.push_str("; those of IPv6 addresses start fresh: ipv6_prefix changed");
    }
    out.push('\n');
}

/// What becomes of counters, in words.
pub(super) fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Keeps => "go on".to_owned(),
        Fate::Carried { .. } => {
            "taken over: what still counts is charged to the new limit when a key is first seen".to_owned()
        }
        Fate::Fresh(why) => format!("start fresh: {}", why.reason()),
        _ => "unknown".to_owned(),
    }
}
