//! Access logs as recorded requests.

mod caddy;
mod combined;
mod cupo;
mod detect;
mod flat;
mod head;
mod json;
mod time;

use std::borrow::Cow;

use thiserror::Error;

use super::event::Short;
use super::request::Request;
pub(super) use detect::detect;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Cupo's own events, one JSON object a line.
    Events,
    /// Combined or common, with a virtual host before or more fields behind.
    Combined,
    /// The JSON access log of Caddy 2.
    Caddy,
    /// The JSON access log of Envoy.
    Envoy,
    /// A JSON access log of nginx (`escape=json`), or of others by the same names.
    NginxJson,
    /// The access log of `cupo serve`.
    Cupo,
}

impl Format {
    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Combined => "combined",
            Self::Caddy => "caddy",
            Self::Envoy => "envoy",
            Self::NginxJson => "nginx-json",
            Self::Cupo => "cupo",
        }
    }
}

/// Why a line of a log is no request.
#[derive(Debug)]
pub(super) enum Skip {
    /// The line is well, but what was logged is no HTTP request: a client that said nothing, or spoke another protocol.
    NoRequest,
    Unreadable(Unreadable),
}

/// Why a line cannot be read.
#[derive(Debug, Error)]
pub(crate) enum Unreadable {
    #[error("it is longer than 1 MiB")]
    TooLong,
    #[error("it is no JSON object")]
    NoObject,
    #[error("{0}")]
    Json(serde_json::Error),
    #[error("it has no {0}")]
    Lacks(&'static str),
    #[error("`{}` is not an IP address", Short(.0))]
    Address(Box<str>),
    #[error("`{}` is not a time", Short(.0))]
    Time(Box<str>),
}

impl From<Unreadable> for Skip {
    fn from(reason: Unreadable) -> Self {
        Self::Unreadable(reason)
    }
}

/// Reads lines of one format.
pub(super) struct Parser {
    format: Format,
    times: time::Times,
}

impl Parser {
    pub(super) fn new(format: Format) -> Self {
        Self { format, times: time::Times::default() }
    }

    pub(super) fn parse(&mut self, line: &[u8]) -> Result<Request<'static>, Skip> {
        if self.format == Format::Combined {
            return combined::parse(line, &mut self.times);
        }
        let text: Cow<'_, str> = String::from_utf8_lossy(line);
        if !text.trim_start().starts_with('{') {
            return Err(Unreadable::NoObject.into());
        }
        match self.format {
            Format::Caddy => caddy::parse(&text, &mut self.times),
            Format::Cupo => cupo::parse(&text),
            _ => flat::parse(&text, &mut self.times),
        }
    }
}
