//! The access log of `cupo serve`, which tells neither queries nor headers.

use serde::Deserialize;

use super::head::{Headers, address, head, instant};
use super::{Skip, Unreadable};
use crate::replay::pairs::Text;
use crate::replay::request::Request;

#[derive(Deserialize)]
struct Line<'a> {
    time_us: u64,
    #[serde(borrow)]
    peer: Text<'a>,
    #[serde(borrow)]
    method: Text<'a>,
    #[serde(borrow)]
    path: Text<'a>,
    /// None where the client hung up.
    status: Option<u16>,
}

pub(super) fn parse(text: &str) -> Result<Request<'static>, Skip> {
    let line: Line<'_> = serde_json::from_str(text).map_err(Unreadable::Json)?;
    let (Text(peer), Text(method), Text(path)) = (line.peer, line.method, line.path);
    let peer = address(&peer)?;
    let head = head(method.as_bytes(), path.as_bytes())?;
    Ok(Headers::default().request(instant(line.time_us)?, peer, head, line.status))
}
