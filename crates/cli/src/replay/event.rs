//! One recorded request.

use std::borrow::Cow;
use std::net::IpAddr;

use cupo_core::{Attributes, StoreError, Trust};
use cupo_http::RequestAttributes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use thiserror::Error;

/// Why a line is no event.
#[derive(Debug, Error)]
pub(crate) enum EventError {
    #[error("a line is longer than 1 MiB")]
    TooLong,
    #[error("{0}; see `cupo replay --help` for the form of an event")]
    Json(#[from] serde_json::Error),
    #[error("`{0}` is not a method")]
    Method(String),
    #[error("`{0}` is not a path; it begins with `/` and has no blanks")]
    Path(String),
    #[error("`{0}` is not a header name")]
    HeaderName(String),
    #[error("the value of the header `{0}` has characters that no header carries")]
    HeaderValue(String),
    #[error("{0}")]
    Store(StoreError),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event<'a> {
    pub(super) t_us: u64,
    peer: Option<IpAddr>,
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    path: Option<Text<'a>>,
    #[serde(borrow, default)]
    headers: Pairs<'a>,
    #[serde(borrow, default)]
    descriptors: Pairs<'a>,
    #[serde(default = "one")]
    cost: u64,
}

const fn one() -> u64 {
    1
}

/// The entries of a JSON object, in order. A value is a string or a list of strings.
#[derive(Debug, Default)]
struct Pairs<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of names and texts")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut pairs = Vec::new();
                while let Some((Text(name), values)) = map.next_entry::<Text<'de>, Values<'de>>()? {
                    match values {
                        Values::One(Text(value)) => pairs.push((name, value)),
                        Values::Many(values) => {
                            pairs.extend(values.into_iter().map(|Text(v)| (name.clone(), v)));
                        }
                    }
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// A string that is borrowed from the line where it has no escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Values<'a> {
    One(#[serde(borrow)] Text<'a>),
    Many(#[serde(borrow)] Vec<Text<'a>>),
}

impl<'a> Event<'a> {
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, EventError> {
        Ok(serde_json::from_slice(line)?)
    }

    /// The request as the gateway would see it.
    pub(super) fn request(&self) -> Result<Request<'_>, EventError> {
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
        Ok(Request { event: self, method, uri, headers })
    }
}

pub(super) struct Request<'a> {
    event: &'a Event<'a>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
}

impl Request<'_> {
    pub(super) fn attributes<'a>(&'a self, trust: &'a Trust) -> Recorded<'a> {
        let request =
            RequestAttributes::from_head(&self.method, &self.uri, &self.headers, self.event.peer, trust);
        Recorded { request, event: self.event }
    }
}

/// What the request says, and what the event adds.
pub(super) struct Recorded<'a> {
    request: RequestAttributes<'a>,
    event: &'a Event<'a>,
}

impl Attributes for Recorded<'_> {
    fn client(&self) -> Option<IpAddr> {
        self.request.client()
    }

    fn api_key(&self) -> Option<Cow<'_, [u8]>> {
        self.request.api_key()
    }

    fn user(&self) -> Option<Cow<'_, [u8]>> {
        self.request.user()
    }

    fn method(&self) -> Option<&str> {
        self.request.method()
    }

    fn host(&self) -> Option<&str> {
        self.request.host()
    }

    fn path(&self) -> Option<&str> {
        self.request.path()
    }

    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.header(name)
    }

    fn query(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.query(name)
    }

    fn cookie(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.cookie(name)
    }

    fn descriptor(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let found = self.event.descriptors.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| Cow::Borrowed(value.as_bytes()))
    }

    fn cost(&self) -> u64 {
        self.event.cost
    }
}
