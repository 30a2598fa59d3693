//! Keys that are blocked for a time.

use std::time::Duration;

use cupo_core::{BlockChange, Key, MOST_BLOCKS};
use cupo_http::deserialize_whole;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::admin::name::{self, ShownKey};
use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};

/// The longest that a key is blocked for: 30 days. For longer there is the policy.
const LONGEST: u64 = 2_592_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToBlock {
    rule: String,
    #[serde(default)]
    parts: Vec<String>,
    #[serde(deserialize_with = "deserialize_whole")]
    seconds: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToUnblock {
    rule: String,
    #[serde(default)]
    parts: Vec<String>,
}

/// What became of a key.
#[derive(Serialize)]
struct Changed {
    #[serde(flatten)]
    key: ShownKey,
    at_us: u64,
    /// How long it was blocked for still; `null` where it was not.
    before_us: Option<u64>,
    /// How long it is blocked for now.
    left_us: Option<u64>,
}

#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    key: ShownKey,
    left_us: u64,
    ends_us: u64,
}

#[derive(Serialize)]
struct List {
    at_us: u64,
    blocks: Vec<Listed>,
    /// How many there may be.
    most: usize,
}

/// Refuses every request that the rule counts under the key, for a time.
pub(super) async fn block(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let asked: ToBlock = call.body()?;
    if !(1..=LONGEST).contains(&asked.seconds) {
        return Err(Problem::senseless(format!("`seconds` is a whole number from 1 to {LONGEST}.")));
    }
    change(&call, "block", &asked.rule, &asked.parts, Some(Duration::from_secs(asked.seconds))).await
}

/// Lifts the block of a key.
pub(super) async fn unblock(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let asked: ToUnblock = call.body()?;
    change(&call, "unblock", &asked.rule, &asked.parts, None).await
}

async fn change(
    call: &Call,
    what: &'static str,
    rule: &str,
    parts: &[String],
    span: Option<Duration>,
) -> Result<Reply, Problem> {
    let (admin, in_force) = (&call.admin, call.admin.limiter.in_force());
    let listed = if span.is_none() { listed(call, rule, parts).await? } else { None };
    let named = match listed {
        Some(key) => key,
        None => name::find(in_force.policy(), rule, parts, None)?.key,
    };
    let key = ShownKey::of(rule, &named);
    let changed = admin.limiter.block(&named, span).await.inspect_err(|error| {
        let (at, who) = (admin.limiter.now(), &call.bearer.name);
        admin.audit.record_doubt(at, who, what, key.target(), Value::Null, error);
    })?;
    let BlockChange::Done(before) = changed else {
        let detail = format!(
            "{MOST_BLOCKS} keys are blocked, and more cannot be; the policy's `block` has room for networks."
        );
        return Err(Problem::new(StatusCode::CONFLICT, "too-many-blocks", "There is no room", detail.into()));
    };
    let at = admin.limiter.now();
    let shown = |left: Option<Duration>| match left {
        Some(left) => json!({ "blocked_us": micros(left) }),
        None => Value::Null,
    };
    admin.audit.record(at, &call.bearer.name, what, key.target(), shown(before), shown(span));
    Reply::json(&Changed {
        key,
        at_us: at.as_micros(),
        before_us: before.map(micros),
        left_us: span.map(micros),
    })
}

/// The key that is blocked and shown as this. The policy may know its rule no more, or by another key.
async fn listed(call: &Call, rule: &str, parts: &[String]) -> Result<Option<Key>, Problem> {
    let list = call.admin.limiter.blocks().await?;
    let mut keys = list.blocks.into_iter().map(|block| block.key);
    Ok(keys.find(|key| key.rule_name() == rule.as_bytes() && key.said_parts() == parts))
}

/// Every key that is blocked.
pub(super) async fn blocks(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let at = call.admin.limiter.now();
    let list = call.admin.limiter.blocks().await?;
    let shown = |key: &Key, left| Listed {
        key: ShownKey::of(&String::from_utf8_lossy(key.rule_name()), key),
        left_us: micros(left),
        ends_us: at.after(left).as_micros(),
    };
    let blocks = list.blocks.iter().map(|block| shown(&block.key, block.left)).collect();
    Reply::json(&List { at_us: at.as_micros(), blocks, most: MOST_BLOCKS })
}

pub(super) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
