//! Frozen decision traces: what each algorithm decided, step by step, in `vectors/<algorithm>.json`.
//!
//! They are replayed by every implementation, in whatever language. Decisions are those of the reference model; the
//! states are those of the algorithm, and equal to what sums the model's history up. All numbers are integers below 2^53,
//! all instants and spans are ticks.

mod json;
mod tour;

use std::path::PathBuf;

use cupo_core::{Algorithm, Decision, Params, State};

pub use tour::traces;

/// One limit on one key, and what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// What is tried.
    pub name: String,
    /// The numbers of the limit, in ticks.
    pub params: Params,
    /// The requests in order; before the first, nothing was ever admitted.
    pub steps: Vec<Recorded>,
}

/// One request, and what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The tick that the caller's clock shows, which may run backwards.
    pub now: u64,
    /// The units asked for.
    pub cost: u64,
    /// The answer.
    pub decision: Decision<u64>,
    /// The whole state afterwards; `None` while nothing was admitted.
    pub state: Option<State>,
}

/// The file that holds the traces of `algorithm`.
#[must_use]
pub fn path(algorithm: Algorithm) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors")).join(format!("{algorithm}.json"))
}

/// The frozen traces of `algorithm`.
///
/// # Panics
/// Where the file is missing or says something else.
#[must_use]
pub fn frozen(algorithm: Algorithm) -> Vec<Trace> {
    let path = path(algorithm);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    json::read(algorithm, &text)
}

/// The text of the file that holds `traces` of `algorithm`, one step a line.
#[must_use]
pub fn text(algorithm: Algorithm, traces: &[Trace]) -> String {
    json::write(algorithm, traces)
}

/// Freezes what the algorithms decide now.
///
/// # Panics
/// Where the file cannot be written.
pub fn freeze(algorithm: Algorithm) {
    let path = path(algorithm);
    std::fs::write(&path, text(algorithm, &traces(algorithm)))
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
