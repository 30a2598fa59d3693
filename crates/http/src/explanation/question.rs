//! The request that is asked about.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use http::header::{HOST, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Uri};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::whole::deserialize_whole;
use crate::peer::Peer;

/// A request to explain, as JSON has it: `{"method":"POST","path":"/orders?page=2","headers":{"x-api-key":"k"}}`. Nothing but the
/// path has to be said; an unknown field is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The method; `GET` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path, with the query if there is one.
    pub path: String,
    /// The header `Host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The headers by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, HeaderLines>,
    /// The other end of the connection: an address, or `unix`; `127.0.0.1` unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Whether that address is the word of a trusted proxy that sends PROXY headers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relayed: bool,
    /// Bytes of the body.
    #[serde(default, skip_serializing_if = "is_none", deserialize_with = "deserialize_whole")]
    pub body_bytes: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

/// A header's value, or the values of its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HeaderLines {
    /// One line.
    One(String),
    /// Several, in order.
    Several(Vec<String>),
}

/// Why a question is about no request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BadQuestion {
    /// The method is no token.
    #[error("`{0}` is no method; write one such as GET")]
    Method(Box<str>),
    /// The path does not begin with a slash, or has signs that no path has.
    #[error("`{0}` is no path; write one from the root, percent-encoded, such as /orders/7?page=2")]
    Path(Box<str>),
    /// The name is none of a header.
    #[error("`{0}` is no header name")]
    HeaderName(Box<str>),
    /// The value has signs that no header has. It is not repeated: it may be a secret.
    #[error("the value of the header {0} has signs that no header carries")]
    HeaderValue(Box<str>),
    /// The host is said twice.
    #[error("the host is said twice, by itself and as a header; once is enough")]
    HostTwice,
    /// The peer is no address.
    #[error("`{0}` is no peer; write an address such as 203.0.113.9, or unix")]
    Peer(Box<str>),
}

impl Question {
    /// A `GET` of this path.
    #[must_use]
    pub fn about(path: &str) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    /// Adds a line of a header.
    pub fn add_header(&mut self, name: &str, value: &str) {
        let value = value.to_owned();
        match self.headers.get_mut(name) {
            None => {
                self.headers.insert(name.to_owned(), HeaderLines::One(value));
            }
            Some(HeaderLines::Several(lines)) => lines.push(value),
            Some(lines) => {
                let first = core::mem::replace(lines, HeaderLines::Several(Vec::new()));
                if let (HeaderLines::One(first), HeaderLines::Several(lines)) = (first, lines) {
                    *lines = vec![first, value];
                }
            }
        }
    }

    /// The head of the request.
    ///
    /// # Errors
    /// [`BadQuestion`] where there can be no such request.
    pub fn head(&self) -> Result<Parts, BadQuestion> {
        let method = self.method.as_deref().unwrap_or("GET");
        let bad_method = |_| BadQuestion::Method(method.into());
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = Method::from_bytes(method.as_bytes()).map_err(bad_method)?;
        let bad_path = || BadQuestion::Path(self.path.as_str().into());
        head.uri = Uri::try_from(self.path.as_str()).map_err(|_| bad_path())?;
        if !head.uri.path().starts_with('/') {
            return Err(bad_path());
        }
        for (name, lines) in &self.headers {
            let known = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| BadQuestion::HeaderName(name.as_str().into()))?;
            let lines = match lines {
                HeaderLines::One(one) => core::slice::from_ref(one),
                HeaderLines::Several(several) => several.as_slice(),
            };
            for line in lines {
                head.headers.append(known.clone(), value(name, line)?);
            }
        }
        if let Some(host) = &self.host
            && head.headers.insert(HOST, value("host", host)?).is_some()
        {
            return Err(BadQuestion::HostTwice);
        }
        Ok(head)
    }

    /// The other end of the connection.
    ///
    /// # Errors
    /// [`BadQuestion::Peer`] where it is no address.
    pub fn peer(&self) -> Result<Peer, BadQuestion> {
        let address = match self.peer.as_deref() {
            None => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some("unix") => return Ok(Peer::Unix),
            Some(text) => {
                let plain = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
                plain.parse().map_err(|_| BadQuestion::Peer(text.into()))?
            }
        };
        Ok(if self.relayed { Peer::Relayed(address) } else { Peer::Address(address) })
    }
}

fn value(name: &str, line: &str) -> Result<HeaderValue, BadQuestion> {
    HeaderValue::from_str(line.trim_ascii()).map_err(|_| BadQuestion::HeaderValue(name.into()))
}
