//! The health endpoint: is this server taking requests, and can its store decide?

use core::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};

/// How a store that is shared between nodes does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreReport {
    /// Whether the last that is known of it is a failure.
    pub degraded: bool,
    /// Checks that it could not decide, since the start.
    pub failures: u64,
    /// Why it could not decide the last of them: a short name such as `timeout`.
    pub last_error: Option<&'static str>,
}

/// Whom the health endpoint asks how the store does.
#[derive(Clone)]
pub struct StoreReporter(Arc<dyn Fn() -> StoreReport + Send + Sync>);

impl StoreReporter {
    /// Asks `report` whenever somebody asks the health endpoint.
    pub fn new(report: impl Fn() -> StoreReport + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }
}

impl fmt::Debug for StoreReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreReporter")
    }
}

/// 200 `{"status":"ok"}`, or 503 `{"status":"draining"}`, with the state of the store where there is somebody to ask. A store that
/// cannot decide does not make the server unhealthy: requests are served as each rule says, and another node has the same store.
pub(crate) fn respond(draining: bool, reporter: Option<&StoreReporter>) -> Response<Bytes> {
    let (status, word) =
        if draining { (StatusCode::SERVICE_UNAVAILABLE, "draining") } else { (StatusCode::OK, "ok") };
    let store = reporter.map_or_else(String::new, |reporter| of_store((reporter.0)()));
    let mut response = Response::new(format!("{{\"status\":\"{word}\"{store}}}").into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn of_store(report: StoreReport) -> String {
    let state = if report.degraded { "degraded" } else { "ok" };
    let last = report.last_error.map_or_else(String::new, |name| format!(",\"last_error\":\"{name}\""));
    format!(",\"store\":{{\"state\":\"{state}\",\"failures\":{}{last}}}", report.failures)
}

#[cfg(test)]
mod tests {
    use super::{StoreReport, StoreReporter, respond};

    #[test]
    fn what_is_said() {
        let body = |draining, report: Option<StoreReport>| {
            let reporter = report.map(|report| StoreReporter::new(move || report));
            let response = respond(draining, reporter.as_ref());
            (response.status().as_u16(), String::from_utf8(response.into_body().to_vec()).unwrap())
        };
        assert_eq!(body(false, None), (200, r#"{"status":"ok"}"#.to_owned()));
        assert_eq!(body(true, None), (503, r#"{"status":"draining"}"#.to_owned()));
        let mut report = StoreReport { degraded: false, failures: 0, last_error: None };
        let well = r#"{"status":"ok","store":{"state":"ok","failures":0}}"#;
        assert_eq!(body(false, Some(report)), (200, well.to_owned()));
        report = StoreReport { degraded: true, failures: 7, last_error: Some("timeout") };
        let ill = r#"{"status":"draining","store":{"state":"degraded","failures":7,"last_error":"timeout"}}"#;
        assert_eq!(body(true, Some(report)), (503, ill.to_owned()));
    }
}
