//! The answer for people.

use std::fmt;

use http::StatusCode;

use super::report::{ExplainedAnswer, ExplainedDecision, ExplainedRequest, ExplainedRule};
use super::words::span;

/// The column of what is said, in the part about the caller.
const COLUMN: usize = 13;

/// The widest name of a rule that others are lined up with.
const WIDEST: usize = 32;

impl fmt::Display for ExplainedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        if let Some(host) = &self.host {
            write!(f, " on {host}")?;
        }
        write!(f, "\n\n{}\n\n", self.headline())?;
        self.write_caller(f)?;
        f.write_str("\nrules\n")?;
        let widest = self.rules.iter().map(|rule| rule.name.chars().count()).filter(|width| *width <= WIDEST);
        let width = widest.max().unwrap_or_default();
        self.rules.iter().try_for_each(|rule| write_rule(f, rule, width))?;
        write_answer(f, &self.response, &self.verdict)
    }
}

impl ExplainedRequest {
    /// What would happen, in one line.
    fn headline(&self) -> String {
        let status = self.response.status.unwrap_or_default();
        let by = self.binding.as_deref().map(|rule| format!(" by the rule {rule}")).unwrap_or_default();
        let because = self.settled.as_ref().map(|settled| settled.says.as_str());
        let without = match &self.store_error {
            Some(error) => format!("; the store cannot decide ({error})"),
            None => String::new(),
        };
        let rest = match (self.verdict.as_str(), because) {
            ("status", _) => {
                "ANSWERED here: the status endpoint tells how the caller stands, and takes nothing".to_owned()
            }
            ("health", _) => {
                "ANSWERED here: the health endpoint tells how the gateway does, and takes nothing".to_owned()
            }
            ("admit", Some(because)) => format!("ADMITTED: {because}"),
            ("admit", None) => {
                let held = if self.delay_us > 0 {
                    format!(" after being held for {}", span(self.delay_us))
                } else {
                    String::new()
                };
                match &self.binding {
                    Some(rule) => format!("ADMITTED{held}: {rule} has room for the fewest more"),
                    None => format!("ADMITTED{held}: no rule counts it"),
                }
            }
            ("deny", _) => {
                let wait = self.retry_after_us.map(span).unwrap_or_default();
                format!("REFUSED with {status}{by}: there is room again in {wait}")
            }
            ("impossible", _) => format!("REFUSED with {status}{by}: it never fits, however long one waits"),
            ("unavailable", _) => {
                format!("REFUSED with {status}: a rule refuses while the store cannot decide")
            }
            (_, because) => format!("REFUSED with {status}: {}", because.unwrap_or("settled")),
        };
        rest + &without
    }

    fn write_caller(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let caller = &self.caller;
        let client = caller.client.as_deref().unwrap_or("unknown");
        line(f, "client", &format!("{client}: {}", caller.client_by))?;
        if caller.client.as_deref() != Some(caller.peer.as_str()) {
            line(f, "peer", &caller.peer)?;
        }
        if let Some(hash) = &caller.api_key_hash {
            let several = if caller.several_keys { ", of several keys, which all count as one" } else { "" };
            line(f, "api key", &format!("sha256:{hash}{several}"))?;
        }
        if let Some(user) = &caller.user {
            line(f, "user", user)?;
        }
        if let (Some(plan), Some(by)) = (&caller.plan, &caller.plan_by) {
            let by = if by == "default" { "the default".to_owned() } else { format!("by {by}") };
            line(f, "plan", &format!("{plan}, {by}"))?;
        }
        if let Some(entry) = &caller.entry {
            let times =
                if caller.times > 1 { format!(": limits times {}", caller.times) } else { String::new() };
            line(f, "entry", &format!("{entry}{times}"))?;
        }
        if caller.bad_credentials {
            line(f, "credentials", "do not hold, and such requests are refused")?;
        }
        caller.diagnostics.iter().try_for_each(|one| line(f, &one.code, &one.says))
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, says: &str) -> fmt::Result {
    writeln!(f, "{name:<COLUMN$}{says}")
}

fn write_rule(f: &mut fmt::Formatter<'_>, rule: &ExplainedRule, width: usize) -> fmt::Result {
    let word = match (rule.bearing.as_str(), &rule.would) {
        ("refuses", _) => "deny",
        ("watched", _) => "watch",
        (_, Some(would)) => would.verdict.as_str(),
        ("enforced", None) => "-",
        _ => "no",
    };
    // The longest is `impossible`.
    let word = if word == "impossible" { "never" } else { word };
    write!(f, "  {:<width$}  {word:<5}  ", rule.name)?;
    let indent = width.saturating_add(4);
    let Some(key) = &rule.key else { return writeln!(f, "{}", rule.says) };
    let (quota, cost) = (rule.quota.unwrap_or_default(), rule.cost.unwrap_or_default());
    match rule.remaining {
        Some(remaining) => write!(f, "{remaining} of {quota} left, costs {cost}")?,
        None => write!(f, "costs {cost} of {quota}")?,
    }
    if let Some(would) = &rule.would {
        f.write_str(&then(would, rule))?;
    }
    f.write_str("\n")?;
    // What every rule that applies says goes without saying.
    let says = rule.says.strip_prefix("applies").unwrap_or(&rule.says);
    let says = says.strip_prefix(", and ").or_else(|| says.strip_prefix("; ")).unwrap_or(says);
    if !says.is_empty() {
        writeln!(f, "{:indent$}{:<5}  {says}", "", "")?;
    }
    if let Some(settles) = &rule.settles {
        writeln!(f, "{:indent$}{:<5}  {settles}", "", "")?;
    }
    let shown = key.strip_prefix(&rule.name).unwrap_or(key).trim_start();
    let chosen = if rule.scope.contains('|') { format!(", by {}", rule.scope) } else { String::new() };
    writeln!(f, "{:indent$}key    {}{chosen}", "", if shown.is_empty() { key } else { shown })?;
    writeln!(f, "{:indent$}limit  {}", "", rule.limit.as_deref().unwrap_or_default())
}

/// What would happen to the balance.
fn then(would: &ExplainedDecision, rule: &ExplainedRule) -> String {
    let whole = rule.reset_after_us.filter(|reset| *reset > 0);
    let whole = whole.map(|reset| format!(", whole again in {}", span(reset))).unwrap_or_default();
    match would.verdict.as_str() {
        "deny" => {
            let wait = would.retry_after_us.map(span).unwrap_or_default();
            format!(": room for it in {wait}{whole}")
        }
        "impossible" => format!(": more than it ever holds{whole}"),
        _ => {
            let held = if would.delay_us > 0 {
                format!(", held for {}", span(would.delay_us))
            } else {
                String::new()
            };
            let left = match rule.remaining {
                Some(now) if now != would.remaining => format!(": {} after it", would.remaining),
                _ => String::new(),
            };
            format!("{left}{held}{whole}")
        }
    }
}

fn write_answer(f: &mut fmt::Formatter<'_>, answer: &ExplainedAnswer, verdict: &str) -> fmt::Result {
    f.write_str("\nanswer\n")?;
    let status = answer.status.map(|status| {
        let name = StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason());
        format!("{status} {}", name.unwrap_or_default())
    });
    match (&status, answer.headers.is_empty()) {
        _ if verdict == "status" => f.write_str("  the limits of the caller, as JSON\n")?,
        _ if verdict == "health" => f.write_str("  how the gateway does, as JSON\n")?,
        (Some(status), _) => writeln!(f, "  {}", status.trim_end())?,
        (None, true) => f.write_str("  the upstream's, as it is\n")?,
        (None, false) => f.write_str("  the upstream's, with\n")?,
    }
    for (name, value) in &answer.headers {
        writeln!(f, "  {name}: {value}")?;
    }
    if let Some(jitter) = answer.jitter_seconds {
        writeln!(f, "  (waits and resets are up to {jitter}s longer, at random)")?;
    }
    let body = answer.body.as_deref().unwrap_or_default();
    if !body.is_empty() {
        f.write_str("\n")?;
        body.lines().try_for_each(|line| writeln!(f, "  {line}"))?;
    }
    Ok(())
}
