//! What is wrong with a request, as `application/problem+json` (RFC 9457).

use std::borrow::Cow;

use bytes::Bytes;
use cupo_core::{NameError, StoreError};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

/// What is wrong and what to do about it.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// The last part of the `type` URI.
    pub(crate) kind: &'static str,
    pub(crate) title: &'static str,
    pub(crate) detail: Cow<'static, str>,
    /// The methods that the path knows, where another was used.
    pub(crate) allow: Option<HeaderValue>,
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
}

impl Problem {
    pub(crate) const fn new(
        status: StatusCode,
        kind: &'static str,
        title: &'static str,
        detail: Cow<'static, str>,
    ) -> Self {
        Self { status, kind, title, detail, allow: None }
    }

    /// The request says something that it may not.
    pub(crate) fn bad_request(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "The request is not understood", detail.into())
    }

    /// The request is understood, and makes no sense.
    pub(crate) fn senseless(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "unprocessable",
            "The request makes no sense here",
            detail.into(),
        )
    }

    pub(crate) fn not_found(kind: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, kind, "There is no such thing", detail.into())
    }

    /// The problem as a response, not to be cached.
    pub(crate) fn response(self) -> Response<Bytes> {
        let document = Document {
            r#type: format!("urn:cupo:problem:{}", self.kind),
            title: self.title,
            status: self.status.as_u16(),
            detail: &self.detail,
        };
        // Strings and a number always serialise; an empty body would still carry the status.
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(allow) = self.allow {
            headers.insert(http::header::ALLOW, allow);
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let detail = format!("{error} ({})", error.name());
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store-unavailable",
            "The store did not do its part",
            detail.into(),
        )
    }
}

impl From<NameError> for Problem {
    fn from(error: NameError) -> Self {
        let detail = error.to_string();
        match error {
            NameError::UnknownRule => Self::not_found("unknown-rule", detail),
            NameError::UnknownTier { .. } => Self::not_found("unknown-tier", detail),
            _ => Self::senseless(detail),
        }
    }
}
