//! The state of a key.

use cupo_core::{Counter, InForce, Named, Timestamp};
use serde::Serialize;

use super::blocks::micros;
use crate::admin::Admin;
use crate::admin::name::{KeyName, ShownKey, ShownLimit};
use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};

/// The most counters of a key that are shown: tiers times multipliers may be many.
const MOST: usize = 256;

#[derive(Serialize)]
struct State {
    #[serde(flatten)]
    key: ShownKey,
    /// When, by the clock that decides.
    at_us: u64,
    /// How long it is blocked for still; `null` where it is not.
    blocked_us: Option<u64>,
    counters: Vec<ShownCounter>,
    truncated: bool,
}

/// What is counted by one limit.
#[derive(Debug, Serialize)]
pub(super) struct ShownCounter {
    #[serde(flatten)]
    limit: ShownLimit,
    pub(super) used: u64,
    pub(super) remaining: u64,
    /// Until nothing is used any more, if nothing else comes.
    reset_after_us: u64,
}

impl ShownCounter {
    /// What is left, of 2^16.
    pub(super) fn left(&self) -> u64 {
        self.remaining.saturating_mul(1 << 16).checked_div(self.limit.quota).unwrap_or(0)
    }
}

/// What is used and left.
pub(super) async fn state(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let name: KeyName = call.body()?;
    let in_force = call.admin.limiter.in_force();
    let named = name.find(in_force.policy())?;
    let (at, counters) = counters(&call.admin, &in_force, &named).await?;
    Reply::json(&State {
        key: ShownKey::of(&name.rule, &named.key),
        at_us: at.as_micros(),
        blocked_us: call.admin.limiter.blocked_for(&named.key).map(micros),
        counters,
        truncated: named.counters.len() > MOST,
    })
}

/// The balance of each counter, as a peek shows it.
pub(super) async fn counters(
    admin: &Admin,
    in_force: &InForce,
    named: &Named,
) -> Result<(Timestamp, Vec<ShownCounter>), Problem> {
    let counters = named.counters.get(..MOST).unwrap_or(&named.counters);
    let (mut at, mut shown) = (admin.limiter.now(), Vec::with_capacity(counters.len()));
    // Each by itself: several may share a key.
    for one in counters {
        let (peeked, balance) = counter(admin, in_force, named.rule, one).await?;
        at = peeked;
        shown.push(balance);
    }
    Ok((at, shown))
}

/// The balance of one counter, and when that is.
pub(super) async fn counter(
    admin: &Admin,
    in_force: &InForce,
    rule: usize,
    counter: &Counter,
) -> Result<(Timestamp, ShownCounter), Problem> {
    let (at, decision) = admin.limiter.balance(in_force, rule, &counter.item).await?;
    let shown = ShownCounter {
        limit: ShownLimit::of(counter),
        used: decision.limit.saturating_sub(decision.remaining),
        remaining: decision.remaining,
        reset_after_us: micros(decision.reset_after),
    };
    Ok((at, shown))
}
