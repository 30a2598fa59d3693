//! The state of a key.

use cupo_core::{Check, CheckItem, Decision, Named, Timestamp};
use serde::Serialize;

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

/// What is used and left.
pub(super) async fn state(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let name: KeyName = call.body()?;
    let policy = call.admin.limiter.policy();
    let named = name.find(&policy)?;
    let (at, counters) = counters(&call.admin, &named).await?;
    Reply::json(&State {
        key: ShownKey::of(&name.rule, &named.key),
        at_us: at.as_micros(),
        counters,
        truncated: named.counters.len() > MOST,
    })
}

/// The balance of each counter, as a peek shows it.
pub(super) async fn counters(
    admin: &Admin,
    named: &Named,
) -> Result<(Timestamp, Vec<ShownCounter>), Problem> {
    let (mut at, mut shown) = (admin.limiter.now(), Vec::with_capacity(named.counters.len().min(MOST)));
    let counters = named.counters.get(..MOST).unwrap_or(&named.counters);
    // Each by itself: several may share a key.
    for counter in counters {
        let (peeked, decision) = peek(admin, &counter.item).await?;
        at = peeked;
        shown.push(ShownCounter {
            limit: ShownLimit::of(counter),
            used: decision.limit.saturating_sub(decision.remaining),
            remaining: decision.remaining,
            reset_after_us: u64::try_from(decision.reset_after.as_micros()).unwrap_or(u64::MAX),
        });
    }
    Ok((at, shown))
}

/// The balance of one counter.
pub(super) async fn peek(admin: &Admin, item: &CheckItem) -> Result<(Timestamp, Decision), Problem> {
    let check = Check::from(CheckItem { cost: 0, ..item.clone() });
    let executed = admin.limiter.check(&check).await?;
    let decision = executed.decisions.first().copied().ok_or(cupo_core::StoreError::Unavailable)?;
    Ok((executed.at, decision))
}
