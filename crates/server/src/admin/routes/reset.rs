//! Forgetting what a key has used.

use serde::Serialize;
use serde_json::json;

use super::state::{self, ShownCounter};
use crate::admin::name::{KeyName, ShownKey};
use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};

#[derive(Serialize)]
struct Reset {
    #[serde(flatten)]
    key: ShownKey,
    /// Whether there was anything to forget.
    found: bool,
    before: Vec<ShownCounter>,
    after: Vec<ShownCounter>,
}

/// Forgets what is counted under a key, by every limit of its rule or by that of one tier.
pub(super) async fn reset(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let name: KeyName = call.body()?;
    let in_force = call.admin.limiter.in_force();
    let named = name.find(in_force.policy())?;
    // What was counted by an earlier limit is taken over by this, and so is forgotten too.
    let (_, before) = state::counters(&call.admin, &in_force, &named).await?;
    let shown = ShownKey::of(&name.rule, &named.key);
    let used =
        |counters: &[ShownCounter]| json!({ "used": counters.iter().map(|c| c.used).collect::<Vec<_>>() });
    let mut found = false;
    let mut keys: Vec<_> = named.counters.iter().map(|counter| &counter.item.key).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        found |= call.admin.limiter.reset(key).await.inspect_err(|error| {
            let (at, who) = (call.admin.limiter.now(), &call.bearer.name);
            call.admin.audit.record_doubt(at, who, "reset", shown.target(), used(&before), error);
        })?;
    }
    // Done, whether its effect can be looked at or not.
    let looked = state::counters(&call.admin, &in_force, &named).await.inspect_err(|_| {
        let (at, who) = (call.admin.limiter.now(), &call.bearer.name);
        call.admin.audit.record(at, who, "reset", shown.target(), used(&before), json!({ "used": [] }));
    });
    let (at, after) = looked?;
    call.admin.audit.record(at, &call.bearer.name, "reset", shown.target(), used(&before), used(&after));
    Reply::json(&Reset { key: shown, found, before, after })
}
