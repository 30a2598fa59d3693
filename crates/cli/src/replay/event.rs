//! One recorded request.

use std::fmt;
use std::net::IpAddr;

use cupo_core::{StoreError, Timestamp};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde::Deserialize;
use thiserror::Error;

use super::pairs::{Pairs, Text};
use super::request::Request;

/// Why a line is no event.
#[derive(Debug, Error)]
pub(crate) enum EventError {
    #[error("a line is longer than 1 MiB")]
    TooLong,
    #[error("this is no JSON object; see `cupo replay --help` for the form of an event")]
    NoObject,
    #[error("{}; see `cupo replay --help` for the form of an event", Placed(.0))]
    Json(#[from] serde_json::Error),
    #[error("`t_us` is {0}, after the year 2112; it counts microseconds since the Unix epoch")]
    Time(u64),
    #[error("`{}` is not a method", Short(.0))]
    Method(String),
    #[error("`{}` is not a path; it begins with `/` and has no blanks", Short(.0))]
    Path(String),
    #[error("`{}` is not a header name", Short(.0))]
    HeaderName(String),
    #[error("the value of the header `{}` has characters that no header carries", Short(.0))]
    HeaderValue(String),
    #[error("{0}")]
    Store(StoreError),
}

/// An error of JSON by its column; of lines it knows only its own.
struct Placed<'a>(&'a serde_json::Error);

impl fmt::Display for Placed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, column) = (self.0.to_string(), self.0.column());
        let place = format!(" at line {} column {column}", self.0.line());
        write!(f, "column {column}: {}", whole.strip_suffix(&place).unwrap_or(&whole))
    }
}

/// The beginning of a text, which may be as long as a line.
pub(super) struct Short<'a>(pub(super) &'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 80;
        let end = self.0.char_indices().nth(SHOWN).map(|(end, _)| end);
        let shown = end.and_then(|end| self.0.get(..end));
        write!(f, "{}{}", shown.unwrap_or(self.0).escape_debug(), if shown.is_some() { "…" } else { "" })
    }
}

/// One line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event<'a> {
    t_us: u64,
    peer: Option<IpAddr>,
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    path: Option<Text<'a>>,
    #[serde(borrow, default)]
    headers: Pairs<'a, true>,
    #[serde(borrow, default)]
    descriptors: Pairs<'a, false>,
    #[serde(default = "one")]
    cost: u64,
    status: Option<u16>,
}

const fn one() -> u64 {
    1
}

impl<'a> Event<'a> {
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, EventError> {
        if line.trim_ascii_start().first() != Some(&b'{') {
            return Err(EventError::NoObject);
        }
        Ok(serde_json::from_slice(line)?)
    }

    /// The request as the gateway would see it.
    pub(super) fn into_request(self) -> Result<Request<'a>, EventError> {
        let at = Timestamp::from_micros(self.t_us);
        if at.as_micros() != self.t_us {
            return Err(EventError::Time(self.t_us));
        }
        let method = match self.method.as_ref().map(|Text(text)| &**text) {
            None | Some("GET") => Method::GET,
            Some(text) => {
                Method::from_bytes(text.as_bytes()).map_err(|_| EventError::Method(text.to_owned()))?
            }
        };
        let uri = match self.path.as_ref().map(|Text(text)| &**text) {
            None | Some("/") => Uri::default(),
            Some(text) if text.starts_with('/') => {
                text.parse().map_err(|_| EventError::Path(text.to_owned()))?
            }
            Some(text) => return Err(EventError::Path(text.to_owned())),
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers.0 {
            let name: HeaderName =
                name.parse().map_err(|_| EventError::HeaderName(name.clone().into_owned()))?;
            let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) else {
                return Err(EventError::HeaderValue(name.as_str().to_owned()));
            };
            headers.append(name, value);
        }
        let (peer, descriptors, cost, status) = (self.peer, self.descriptors, self.cost, self.status);
        Ok(Request { at, peer, method, uri, headers, descriptors, cost, status })
    }
}
