//! What was decided, for whoever looks at the response afterwards.

use std::ops::Deref;
use std::sync::Arc;

use cupo_core::Outcome;

/// The outcome of the request, in the extensions of its response: for access logs, tracing, tests. Absent where the store
/// could not decide.
#[derive(Debug, Clone)]
pub struct RequestOutcome(pub(crate) Arc<Outcome>);

impl Deref for RequestOutcome {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        &self.0
    }
}
