//! Another policy, and those that were before.

use std::sync::Arc;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::admin::control::{Control, NotReloaded, Reloaded};
use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Rollback {
    to: Option<String>,
}

#[derive(Serialize)]
struct Shown {
    before: String,
    after: String,
    waiting: Vec<String>,
}

/// Reads the policy again.
pub(super) async fn reload(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let Nothing {} = call.optional_body()?;
    let who = call.bearer.name.clone();
    change(&call, "reload", Value::Null, move |control| control.reload(&who)).await
}

/// Goes back to a policy that was before.
pub(super) async fn rollback(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let asked: Rollback = call.optional_body()?;
    let (who, target) = (call.bearer.name.clone(), json!({ "to": asked.to }));
    change(&call, "rollback", target, move |control| control.rollback(asked.to.as_deref(), &who)).await
}

async fn change(
    call: &Call,
    what: &'static str,
    target: Value,
    run: impl FnOnce(&dyn Control) -> Result<Reloaded, NotReloaded> + Send + 'static,
) -> Result<Reply, Problem> {
    let control = Arc::clone(&call.admin.control);
    let done = tokio::task::spawn_blocking(move || run(&*control)).await;
    let done = done.map_err(|_| NotReloaded::Impossible("it failed; the log of the gateway says why".into()));
    let Reloaded { before, after, waiting } = done.and_then(|done| done).map_err(|error| problem(&error))?;
    let revision = |id: &str| json!({ "revision": id });
    let at = call.admin.limiter.now();
    call.admin.audit.record(at, &call.bearer.name, what, target, revision(&before), revision(&after));
    Reply::json(&Shown { before, after, waiting })
}

fn problem(error: &NotReloaded) -> Problem {
    let detail = error.to_string();
    match error {
        NotReloaded::Refused(_) => Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "policy-refused",
            "The policy is wrong, and the one before stays in force",
            detail.into(),
        ),
        NotReloaded::Unknown(_) => Problem::not_found("unknown-revision", detail),
        NotReloaded::Impossible(_) => {
            Problem::new(StatusCode::CONFLICT, "not-reloaded", "There is no policy to take", detail.into())
        }
    }
}

#[derive(Serialize)]
struct History {
    revisions: Vec<ShownRevision>,
}

#[derive(Serialize)]
struct ShownRevision {
    id: String,
    since_us: u64,
    by: String,
    rollback: bool,
    rules: usize,
    in_force: bool,
}

/// The policies that are kept.
pub(super) async fn history(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let revisions = call.admin.control.history().into_iter().enumerate();
    let revisions = revisions.map(|(n, revision)| ShownRevision {
        id: revision.id,
        since_us: revision.since.as_micros(),
        by: revision.by,
        rollback: revision.rollback,
        rules: revision.rules,
        in_force: n == 0,
    });
    Reply::json(&History { revisions: revisions.collect() })
}
