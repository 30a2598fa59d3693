//! JSON access logs without a fixed form: an object of texts and numbers, by the names that nginx has for its variables and
//! that Envoy's usual formats have.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::head::{Headers, address, head, instant, request_line, status};
use super::json::{scalar, walk};
use super::time::{Times, scaled};
use super::{Skip, Unreadable};
use crate::replay::request::Request;

/// What the log says of a request; of several names for one thing the better one.
#[derive(Default)]
struct Found<'a> {
    start: Option<Cow<'a, str>>,
    end: Best<'a>,
    took: Option<Cow<'a, str>>,
    peer: Best<'a>,
    line: Option<Cow<'a, str>>,
    method: Best<'a>,
    target: Best<'a>,
    query: Option<Cow<'a, str>>,
    status: Option<u16>,
    headers: Headers,
}

/// A value, and how good its name is: the lower, the better.
type Best<'a> = Option<(u8, Cow<'a, str>)>;

fn better<'a>(best: &mut Best<'a>, rank: u8, value: Cow<'a, str>) {
    if best.as_ref().is_none_or(|(other, _)| rank < *other) {
        *best = Some((rank, value));
    }
}

impl<'a> Found<'a> {
    fn field(&mut self, name: &str, value: &'a RawValue) {
        let Some(value) = scalar(value) else { return };
        let plain: Cow<'_, str> = if name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
            name.into()
        } else {
            name.trim_start_matches(':').to_ascii_lowercase().replace('-', "_").into()
        };
        match &*plain {
            "start_time" => self.start = Some(value),
            "msec" => better(&mut self.end, 0, value),
            "time_iso8601" => better(&mut self.end, 1, value),
            "time_local" => better(&mut self.end, 2, value),
            "@timestamp" => better(&mut self.end, 3, value),
            "timestamp" => better(&mut self.end, 4, value),
            "time" => better(&mut self.end, 5, value),
            "request_time" => self.took = Some(value),
            "realip_remote_addr" | "downstream_direct_remote_address" => better(&mut self.peer, 0, value),
            "remote_addr" | "downstream_remote_address" => better(&mut self.peer, 1, value),
            "request" => self.line = Some(value),
            "request_method" => better(&mut self.method, 0, value),
            "method" => better(&mut self.method, 1, value),
            "x_envoy_original_path" => better(&mut self.target, 0, value),
            "request_uri" => better(&mut self.target, 1, value),
            "path" => better(&mut self.target, 2, value),
            "uri" => better(&mut self.target, 3, value),
            "args" | "query_string" => self.query = Some(value),
            "status" | "response_code" => self.status = status(&value),
            "host" | "authority" => self.headers.set("host", value.as_bytes()),
            "user_agent" => self.headers.set("user-agent", value.as_bytes()),
            "x_forwarded_for" => self.headers.set("x-forwarded-for", value.as_bytes()),
            other => {
                if let Some(header) = other.strip_prefix("http_") {
                    self.headers.set(&header.replace('_', "-"), value.as_bytes());
                } else if let Some(cookie) = name.strip_prefix("cookie_") {
                    self.headers.add_cookie(cookie, &value);
                }
            }
        }
    }

    /// When the request came. A log is written when it has been answered.
    fn at(&self, times: &mut Times) -> Result<u64, Unreadable> {
        let (text, took) = match (&self.start, &self.end) {
            (Some(start), _) => (start, 0),
            (None, Some((_, end))) => (end, self.took.as_ref().and_then(|took| scaled(took, 6)).unwrap_or(0)),
            (None, None) => return Err(Unreadable::Lacks("time")),
        };
        let at = times.read(text.as_bytes()).ok_or_else(|| Unreadable::Time((&**text).into()))?;
        Ok(at.saturating_sub(took))
    }
}

pub(super) fn parse(text: &str, times: &mut Times) -> Result<Request<'static>, Skip> {
    let mut found = Found::default();
    walk(text, |name, value| found.field(name, value))?;
    let at = instant(found.at(times)?)?;
    let peer = found.peer.as_ref().map_or(Ok(None), |(_, text)| address(text))?;
    let head = match (&found.method, &found.target, &found.line) {
        (Some((_, method)), Some((_, target)), _) => match &found.query {
            Some(query) if !target.contains('?') => {
                head(method.as_bytes(), format!("{target}?{query}").as_bytes())
            }
            _ => head(method.as_bytes(), target.as_bytes()),
        },
        (_, _, Some(line)) => request_line(line.as_bytes()),
        _ => Err(Skip::NoRequest),
    }?;
    Ok(found.headers.request(at, peer, head, found.status))
}
