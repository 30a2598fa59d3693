//! Answers of the admin API for people.

use std::fmt::Write as _;
use std::time::Duration;

use cupo_core::DisplayDuration;
use jiff::Timestamp;
use serde_json::Value;

use crate::args::AdminCommand;

/// The answer to this command.
pub(super) fn of(command: &AdminCommand, answer: &Value) -> String {
    match command {
        AdminCommand::State { .. } => state(answer),
        AdminCommand::Reset { .. } => reset(answer),
        AdminCommand::Grant { .. } => grant(answer),
        AdminCommand::Block { .. } | AdminCommand::Unblock { .. } => block(answer),
        AdminCommand::Blocks => blocks(answer),
        AdminCommand::Nearest { .. } => nearest(answer),
        AdminCommand::Policy => policy(answer),
        AdminCommand::Reload | AdminCommand::Rollback { .. } => reloaded(answer),
        AdminCommand::History => history(answer),
        AdminCommand::Audit { .. } => audit(answer),
        AdminCommand::Explain { .. } => answer.to_string(),
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A time in microseconds, in whole seconds where it is longer than one.
fn span(micros: u64) -> String {
    let span = if micros > 1_000_000 {
        Duration::from_secs(micros.div_ceil(1_000_000))
    } else {
        Duration::from_micros(micros)
    };
    DisplayDuration(span).to_string()
}

/// An instant in microseconds since the epoch, to the second.
fn instant(micros: u64) -> String {
    let seconds = i64::try_from(micros / 1_000_000).unwrap_or_default();
    Timestamp::from_second(seconds).map_or_else(|_| micros.to_string(), |instant| instant.to_string())
}

/// Whose limit it is.
fn whose(counter: &Value) -> String {
    let tiers: Vec<&str> = items(&counter["tiers"]).iter().filter_map(Value::as_str).collect();
    let mut whose = String::new();
    if !tiers.is_empty() {
        let _ = write!(whose, " (plan {})", tiers.join(", "));
    }
    if number(counter, "times") > 1 {
        let _ = write!(whose, " (times {})", number(counter, "times"));
    }
    whose
}

fn counter(counter: &Value) -> String {
    let (used, quota) = (number(counter, "used"), number(counter, "quota"));
    let rest = match number(counter, "reset_after_us") {
        0 => String::new(),
        micros => format!(", whole again in {}", span(micros)),
    };
    let left = number(counter, "remaining");
    format!("{}{}: {used} of {quota} used, {left} left{rest}", text(counter, "limit"), whose(counter))
}

fn state(answer: &Value) -> String {
    let mut out = format!("{}\n", text(answer, "key"));
    if let Some(left) = answer["blocked_us"].as_u64() {
        let _ = writeln!(out, "  blocked for {}", span(left));
    }
    for one in items(&answer["counters"]) {
        let _ = writeln!(out, "  {}", counter(one));
    }
    if answer["truncated"] == true {
        out.push_str("  and more; --tier shows those of one plan\n");
    }
    out
}

fn reset(answer: &Value) -> String {
    let used =
        items(&answer["before"]).iter().map(|counter| number(counter, "used")).max().unwrap_or_default();
    let key = text(answer, "key");
    if answer["found"] == true {
        format!("{key}: {used} used units are forgotten")
    } else {
        format!("{key}: nothing was used")
    }
}

fn grant(answer: &Value) -> String {
    let (given, before, now) =
        (number(answer, "given"), number(answer, "remaining_before"), number(answer, "remaining"));
    let (key, quota) = (text(answer, "key"), number(answer, "quota"));
    format!("{key}{}: {given} given back, {now} of {quota} left ({before} before)", whose(answer))
}

fn block(answer: &Value) -> String {
    let key = text(answer, "key");
    match (answer["left_us"].as_u64(), answer["before_us"].as_u64()) {
        (Some(left), None) => format!("{key}: blocked for {}", span(left)),
        (Some(left), Some(before)) => format!("{key}: blocked for {} ({} before)", span(left), span(before)),
        (None, Some(before)) => format!("{key}: blocked no more ({} were left)", span(before)),
        (None, None) => format!("{key}: was not blocked"),
    }
}

fn blocks(answer: &Value) -> String {
    let list = items(&answer["blocks"]);
    if list.is_empty() {
        return "no key is blocked".to_owned();
    }
    let line = |one: &Value| format!("{}: for {} more\n", text(one, "key"), span(number(one, "left_us")));
    list.iter().map(line).collect()
}

fn nearest(answer: &Value) -> String {
    let list = items(&answer["keys"]);
    if list.is_empty() {
        return "no key has been seen near its limit".to_owned();
    }
    list.iter().map(|one| format!("{}\n  {}\n", text(one, "key"), counter(one))).collect()
}

fn policy(answer: &Value) -> String {
    let mut out = String::new();
    if let Some(revision) = answer["revision"].as_str() {
        let _ = writeln!(out, "revision {revision}");
    }
    for rule in items(&answer["rules"]) {
        let _ = writeln!(
            out,
            "\n{}\n  matches  {}\n  key      {}",
            text(rule, "name"),
            text(rule, "match"),
            text(rule, "key")
        );
        for limit in items(&rule["limits"]) {
            let plan = limit["tier"].as_str().map(|tier| format!(" (plan {tier})")).unwrap_or_default();
            let _ = writeln!(out, "  limit    {}{plan}", text(limit, "limit"));
        }
        let _ = writeln!(out, "  action   {}", text(rule, "action"));
    }
    out
}

fn reloaded(answer: &Value) -> String {
    let (before, after) = (text(answer, "before"), text(answer, "after"));
    let mut out = if before == after {
        format!("{after} is in force, as before\n")
    } else {
        format!("{after} is in force, {before} was before\n")
    };
    let waiting: Vec<&str> = items(&answer["waiting"]).iter().filter_map(Value::as_str).collect();
    if !waiting.is_empty() {
        let _ = writeln!(out, "these settings wait for a restart: {}", waiting.join(", "));
    }
    out
}

fn history(answer: &Value) -> String {
    let line = |one: &Value| {
        let mark = if one["in_force"] == true { '*' } else { ' ' };
        let how = if one["rollback"] == true { ", by going back" } else { "" };
        let (id, since, by) = (text(one, "id"), instant(number(one, "since_us")), text(one, "by"));
        format!("{mark} {id}  {since}  {} rules  by {by}{how}\n", number(one, "rules"))
    };
    items(&answer["revisions"]).iter().map(line).collect()
}

fn audit(answer: &Value) -> String {
    let list = items(&answer["changes"]);
    if list.is_empty() {
        return "nothing was changed since the start".to_owned();
    }
    let line = |one: &Value| {
        let (at, who, what) = (instant(number(one, "at_us")), text(one, "who"), text(one, "what"));
        format!("{at}  {who}  {what}  {}  {} -> {}\n", one["target"], one["before"], one["after"])
    };
    list.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn long_times_are_told_in_seconds() {
        assert_eq!(
            (span(599_000_001).as_str(), span(1_500).as_str(), span(0).as_str()),
            ("10m", "1500us", "0s")
        );
    }
}
