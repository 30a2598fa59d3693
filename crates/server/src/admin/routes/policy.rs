//! The policy in force.

use cupo_core::{Policy, Rule};
use serde::Serialize;

use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};

#[derive(Serialize)]
struct Effective {
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    rules: Vec<ShownRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tiers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_tier: Option<String>,
    /// How many callers something is said of.
    callers: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
}

#[derive(Serialize)]
struct Source {
    file: String,
    text: String,
}

#[derive(Serialize)]
struct ShownRule {
    name: String,
    r#match: String,
    key: String,
    limits: Vec<Shown>,
    cost: u64,
    action: String,
    on_missing: String,
    on_store_error: String,
    stop: bool,
}

#[derive(Serialize)]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    /// In words.
    limit: String,
    /// `null` where it is unlimited.
    quota: Option<u64>,
}

/// The policy in force: what its rules mean, and the file without secrets.
pub(super) async fn policy(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let in_force = call.admin.limiter.in_force();
    let policy = in_force.policy();
    let text = call.admin.control.policy_text();
    let revision = call.admin.control.history().into_iter().next().map(|revision| revision.id);
    Reply::json(&Effective {
        revision,
        rules: policy.rules().iter().map(|rule| shown(rule, policy)).collect(),
        tiers: policy.tiers().map(ToOwned::to_owned).collect(),
        default_tier: policy.default_tier().map(ToOwned::to_owned),
        callers: policy.callers(),
        source: text.map(|text| Source { file: text.file, text: text.text }),
    })
}

fn shown(rule: &Rule, policy: &Policy) -> ShownRule {
    let tiers: Vec<Option<&str>> =
        if rule.is_by_tier() { policy.tiers().map(Some).collect() } else { vec![None] };
    let limits = tiers.into_iter().zip(rule.limits()).map(|(tier, limit)| Shown {
        tier: tier.map(ToOwned::to_owned),
        limit: limit.map_or_else(|| "unlimited".to_owned(), ToString::to_string),
        quota: limit.map(cupo_core::Limit::quota),
    });
    ShownRule {
        name: rule.name().to_owned(),
        r#match: rule.describe_match(),
        key: rule.key().to_string(),
        limits: limits.collect(),
        cost: rule.cost(),
        action: rule.action().to_string(),
        on_missing: rule.on_missing().to_string(),
        on_store_error: rule.on_store_error().to_string(),
        stop: rule.stops(),
    }
}
