//! Giving units back.

use cupo_core::Counter;
use cupo_http::deserialize_whole;
use http::StatusCode;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use crate::admin::name::{self, ShownKey, ShownLimit};
use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};

/// The most units that are given at once: the end of the number domain.
const MOST: u64 = (1 << 53) - 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    rule: String,
    #[serde(default)]
    parts: Vec<String>,
    tier: Option<String>,
    #[serde(default, deserialize_with = "maybe_whole")]
    times: Option<u64>,
    #[serde(deserialize_with = "deserialize_whole")]
    units: u64,
}

fn maybe_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    struct Whole(#[serde(deserialize_with = "deserialize_whole")] u64);
    Ok(Option::<Whole>::deserialize(deserializer)?.map(|Whole(number)| number))
}

#[derive(Serialize)]
struct Granted {
    #[serde(flatten)]
    key: ShownKey,
    #[serde(flatten)]
    limit: ShownLimit,
    at_us: u64,
    /// Units that were given back: what was asked for, or all that was used.
    given: u64,
    remaining_before: u64,
    remaining: u64,
}

/// Gives units back to a key: what remains rises by as many, and never above the limit.
pub(super) async fn grant(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let asked: Grant = call.body()?;
    if !(1..=MOST).contains(&asked.units) {
        return Err(Problem::senseless(format!("`units` is a whole number from 1 to {MOST}.")));
    }
    let (admin, in_force) = (&call.admin, call.admin.limiter.in_force());
    let named = name::find(in_force.policy(), &asked.rule, &asked.parts, asked.tier.as_deref())?;
    let fits = |counter: &&Counter| asked.times.is_none_or(|times| times == counter.times);
    let mut used: Vec<(&Counter, u64)> = Vec::new();
    for counter in named.counters.iter().filter(fits) {
        let (_, decision) = admin.limiter.balance(&in_force, named.rule, &counter.item).await?;
        used.push((counter, decision.limit.saturating_sub(decision.remaining)));
    }
    let nobody = "No caller has a limit by this rule with this plan and multiplier.";
    let (first, _) = *used.first().ok_or_else(|| Problem::not_found("no-counter", nobody))?;
    // Of limits that some callers have, only what is used can be meant.
    let mut found = used.iter().filter(|(_, used)| *used > 0);
    let counter = match (found.next(), found.next()) {
        (None, _) => first,
        (Some((only, _)), None) => *only,
        (Some(_), Some(_)) => {
            let detail = "Several limits have counted this key; say whose is meant with `tier` and `times`, as POST /v1/state shows them.";
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "ambiguous",
                "There are several counters",
                detail.into(),
            ));
        }
    };
    let item = cupo_core::CheckItem { cost: asked.units, ..counter.item.clone() };
    let key = ShownKey::of(&asked.rule, &named.key);
    let granted = admin.limiter.grant(&item).await.inspect_err(|error| {
        let (at, who) = (admin.limiter.now(), &call.bearer.name);
        admin.audit.record_doubt(at, who, "grant", key.target(), serde_json::Value::Null, error);
    })?;
    let shown = |remaining: u64| json!({ "remaining": remaining });
    let (before, after) = (shown(granted.before), shown(granted.after));
    admin.audit.record(granted.at, &call.bearer.name, "grant", key.target(), before, after);
    Reply::json(&Granted {
        key,
        limit: ShownLimit::of(counter),
        at_us: granted.at.as_micros(),
        given: granted.after.saturating_sub(granted.before),
        remaining_before: granted.before,
        remaining: granted.after,
    })
}
