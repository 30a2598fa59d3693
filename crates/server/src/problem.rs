//! Answers of our own about a request that could not be served, as `application/problem+json` (RFC 9457).

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

/// What is wrong and what to do about it, in words that name nothing inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// The last part of the `type` URI.
    pub(crate) kind: &'static str,
    pub(crate) title: &'static str,
    pub(crate) detail: &'static str,
}

#[derive(Serialize)]
struct Document {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'static str,
}

impl Problem {
    /// The problem as a response, not to be cached.
    pub(crate) fn response(&self) -> Response<Bytes> {
        let document = Document {
            r#type: format!("urn:cupo:problem:{}", self.kind),
            title: self.title,
            status: self.status.as_u16(),
            detail: self.detail,
        };
        // Strings and a number always serialise; an empty body would still carry the status.
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}
