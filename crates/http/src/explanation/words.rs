//! What is found, in words.

use std::time::Duration;

use cupo_core::{
    Bearing, ChargeSource, CostSource, DisplayDuration, Entry, Outcome, PlanFrom, Rule, RuleView, Settled,
    StoreError, Verdict,
};

use crate::peer::Peer;

pub(super) const OF_STATUS: &str = "is not asked: the status endpoint answers";

pub(super) const OF_HEALTH: &str = "is not asked: the health endpoint answers";

pub(super) fn verdict(outcome: Result<&Outcome, &StoreError>) -> &'static str {
    match outcome {
        Err(_) => "unavailable",
        Ok(outcome) => match outcome.verdict() {
            Verdict::Admit => "admit",
            Verdict::Deny { .. } => "deny",
            Verdict::Impossible if outcome.settled().is_some() => "refuse",
            Verdict::Impossible => "impossible",
        },
    }
}

pub(super) fn settled(settled: &Settled, outcome: &Outcome, entry: &str) -> (&'static str, String) {
    match settled {
        Settled::Allowed(_) => ("allow", format!("allowed by {entry}, uncounted")),
        Settled::Blocked(Entry::Key(_)) => {
            ("block", format!("an administrator has blocked the key {entry} for a time"))
        }
        Settled::Blocked(_) => ("block", format!("blocked by {entry}")),
        Settled::Uncounted => ("uncounted", "a preflight, which is not counted".to_owned()),
        Settled::BadCredentials => ("bad_credentials", "the credentials do not hold".to_owned()),
        Settled::Lacks { .. } => {
            let rule = outcome.lacks().map_or("a rule", Rule::name);
            ("missing", format!("lacks what {rule} counts by"))
        }
        _ => ("other", "settled".to_owned()),
    }
}

pub(super) fn peer(peer: Peer) -> String {
    match peer {
        Peer::Unknown => "unknown".to_owned(),
        Peer::Unix => "unix".to_owned(),
        Peer::Address(address) | Peer::Relayed(address) => address.to_string(),
    }
}

pub(super) fn plan_from(from: Option<&PlanFrom>) -> String {
    match from {
        None => "default".to_owned(),
        Some(PlanFrom::Callers) => "callers".to_owned(),
        Some(PlanFrom::Claim(name)) => format!("claim({name})"),
        Some(PlanFrom::Header(name)) => format!("header({name})"),
        Some(_) => "another source".to_owned(),
    }
}

pub(super) fn bearing(rule: &RuleView<'_>, plan: Option<&str>) -> (&'static str, String) {
    let (code, mut says) = match rule.bearing {
        Bearing::Enforced => ("enforced", "applies".to_owned()),
        Bearing::Watched => ("watched", "applies, and only watches".to_owned()),
        Bearing::Unmet(unmet) => ("unmet", unmet.to_string()),
        Bearing::Unlimited => {
            ("unlimited", format!("sets no limit on the plan {}", plan.unwrap_or_default()))
        }
        Bearing::Lacks(part) => ("lacks", format!("counts by {part}, and the request has none")),
        Bearing::Refuses(part) => {
            ("refuses", format!("counts by {part}, and refuses requests that have none"))
        }
        Bearing::Stopped(by) => ("stopped", format!("is not looked at: {by} says stop")),
        Bearing::Settled => ("settled", "is not asked: the request is settled without it".to_owned()),
        _ => ("other", "is not known here".to_owned()),
    };
    if rule.stops {
        says.push_str("; stops the rules after it");
    }
    if rule.doubtful {
        says.push_str("; stops nothing here, since the path or a header can be read in several ways");
    }
    (code, says)
}

/// What becomes of the cost once the response is there; `None` where it was charged for good.
pub(super) fn settles(rule: &Rule) -> Option<String> {
    let mut parts = Vec::new();
    if let CostSource::Response { header, .. } = rule.cost_source() {
        parts.push(format!("reserved until the response says its cost in {header}"));
    }
    if let ChargeSource::OnResponse(statuses) = rule.charge_source() {
        parts.push(format!("given back unless the response has status {statuses}"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// A span for people, rounded up: `1h 5m`, `42s`, `300ms`.
pub(super) fn span(micros: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    if micros < 10_000_000 {
        let millis = if micros < 1_000 { micros } else { micros.div_ceil(1_000).saturating_mul(1_000) };
        return DisplayDuration(Duration::from_micros(millis)).to_string();
    }
    let seconds = micros.div_ceil(1_000_000);
    for pair in UNITS.windows(2) {
        let [(large, long), (small, short)] = pair else { continue };
        let (Some(whole @ 1..), Some(rest)) = (seconds.checked_div(*large), seconds.checked_rem(*large))
        else {
            continue;
        };
        return match rest.div_ceil(*small) {
            0 => format!("{whole}{long}"),
            rest if rest.saturating_mul(*small) == *large => {
                // Rounded up to a whole unit, perhaps to one of the next.
                span(whole.saturating_add(1).saturating_mul(*large).saturating_mul(1_000_000))
            }
            rest => format!("{whole}{long} {rest}{short}"),
        };
    }
    format!("{seconds}s")
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn spans_round_up_and_have_two_units() {
        for (micros, text) in [
            (0, "0s"),
            (1, "1us"),
            (999, "999us"),
            (1_001, "2ms"),
            (1_000_000, "1s"),
            (2_500_000, "2500ms"),
            (9_999_999, "10s"),
            (10_000_001, "11s"),
            (59_000_000, "59s"),
            (60_000_000, "1m"),
            (61_000_000, "1m 1s"),
            (3_599_000_001, "1h"),
            (3_600_000_001, "1h 1m"),
            (86_399_000_000, "1d"),
            (90_000_000_000, "1d 1h"),
        ] {
            assert_eq!(span(micros), text, "{micros}");
        }
    }
}
