//! What would become of a request.

use cupo_http::Question;

use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};

/// Explains a request, which takes nothing.
pub(super) async fn explain(call: Call) -> Result<Reply, Problem> {
    call.only(&[])?;
    let question: Question = call.body()?;
    let explained = call.admin.limiter.explain(&question).await;
    let explained =
        explained.map_err(|error| Problem::senseless(format!("There can be no such request: {error}")))?;
    Reply::json(&explained)
}
