//! Which format a line is of.

use super::combined;
use super::json::walk;
use super::time::Times;
use super::{Format, Skip};

/// The format of a line that shows it.
pub(in crate::replay) fn detect(line: &[u8]) -> Option<Format> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        let read = combined::parse(line, &mut Times::default());
        return matches!(read, Ok(_) | Err(Skip::NoRequest)).then_some(Format::Combined);
    }
    let text = String::from_utf8_lossy(line);
    let mut names: Vec<Box<str>> = Vec::new();
    let whole = walk(&text, |name, _| names.push(name.to_ascii_lowercase().into()));
    let has = |wanted: &[&str]| names.iter().any(|name| wanted.contains(&&**name));
    if has(&["t_us"]) {
        // An event with a mistake in it: whoever reads events says which.
        Some(Format::Events)
    } else if whole.is_err() {
        None
    } else if has(&["time_us"]) && has(&["peer"]) {
        Some(Format::Cupo)
    } else if has(&["ts"]) && has(&["request"]) {
        Some(Format::Caddy)
    } else if has(&["start_time"]) {
        Some(Format::Envoy)
    } else if has(&["remote_addr", "realip_remote_addr", "request", "request_uri", "uri"])
        && has(&["msec", "time_iso8601", "time_local", "@timestamp", "timestamp", "time"])
    {
        Some(Format::NginxJson)
    } else {
        None
    }
}
