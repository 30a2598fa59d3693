//! The status endpoint.

use cupo_core::Limit;

use super::gateway::own_path;
use super::limit;
use super::value::Value;
use crate::source::OwnPath;
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
