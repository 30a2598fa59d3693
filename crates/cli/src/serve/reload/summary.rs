//! What a change of the policy is about, in one line of the log.

use cupo_core::{Changes, Fate, RuleChangeKind};

/// Of so many rules the names are told.
const TOLD: usize = 20;

/// Such as `changed all (limit), added burst, removed old; settings callers; starts fresh: all (the algorithm changed)`.
pub(super) fn summary(changes: &Changes) -> String {
    let mut parts = Vec::new();
    let rules: Vec<String> = changes.rules.iter().take(TOLD).map(rule).collect();
    if !rules.is_empty() {
        parts.push(rules.join(", "));
    }
    if let more @ 1.. = changes.rules.len().saturating_sub(TOLD) {
        parts.push(format!("and {more} more rules"));
    }
    let order: Vec<&str> = changes.order.iter().take(TOLD).map(|change| &*change.rule).collect();
    if !order.is_empty() {
        parts.push(format!("order of {}", order.join(", ")));
    }
    let settings: Vec<&str> = changes.settings.iter().take(TOLD).map(|change| &*change.field).collect();
    if !settings.is_empty() {
        parts.push(format!("settings {}", settings.join(", ")));
    }
    let fresh: Vec<String> = changes.rules.iter().filter_map(fresh).take(TOLD).collect();
    if !fresh.is_empty() {
        parts.push(format!("starts fresh: {}", fresh.join(", ")));
    }
    if parts.is_empty() { "nothing that is counted".to_owned() } else { parts.join("; ") }
}

fn rule(change: &cupo_core::RuleChange) -> String {
    match change.kind {
        RuleChangeKind::Added { .. } => format!("added {}", change.name),
        RuleChangeKind::Removed => format!("removed {}", change.name),
        _ => {
            let fields: Vec<&str> = change.fields.iter().map(|field| &*field.field).collect();
            format!("changed {} ({})", change.name, fields.join(", "))
        }
    }
}

/// A rule that was there and does not go on counting, and why.
fn fresh(change: &cupo_core::RuleChange) -> Option<String> {
    if change.kind != RuleChangeKind::Changed {
        return None;
    }
    let reason = change.counters.iter().find_map(|counter| match counter.fate {
        Fate::Fresh(why) => Some(why.reason()),
        _ => None,
    })?;
    Some(format!("{} ({reason})", change.name))
}

#[cfg(test)]
mod tests {
    use super::summary;

    fn told(old: &str, new: &str) -> String {
        let policy = |rules| {
            let text = format!("rules: [{rules}]");
            cupo_config::parse("p.yaml", &text).unwrap_or_else(|errors| panic!("{errors}")).policy
        };
        summary(&policy(old).changes(&policy(new)))
    }

    #[test]
    fn what_has_changed_is_told_in_a_line() {
        let all = |limit| format!("{{ name: all, key: ip, limit: {limit} }}");
        assert_eq!(told(&all("1/s"), &all("1/s")), "nothing that is counted");
        assert_eq!(told(&all("1/s"), &all("2/s")), "changed all (limit)");
        let more = format!("{}, {{ name: more, key: ip, limit: 1/s }}", all("1/s"));
        assert_eq!(told(&all("1/s"), &more), "added more");
        assert_eq!(told(&more, &all("1/s")), "removed more");
        let other = "{ algorithm: sliding_window_log, rate: 1/s }";
        assert_eq!(
            told(&all("1/s"), &all(other)),
            "changed all (limit); starts fresh: all (the algorithm changed)"
        );
        let many = |limit| {
            let rule = |n| format!("{{ name: r{n:02}, key: ip, limit: {limit} }}");
            (0..25).map(rule).collect::<Vec<_>>().join(", ")
        };
        let long = told(&many("1/s"), &many("2/s"));
        assert!(
            long.contains("r19 (limit)") && !long.contains("r20") && long.ends_with("; and 5 more rules"),
            "{long}"
        );
    }
}
