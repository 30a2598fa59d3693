//! HTTP semantics of the Cupo rate limiter, for both ends of the wire: what a server reads from a request and writes into a
//! response, and what a client reads back. No I/O, no runtime, no clock; but for the memory of `JwtVerifier` (with the cargo
//! feature `jwt`), pure functions.
//!
//! | server | |
//! |---|---|
//! | [`RequestAttributes`] | a request as [`cupo_core::Attributes`] |
//! | [`Identify`] | who a request says it is from: verified [`Claims`] of a token |
//! | [`client_address()`] | who asked, by the word of trusted proxies only |
//! | [`Diagnostic`] | what is doubtful about that |
//! | [`Presentation`] | how callers are answered: rate-limit fields on every response, and whole refusals |
//!
//! | client | |
//! |---|---|
//! | [`Advice`] | everything that a response says about limits, in one plain struct |
//!
//! Seconds, field names and status codes exist only here. Waits round up: a client that obeys has waited long enough. A test
//! ties both ends: whatever the server writes, the client reads back.

#![forbid(unsafe_code)]
#![deny(clippy::arithmetic_side_effects, clippy::indexing_slicing)]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)
)]

mod advice;
mod attributes;
mod client_address;
mod cors;
mod credential;
mod diagnostic;
mod dialect;
mod error;
mod explanation;
mod identity;
#[cfg(feature = "jwt")]
mod jwt;
mod pairs;
mod peer;
mod presentation;
mod refusal;
mod reserved;
mod response_head;
mod retry_after;
mod seconds;
mod standing;
mod tag;

pub use advice::{Advice, Quota};
pub use attributes::RequestAttributes;
pub use client_address::{client_address, is_trusted};
pub use cors::Cors;
pub use credential::{canonical_credentials, carries_credentials};
pub use diagnostic::{Diagnostic, Diagnostics, is_vouched, strip_unvouched};
pub use dialect::{Dialect, Dialects, FieldNames, ResetAs};
pub use error::PresentationError;
pub use explanation::{
    BadQuestion, ExplainedAnswer, ExplainedCaller, ExplainedDecision, ExplainedDiagnostic, ExplainedRequest,
    ExplainedRule, ExplainedSettling, ExplainedUnmet, HeaderLines, Question, deserialize_whole,
};
pub use identity::{Claims, Identify, Identity};
#[cfg(feature = "jwt")]
pub use jwt::{JwtAlgorithm, JwtError, JwtKeys, JwtSettings, JwtVerifier, MAX_TOKEN_BYTES, TokenError};
pub use peer::Peer;
pub use presentation::{Presentation, PresentationSource, RuleBody, RuleResponse, UpstreamFields};
pub use refusal::{MessageKind, Messages, Template};
pub use reserved::{MEANT_FIELDS, RESERVED_FIELDS};
pub use response_head::ResponseHead;
pub use seconds::{MAX_SECONDS, MAX_UNITS};
pub use standing::standing;
