//! `Retry-After` (RFC 9110, section 10.2.3): how long to wait, in seconds or until a date.

use core::time::Duration;
use std::time::UNIX_EPOCH;

use cupo_core::Timestamp;
use http::HeaderMap;
use http::header::RETRY_AFTER;

use crate::seconds::{self, parse_whole};

/// The wait as it is written: whole seconds, rounded up, at least 1, since 0 would invite the caller back at once; and `jitter`
/// seconds more.
pub(crate) fn whole(wait: Duration, jitter: u64) -> u64 {
    seconds::ceil(wait).max(1).saturating_add(jitter).min(seconds::MAX_SECONDS)
}

/// Reads both forms; a date that has passed is no wait.
pub(crate) fn read(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.as_bytes().trim_ascii();
    if let Some(number) = parse_whole(text) {
        return Some(seconds::duration(number));
    }
    let date = httpdate::parse_http_date(core::str::from_utf8(text).ok()?).ok()?;
    let since_epoch = date.duration_since(UNIX_EPOCH).unwrap_or_default();
    let wait = Timestamp::EPOCH.after(since_epoch).since(now);
    Some(wait.min(Duration::from_secs(seconds::MAX_SECONDS)))
}
