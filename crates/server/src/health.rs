//! The health endpoint: is this server taking requests?

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};

/// 200 `{"status":"ok"}`, or 503 `{"status":"draining"}`.
pub(crate) fn respond(draining: bool) -> Response<Bytes> {
    let (status, body) = if draining {
        (StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"draining"}"#)
    } else {
        (StatusCode::OK, r#"{"status":"ok"}"#)
    };
    let mut response = Response::new(Bytes::from_static(body.as_bytes()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
