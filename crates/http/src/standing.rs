//! The status endpoint: what applies to a caller, and how much of it is left.

use bytes::Bytes;
use cupo_core::{DisplayDuration, Place, Standing};
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use serde::Serialize;

use crate::seconds;

#[derive(Serialize)]
struct Body<'a> {
    limits: Vec<Line<'a>>,
    /// Whether nothing is counted for this caller.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unlimited: bool,
    /// Whether there are more than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    scope: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    limit: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reset: Option<u64>,
    window: String,
}

/// The answer of the status endpoint to the caller who stands so: 200 and JSON.
///
/// `limits` has an entry for every rule that could apply: its `name`, the `scope` that it counts by, the `endpoint` where it counts
/// some endpoints only or each by itself, `limit` and `remaining` in units, `reset` in Unix seconds and the `window` as in `1h`. Where each
/// endpoint has a counter of its own and none was asked for there is no balance.
#[must_use]
pub fn standing(standing: &Standing) -> Response<Bytes> {
    let body = Body {
        limits: standing.places().map(|place| line(&place)).collect(),
        unlimited: standing.settled().is_some(),
        truncated: standing.is_truncated(),
    };
    // Plain values are always representable.
    let mut response = Response::new(serde_json::to_vec(&body).unwrap_or_default().into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn line<'a>(place: &Place<'a>) -> Line<'a> {
    let scope = place.rule.key().to_string();
    let decision = place.decision;
    let units = |limit: u64| seconds::cap_units(limit);
    Line {
        name: place.rule.name(),
        scope: scope.trim_matches(['[', ']']).to_owned(),
        endpoint: place.endpoint.map(ToString::to_string),
        limit: units(decision.map_or_else(|| place.limit.quota(), |d| d.limit)),
        remaining: decision.map(|d| units(d.remaining)),
        reset: decision.map(|d| place.at.after(d.reset_after).as_secs_ceil()),
        window: DisplayDuration(place.limit.window_at(place.at)).to_string(),
    }
}
