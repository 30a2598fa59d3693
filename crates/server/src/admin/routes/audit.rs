//! What was changed.

use serde_json::json;

use crate::admin::problem::Problem;
use crate::admin::router::{Call, Reply};

const DEFAULT: usize = 50;
const MOST: usize = 256;

/// The last changes of this node, newest first.
pub(super) async fn audit(call: Call) -> Result<Reply, Problem> {
    call.only(&["n"])?;
    let most = call.count("n", DEFAULT, MOST)?;
    Reply::json(&json!({ "changes": call.admin.audit.last(most) }))
}
