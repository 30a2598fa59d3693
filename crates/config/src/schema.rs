//! JSON Schemas (draft 2020-12) of the files, for editors.
//!
//! They are written by hand, with what an editor shows beside a field. That they say what the decoder does is a law of the
//! tests: fields, words and ranges are compared with what the decoder's errors name.

/// The schema of the policy file.
pub const POLICY_SCHEMA: &str = include_str!("../schema/policy.json");

/// The schema of the file of callers.
pub const CALLERS_SCHEMA: &str = include_str!("../schema/callers.json");

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod drift_tests;
#[cfg(test)]
mod support;
