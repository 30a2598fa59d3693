//! A request's head on its way to the upstream, as HTTP/1.1 bytes or as HTTP/2 fields.

use cupo_http::Peer;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Uri, Version};

use super::failure::Failure;
use super::forwarded::{Origin, Sink};
use super::headers::{connection_has, hop_by_hop, members, nominated, te_trailers};
use super::host::is_host;
use super::settings::ForwardSettings;
use crate::peer::PeerInfo;

/// How the body of a message is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    Empty,
    /// This many bytes.
    Length(u64),
    /// Chunks.
    Chunked,
    /// Until the connection closes; responses only.
    Close,
}

/// Refuses heads that are not for a gateway, or that could be read in two ways.
pub(super) fn check(parts: &Parts) -> Result<(), Failure> {
    if parts.method == Method::CONNECT {
        return Err(Failure::Connect);
    }
    if !is_target(parts) {
        return Err(Failure::Target);
    }
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    let missing = first.is_none() && parts.uri.authority().is_none() && parts.version != Version::HTTP_10;
    let said = first.map(HeaderValue::as_bytes);
    let authority = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
    if second.is_some() || missing || said.into_iter().chain(authority).any(|host| !is_host(host)) {
        return Err(Failure::Host);
    }
    let mut codings = parts.headers.get_all(header::TRANSFER_ENCODING).iter();
    let chunked = |value: &HeaderValue| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(value), None) if chunked(value) => Ok(()),
        _ => Err(Failure::TransferCoding),
    }
}

/// Whether the target has one of the forms that a gateway is asked with (RFC 9112, section 3.2): a path, a URL, or `*` with `OPTIONS`. What
/// has an authority and no scheme is for `CONNECT`.
fn is_target(parts: &Parts) -> bool {
    let uri = &parts.uri;
    (uri.scheme().is_some() || uri.authority().is_none())
        && (uri.path() != "*" || parts.method == Method::OPTIONS)
}

/// The host that a request is for: of an absolute target, else the `Host` field.
fn host(parts: &Parts) -> Option<&[u8]> {
    let authority = parts.uri.authority().map(|authority| authority.as_str().as_bytes());
    authority.or_else(|| parts.headers.get(header::HOST).map(HeaderValue::as_bytes))
}

fn peer(parts: &Parts) -> Peer {
    parts.extensions.get::<PeerInfo>().map_or(Peer::Unknown, PeerInfo::peer)
}

/// Whether the request's own word about its client counts; what may not be said is removed.
pub(super) fn is_trusted(parts: &mut Parts, settings: &ForwardSettings) -> bool {
    let known = parts.extensions.get::<PeerInfo>().and_then(|peer| peer.trusted);
    known.unwrap_or_else(|| (settings.trusted)(peer(parts), &mut parts.headers))
}

/// The peer, the host, and the request's own word if that counts.
fn origin(parts: &Parts, trusted: bool) -> Origin<'_> {
    Origin { peer: peer(parts).address(), host: host(parts), vouched: trusted.then_some(&parts.headers) }
}

/// The protocol that a request asks to switch to, if this proxy passes that on: one token, on a `GET` without a body.
/// `h2c` is never passed on, for it would carry requests past whatever guards this proxy.
pub(super) fn upgrade<B>(request: &Request<B>, empty: bool) -> Option<HeaderValue> {
    let value = request.headers().get(header::UPGRADE)?;
    if request.method() != Method::GET || request.version() != Version::HTTP_11 || !empty {
        return None;
    }
    let asked = connection_has(request.headers(), b"upgrade");
    let plain = members(value.as_bytes())
        .all(|member| !member.get(..3).is_some_and(|m| m.eq_ignore_ascii_case(b"h2c")));
    (asked && plain).then(|| value.clone())
}

/// The version that a request came by, as `Via` writes it.
fn received(version: Version) -> &'static [u8] {
    match version {
        Version::HTTP_2 => b"2 ",
        Version::HTTP_10 => b"1.0 ",
        _ => b"1.1 ",
    }
}

/// Writes HTTP/1.1 fields.
struct Lines<'a>(&'a mut Vec<u8>);

impl Lines<'_> {
    fn line(&mut self, name: &HeaderName, value: &[u8]) {
        self.field(name, |out| out.extend_from_slice(value));
    }
}

impl Sink for Lines<'_> {
    fn field(&mut self, name: &HeaderName, value: impl FnOnce(&mut Vec<u8>)) {
        self.0.extend_from_slice(name.as_str().as_bytes());
        self.0.extend_from_slice(b": ");
        value(self.0);
        self.0.extend_from_slice(b"\r\n");
    }
}

/// Appends the HTTP/1.1 head of a checked request to `out`.
pub(super) fn write_head(
    out: &mut Vec<u8>,
    parts: &Parts,
    framing: Framing,
    upgrade: Option<&HeaderValue>,
    trusted: bool,
    settings: &ForwardSettings,
) {
    let origin = origin(parts, trusted);
    out.extend_from_slice(parts.method.as_str().as_bytes());
    out.push(b' ');
    let target = target(&parts.uri);
    // A URL without a path may have a query (`http://a?b`).
    if !target.starts_with(['/', '*']) {
        out.push(b'/');
    }
    out.extend_from_slice(target.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    let mut lines = Lines(out);
    // An absent Host (HTTP/1.0) is an empty one: HTTP/1.1 must have the field.
    lines.line(&header::HOST, origin.host.unwrap_or_default());
    let nominated = nominated(&parts.headers);
    // HTTP/2 clients send each cookie in a field of its own; HTTP/1 has one field for all (RFC 9113, section 8.2.3).
    let crumbs = parts.version == Version::HTTP_2 && parts.headers.contains_key(header::COOKIE);
    if crumbs {
        lines.field(&header::COOKIE, |out| {
            for (index, crumb) in parts.headers.get_all(header::COOKIE).iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b"; ");
                }
                out.extend_from_slice(crumb.as_bytes());
            }
        });
    }
    for (name, value) in &parts.headers {
        let replaced = matches!(*name, header::HOST | header::CONTENT_LENGTH | header::VIA)
            || (crumbs && *name == header::COOKIE)
            || hop_by_hop(name)
            || origin.replaces(name)
            || nominated.iter().any(|nominated| nominated.eq_ignore_ascii_case(name.as_str().as_bytes()));
        if !replaced {
            lines.line(name, value.as_bytes());
        }
    }
    match framing {
        Framing::Length(length) => lines.line(&header::CONTENT_LENGTH, itoa(length, &mut [0; 20])),
        Framing::Chunked => lines.line(&header::TRANSFER_ENCODING, b"chunked"),
        // Some methods promise a body; its absence is then said (RFC 9110, section 8.6).
        Framing::Empty if matches!(parts.method, Method::POST | Method::PUT | Method::PATCH) => {
            lines.line(&header::CONTENT_LENGTH, b"0");
        }
        Framing::Empty | Framing::Close => {}
    }
    origin.write(&mut lines);
    for value in parts.headers.get_all(header::VIA) {
        lines.line(&header::VIA, value.as_bytes());
    }
    if let Some(via) = &settings.via {
        lines.field(&header::VIA, |out| {
            out.extend_from_slice(received(parts.version));
            out.extend_from_slice(via.as_bytes());
        });
    }
    if let Some(protocol) = upgrade {
        lines.line(&header::CONNECTION, b"upgrade");
        lines.line(&header::UPGRADE, protocol.as_bytes());
    } else if te_trailers(&parts.headers) {
        lines.line(&header::CONNECTION, b"te");
        lines.line(&header::TE, b"trailers");
    }
    out.extend_from_slice(b"\r\n");
}

fn target(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", PathAndQuery::as_str)
}

/// The same as one piece.
fn rooted(uri: &Uri) -> PathAndQuery {
    let path = match uri.path_and_query() {
        Some(path) if path.as_str().starts_with('?') => PathAndQuery::try_from(format!("/{path}")).ok(),
        path => path.cloned(),
    };
    path.unwrap_or_else(|| PathAndQuery::from_static("/"))
}

/// The decimal digits of `number`, without allocating.
pub(super) fn itoa(number: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut rest = number;
    let mut start = buffer.len();
    for (index, digit) in buffer.iter_mut().enumerate().rev() {
        // A remainder of ten fits a byte.
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        start = index;
        if rest == 0 {
            break;
        }
    }
    buffer.get(start..).unwrap_or_default()
}

/// Collects HTTP/2 fields.
struct Map(HeaderMap);

impl Sink for Map {
    fn field(&mut self, name: &HeaderName, value: impl FnOnce(&mut Vec<u8>)) {
        let mut out = Vec::with_capacity(64);
        value(&mut out);
        // All parts come from valid field values.
        if let Ok(value) = HeaderValue::from_maybe_shared(bytes::Bytes::from(out)) {
            self.0.append(name, value);
        }
    }
}

/// Turns the head of a checked request into one for HTTP/2, in place.
pub(super) fn rewrite(parts: &mut Parts, trusted: bool, settings: &ForwardSettings) {
    let mut fields = Map(HeaderMap::new());
    let origin = origin(parts, trusted);
    origin.write(&mut fields);
    let host = host(parts).and_then(|host| std::str::from_utf8(host).ok()).unwrap_or_default();
    let path = rooted(&parts.uri);
    // A host that is no authority stays out; the upstream then sees a request without one.
    let uri = Uri::builder().scheme("http").authority(host).path_and_query(path.clone()).build();
    let uri = uri.unwrap_or_else(|_| Uri::from(path));
    let trailers = te_trailers(&parts.headers);
    let own: Vec<HeaderName> = {
        let nominated = nominated(&parts.headers);
        let ends = |name: &&HeaderName| {
            matches!(**name, header::HOST | header::EXPECT)
                || hop_by_hop(name)
                || origin.replaces(name)
                || nominated.iter().any(|nominated| nominated.eq_ignore_ascii_case(name.as_str().as_bytes()))
        };
        parts.headers.keys().filter(ends).cloned().collect()
    };
    for name in own {
        parts.headers.remove(name);
    }
    parts.headers.extend(fields.0);
    if let Some(via) = &settings.via {
        let value = [received(parts.version), via.as_bytes()].concat();
        if let Ok(value) = HeaderValue::from_bytes(&value) {
            parts.headers.append(header::VIA, value);
        }
    }
    if trailers {
        parts.headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    parts.uri = uri;
    parts.version = Version::HTTP_2;
}
