//! The keys nearest to their limits.

use serde::Serialize;

use crate::admin::name::{self, ShownKey};
use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};
use crate::admin::routes::state::{self, ShownCounter};

const DEFAULT: usize = 20;
const MOST: usize = 200;

/// How many more are looked at than are shown: what was seen may have changed since.
const SPARE: usize = 4;

#[derive(Serialize)]
struct Near {
    #[serde(flatten)]
    key: ShownKey,
    #[serde(flatten)]
    counter: ShownCounter,
    /// When it was last seen.
    seen_us: u64,
}

#[derive(Serialize)]
struct List {
    keys: Vec<Near>,
}

/// The keys that this node has seen nearest to their limits, with what is left now, least first.
pub(super) async fn nearest(call: Call) -> Result<Reply, Problem> {
    call.only(&["n", "rule"])?;
    let most = call.count("n", DEFAULT, MOST)?;
    let rule = call.parameter("rule")?;
    let (admin, in_force) = (&call.admin, call.admin.limiter.in_force());
    let policy = in_force.policy();
    if let Some(rule) = rule.filter(|rule| !policy.rules().iter().any(|own| own.name() == *rule)) {
        return Err(Problem::not_found(
            "unknown-rule",
            format!("The policy has no rule `{}`.", rule.escape_debug()),
        ));
    }
    let seen = admin.nearest.seen(rule, admin.limiter.now(), most.saturating_mul(SPARE));
    let mut keys = Vec::new();
    for seen in seen {
        // A rule that is gone, or that counts by something else now, has nothing to show.
        let Ok(named) = name::find(policy, &seen.rule, &seen.key.said_parts(), None) else { continue };
        let Some(counter) = named.counters.iter().find(|counter| counter.item.key == seen.key) else {
            continue;
        };
        let (_, shown) = state::counter(admin, &in_force, named.rule, counter).await?;
        if shown.used > 0 {
            let key = ShownKey::of(&seen.rule, &named.key);
            keys.push(Near { key, counter: shown, seen_us: seen.at.as_micros() });
        }
    }
    keys.sort_by_key(|near| (near.counter.left(), std::cmp::Reverse(near.seen_us)));
    keys.truncate(most);
    Reply::json(&List { keys })
}
