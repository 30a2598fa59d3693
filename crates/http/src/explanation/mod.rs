//! What would become of a request, and why: what is asked, and the answer as plain values, for people and for programs.

mod question;
mod report;
mod text;
mod whole;
mod words;

pub use question::{BadQuestion, HeaderLines, Question};
pub use report::{
    ExplainedAnswer, ExplainedCaller, ExplainedDecision, ExplainedDiagnostic, ExplainedRequest,
    ExplainedRule, ExplainedSettling, ExplainedUnmet,
};
pub use whole::deserialize_whole;
