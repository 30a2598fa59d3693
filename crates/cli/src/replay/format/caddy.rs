//! The JSON access log of Caddy 2.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::head::{Headers, address, head, instant, status};
use super::json::scalar;
use super::time::{Times, scaled};
use super::{Skip, Unreadable};
use crate::replay::pairs::{Pairs, Text};
use crate::replay::request::Request;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    ts: Option<&'a RawValue>,
    #[serde(borrow)]
    duration: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    request: Option<Asked<'a>>,
}

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    remote_ip: Option<Text<'a>>,
    #[serde(borrow)]
    remote_addr: Option<Text<'a>>,
    #[serde(borrow)]
    client_ip: Option<Text<'a>>,
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    host: Option<Text<'a>>,
    #[serde(borrow)]
    uri: Option<Text<'a>>,
    #[serde(borrow, default)]
    headers: Pairs<'a, true>,
}

pub(super) fn parse(text: &str, times: &mut Times) -> Result<Request<'static>, Skip> {
    let line: Line<'_> = serde_json::from_str(text).map_err(Unreadable::Json)?;
    // Other messages of Caddy may stand in the same file.
    let asked = line.request.ok_or(Skip::NoRequest)?;
    let ts = line.ts.and_then(scalar).ok_or(Unreadable::Lacks("`ts`"))?;
    let end = times.read(ts.as_bytes()).ok_or_else(|| Unreadable::Time((&*ts).into()))?;
    let took = line.duration.and_then(scalar).and_then(|took| scaled(&took, 6)).unwrap_or(0);
    let at = instant(end.saturating_sub(took))?;
    let plain = |text: &Option<Text<'_>>| text.as_ref().map(|Text(text)| text.clone().into_owned());
    let peer = [&asked.remote_ip, &asked.remote_addr, &asked.client_ip].into_iter().find_map(plain);
    let peer = peer.map_or(Ok(None), |text| address(&text))?;
    let (Some(Text(method)), Some(Text(target))) = (&asked.method, &asked.uri) else {
        return Err(Skip::NoRequest);
    };
    let head = head(method.as_bytes(), target.as_bytes())?;
    let mut headers = Headers::default();
    if let Some(Text(host)) = &asked.host {
        headers.add("host", host.as_bytes());
    }
    for (name, value) in &asked.headers.0 {
        // Caddy hides what is secret unless it is told not to.
        if value != "REDACTED" && !name.eq_ignore_ascii_case("host") {
            headers.add(name, value.as_bytes());
        }
    }
    let status = line.status.and_then(scalar).and_then(|text| status(&text));
    Ok(headers.request(at, peer, head, status))
}
