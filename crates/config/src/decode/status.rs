//! The status endpoint.

use cupo_core::{Limit, normalise};

use super::gateway::own_path;
use super::limit;
use super::value::{Map, Value};
use crate::problem::Problem;
use crate::source::{GatewaySource, OwnPath};
use crate::tree::Content;

/// What the file says about it.
#[derive(Debug, Default)]
pub(super) struct Status {
    pub(super) path: Option<OwnPath>,
    pub(super) limit: Option<Limit>,
}

pub(super) fn status(value: &Value<'_>) -> Option<Status> {
    if let Content::Text { .. } = value.content() {
        return Some(Status { path: Some(own_path(value)?), limit: None });
    }
    let map = value.map(&["path", "limit"])?;
    let path = map.or("path", None, |value| own_path(value).map(Some));
    let limit = map.or("limit", None, |value| limit::limit(value).map(Some));
    Some(Status { path: path?, limit: limit? })
}

/// The gateway's own endpoints have a path each, in whatever spelling.
pub(super) fn apart(root: &Map<'_>, gateway: &GatewaySource) {
    let path = |said: &Option<OwnPath>, default: &str| match said {
        None => Some(normalise(default).into_owned()),
        Some(OwnPath::At(path)) => Some(normalise(path).into_owned()),
        Some(OwnPath::Nowhere) => None,
    };
    let health = path(&gateway.health_path, "/.cupo/health");
    let same =
        health.filter(|health| path(&gateway.status_path, "/rate-limit-status").as_ref() == Some(health));
    let value = root.get("status").map(|status| status.field("path").unwrap_or(status));
    if let (Some(path), Some(value)) = (same, value.or_else(|| root.get("health_path"))) {
        value.fault::<()>(Problem::OwnPathTwice(path.into()));
    }
}
