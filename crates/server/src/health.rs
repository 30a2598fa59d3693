//! The health endpoint: is this server taking requests, and can its store decide?

use core::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

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

/// Which policy is in force, and whether another one was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyReport {
    /// A short name of it.
    pub revision: Box<str>,
    /// Since when it is in force.
    pub in_force_since: String,
    /// Whether it was put in force again in place of what the policy file says.
    #[serde(skip_serializing_if = "is_false")]
    pub rollback: bool,
    /// Why what the policy file says now is not in force, in one line; `None` where nothing is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Box<str>>,
    /// The settings of the policy file that a restart would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for_restart: Vec<&'static str>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Whom the health endpoint asks which policy is in force.
#[derive(Clone)]
pub struct PolicyReporter(Arc<dyn Fn() -> PolicyReport + Send + Sync>);

impl PolicyReporter {
    /// Asks `report` whenever somebody asks the health endpoint.
    pub fn new(report: impl Fn() -> PolicyReport + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }
}

impl fmt::Debug for PolicyReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicyReporter")
    }
}

/// 200 `{"status":"ok"}`, or 503 `{"status":"draining"}`, with the state of the store and of the policy where there is somebody to
/// ask. A store that cannot decide does not make the server unhealthy: requests are served as each rule says, and another node has
/// the same store. Nor does a policy file that is wrong: the policy before it is in force.
pub(crate) fn respond(
    draining: bool,
    store: Option<&StoreReporter>,
    policy: Option<&PolicyReporter>,
) -> Response<Bytes> {
    let (status, word) =
        if draining { (StatusCode::SERVICE_UNAVAILABLE, "draining") } else { (StatusCode::OK, "ok") };
    let store = store.map_or_else(String::new, |reporter| of_store((reporter.0)()));
    let policy = policy.and_then(|reporter| serde_json::to_string(&(reporter.0)()).ok());
    let policy = policy.map_or_else(String::new, |report| format!(",\"policy\":{report}"));
    let mut response = Response::new(format!("{{\"status\":\"{word}\"{store}{policy}}}").into());
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
    use super::{PolicyReport, PolicyReporter, StoreReport, StoreReporter, respond};

    #[test]
    fn what_is_said() {
        let body = |draining, report: Option<StoreReport>| {
            let reporter = report.map(|report| StoreReporter::new(move || report));
            let response = respond(draining, reporter.as_ref(), None);
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

    #[test]
    fn what_is_said_of_the_policy() {
        let mut report = PolicyReport {
            revision: "0123456789ab".into(),
            in_force_since: "2026-11-29T21:00:00Z".to_owned(),
            rollback: false,
            last_error: None,
            waiting_for_restart: Vec::new(),
        };
        let body = |report: &PolicyReport| {
            let report = report.clone();
            let response = respond(false, None, Some(&PolicyReporter::new(move || report.clone())));
            String::from_utf8(response.into_body().to_vec()).unwrap()
        };
        let well =
            r#"{"status":"ok","policy":{"revision":"0123456789ab","in_force_since":"2026-11-29T21:00:00Z"}}"#;
        assert_eq!(body(&report), well);
        report.rollback = true;
        report.last_error = Some("cupo.yaml:1:1: \"?\"".into());
        report.waiting_for_restart = vec!["listen", "workers"];
        let more = r#","rollback":true,"last_error":"cupo.yaml:1:1: \"?\"","waiting_for_restart":["listen","workers"]}}"#;
        assert_eq!(body(&report), well.replace("}}", more));
    }
}
