//! The head of a request, as far as a log tells it.

use std::net::{IpAddr, SocketAddr};

use cupo_core::Timestamp;
use http::header::{COOKIE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Uri};

use super::{Skip, Unreadable};
use crate::replay::pairs::Pairs;
use crate::replay::request::Request;

/// An address as logs write it: alone, with a port, in brackets, with a zone. `None` of a Unix socket, or where nothing is said.
pub(super) fn address(text: &str) -> Result<Option<IpAddr>, Unreadable> {
    if matches!(text, "" | "-") || text.starts_with("unix:") {
        return Ok(None);
    }
    let plain = |text: &str| text.split('%').next().unwrap_or_default().parse::<IpAddr>().ok();
    let within = || text.strip_prefix('[')?.split(']').next();
    plain(text)
        .or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
        .or_else(|| plain(within()?))
        .map(Some)
        .ok_or_else(|| Unreadable::Address(text.into()))
}

/// The instant, which has to be in the range of instants.
pub(super) fn instant(micros: u64) -> Result<Timestamp, Unreadable> {
    let at = Timestamp::from_micros(micros);
    if at.as_micros() == micros { Ok(at) } else { Err(Unreadable::Time(micros.to_string().into())) }
}

/// The status of a response; `None` where the log tells none, as of a client that hung up.
pub(super) fn status(text: &str) -> Option<u16> {
    text.parse().ok().filter(|status| (100..=599).contains(status))
}

/// `GET /path HTTP/1.1` in two.
pub(super) fn request_line(line: &[u8]) -> Result<(Method, Uri), Skip> {
    let line = line.trim_ascii();
    let (method, rest) = line
        .iter()
        .position(|&b| b == b' ')
        .and_then(|at| line.split_at_checked(at))
        .ok_or(Skip::NoRequest)?;
    let rest = rest.trim_ascii_start();
    let target = match rest.iter().rposition(|&b| b == b' ').and_then(|at| rest.split_at_checked(at)) {
        Some((target, protocol)) if protocol.starts_with(b" HTTP/") => target,
        _ => rest,
    };
    head(method, target)
}

/// A method and a target that a server would take.
pub(super) fn head(method: &[u8], target: &[u8]) -> Result<(Method, Uri), Skip> {
    let method = Method::from_bytes(method).map_err(|_| Skip::NoRequest)?;
    let uri = Uri::try_from(target).map_err(|_| Skip::NoRequest)?;
    Ok((method, uri))
}

/// Headers in the making.
#[derive(Default)]
pub(super) struct Headers(HeaderMap);

impl Headers {
    /// Adds a line. A name or a value that no header carries is left out, as is what the log has no value of.
    pub(super) fn add(&mut self, name: &str, value: &[u8]) {
        if matches!(value, b"" | b"-") {
            return;
        }
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_bytes(value)) {
            self.0.append(name, value);
        }
    }

    /// Adds a line unless there is one of that name: a log may tell the same by two names.
    pub(super) fn set(&mut self, name: &str, value: &[u8]) {
        if !self.0.contains_key(name) {
            self.add(name, value);
        }
    }

    /// Adds a cookie to those that there are.
    pub(super) fn add_cookie(&mut self, name: &str, value: &str) {
        let others = self.0.get(COOKIE).and_then(|others| others.to_str().ok());
        let line =
            others.map_or_else(|| format!("{name}={value}"), |others| format!("{others}; {name}={value}"));
        if let Ok(line) = HeaderValue::from_str(&line) {
            self.0.insert(COOKIE, line);
        }
    }

    pub(super) fn request(
        self,
        at: Timestamp,
        peer: Option<IpAddr>,
        (method, uri): (Method, Uri),
        status: Option<u16>,
    ) -> Request<'static> {
        Request { at, peer, method, uri, headers: self.0, descriptors: Pairs::default(), cost: 1, status }
    }
}
