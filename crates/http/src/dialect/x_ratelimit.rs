//! `X-RateLimit-*`: older than any draft, and what most clients look for.

use http::header::HeaderName;

use super::names::{FieldNames, ResetAs};

pub(super) static NAMES: FieldNames = FieldNames {
    limit: Some(HeaderName::from_static("x-ratelimit-limit")),
    remaining: Some(HeaderName::from_static("x-ratelimit-remaining")),
    reset: Some(HeaderName::from_static("x-ratelimit-reset")),
    reset_as: ResetAs::Epoch,
};
