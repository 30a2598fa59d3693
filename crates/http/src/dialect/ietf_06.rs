//! The triple of draft-ietf-httpapi-ratelimit-headers-06: `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset`.

use http::HeaderMap;
use http::header::HeaderName;

use super::{Dialect, Facts, Values};
use crate::advice::Quota;
use crate::seconds::{self, parse_whole};

static LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
static REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
static RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

pub(super) fn write(facts: &Facts<'_>, values: &mut Values) {
    let decision = &facts.binding.decision;
    values.numeric(&LIMIT, seconds::cap_units(decision.limit));
    values.numeric(&REMAINING, seconds::cap_units(decision.remaining));
    if let Some(reset) = facts.more_after(decision) {
        values.numeric(&RESET, reset);
    }
}

pub(super) fn read(headers: &HeaderMap) -> Option<Quota> {
    // Earlier drafts list the policies behind the limit: `100, 100;w=60`.
    let first = |name| {
        let value: &[u8] = headers.get(name)?.as_bytes();
        let end = value.iter().position(|byte| matches!(byte, b',' | b';')).unwrap_or(value.len());
        parse_whole(value.get(..end)?.trim_ascii())
    };
    let quota = Quota {
        limit: first(&LIMIT).map(seconds::cap_units),
        remaining: first(&REMAINING).map(seconds::cap_units),
        reset_after: first(&RESET).map(seconds::duration),
        ..Quota::of(Dialect::Ietf06)
    };
    quota.says_anything().then_some(quota)
}
