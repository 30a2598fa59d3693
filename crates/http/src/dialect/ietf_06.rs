//! The triple of draft-ietf-httpapi-ratelimit-headers-06: `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset`.

use http::header::{HeaderMap, HeaderName};

use super::names::{FieldNames, ResetAs};
use super::{Values, ietf_11};

pub(super) static NAMES: FieldNames = FieldNames {
    limit: Some(HeaderName::from_static("ratelimit-limit")),
    remaining: Some(HeaderName::from_static("ratelimit-remaining")),
    reset: Some(HeaderName::from_static("ratelimit-reset")),
    reset_as: ResetAs::Delta,
};

/// Removes the policy that this draft lets a service write beside the three fields, where the three are replaced: it would be of
/// another source than they are. Where `RateLimit` is there too it belongs to that.
pub(crate) fn remove_stale(written: &Values<'_>, headers: &mut HeaderMap) {
    let [policy, lists] = &ietf_11::NAMES;
    let replaced = NAMES.limit.as_ref().is_some_and(|name| written.has(name));
    if replaced && !written.has(policy) && !headers.contains_key(lists) {
        headers.remove(policy);
    }
}
