//! A request as the attributes that rules ask for.

use std::borrow::Cow;
use std::net::IpAddr;

use cupo_core::{Attributes, Kind, Trust};
use http::header::HOST;
use http::request::Parts;
use http::{HeaderMap, Method, Uri};

use crate::client_address::{Ending, find};
use crate::credential::{canonical_credentials, carries_credentials};
use crate::diagnostic::{Diagnostics, diagnose};
use crate::identity::{Claims, Identity};
use crate::pairs::{SEVERAL, cookie_value, cookie_values, query_value, query_values};
use crate::peer::Peer;

/// A request's head, its peer, and whom to believe, as [`Attributes`]. Borrows all; answers without allocating unless a
/// value has to be decoded.
///
/// ```
/// use std::net::IpAddr;
///
/// use cupo_core::{Attributes, Trust};
/// use cupo_http::RequestAttributes;
///
/// let (parts, ()) = http::Request::get("/a?page=2").header("x-forwarded-for", "203.0.113.9").body(())?.into_parts();
/// let trust = Trust { proxies: vec!["10.0.0.0/8".parse()?].into(), ..Trust::default() };
///
/// let from_proxy = RequestAttributes::new(&parts, IpAddr::from([10, 0, 0, 1]), &trust);
/// assert_eq!(from_proxy.client(), Some([203, 0, 113, 9].into()));
/// assert_eq!(from_proxy.query("page").as_deref(), Some(&b"2"[..]));
///
/// let from_stranger = RequestAttributes::new(&parts, IpAddr::from([192, 0, 2, 1]), &trust);
/// assert_eq!(from_stranger.client(), Some([192, 0, 2, 1].into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RequestAttributes<'a> {
    method: &'a Method,
    uri: &'a Uri,
    headers: &'a HeaderMap,
    trust: &'a Trust,
    peer: Peer,
    client: Option<IpAddr>,
    ending: Ending,
    identity: Option<&'a Identity>,
    uncounted: bool,
    body_bytes: Option<u64>,
}

impl<'a> RequestAttributes<'a> {
    /// The attributes of the request with this head, received from `peer`: an address, or [`Peer::Unix`], or `None` where nobody
    /// knows.
    #[must_use]
    pub fn new(parts: &'a Parts, peer: impl Into<Peer>, trust: &'a Trust) -> Self {
        Self::from_head(&parts.method, &parts.uri, &parts.headers, peer, trust)
    }

    /// The same from the parts of a head.
    #[must_use]
    pub fn from_head(
        method: &'a Method,
        uri: &'a Uri,
        headers: &'a HeaderMap,
        peer: impl Into<Peer>,
        trust: &'a Trust,
    ) -> Self {
        let peer = peer.into();
        let (client, ending) = find(peer, headers, trust);
        Self {
            method,
            uri,
            headers,
            trust,
            peer,
            client,
            ending,
            identity: None,
            uncounted: false,
            body_bytes: None,
        }
    }

    /// The same request from whom it is known to be from.
    #[must_use]
    pub const fn identified(self, identity: &'a Identity) -> Self {
        Self { identity: Some(identity), ..self }
    }

    fn claims(&self) -> Option<&'a Claims> {
        match self.identity {
            Some(Identity::Known(claims)) => Some(claims),
            _ => None,
        }
    }

    /// The same request, which passes without being counted where `uncounted` is set, unless it carries an API key.
    #[must_use]
    pub const fn uncounted(self, uncounted: bool) -> Self {
        Self { uncounted, ..self }
    }

    /// The same request with a body of this length, 0 for none; not known unless said, or by the server that framed it.
    #[must_use]
    pub const fn with_body(self, bytes: Option<u64>) -> Self {
        Self { body_bytes: bytes, ..self }
    }

    /// What is doubtful about who asks, without looking for what is in `known`.
    #[must_use]
    pub fn diagnostics(&self, known: Diagnostics) -> Diagnostics {
        diagnose(self.peer, self.headers, self.trust, self.ending, known)
    }

    /// The other end of the connection.
    #[must_use]
    pub const fn peer(&self) -> Peer {
        self.peer
    }

    pub(crate) const fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// How the client's address was found, in words.
    pub(crate) fn says_client(&self) -> String {
        self.ending.says(self.peer, self.trust.client_address_header.name())
    }

    /// Whether the peer is a trusted proxy, whose word counts.
    const fn is_vouched(&self) -> bool {
        !matches!(self.ending, Ending::Unasked)
    }

    /// The value of a header that comes once; [`SEVERAL`] of one that is repeated.
    fn single(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        let mut lines = self.headers.get_all(name).iter();
        let first = lines.next()?.as_bytes();
        Some(Cow::Borrowed(if lines.next().is_some() { SEVERAL } else { first }))
    }

    /// The same; of a header that carries credentials in their [one spelling](canonical_credentials).
    fn canonical(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        match self.single(name)? {
            Cow::Borrowed(value) if carries_credentials(name) => Some(canonical_credentials(value)),
            value => Some(value),
        }
    }
}

impl Attributes for RequestAttributes<'_> {
    fn client(&self) -> Option<IpAddr> {
        self.client
    }

    fn api_key(&self) -> Option<Cow<'_, [u8]>> {
        self.canonical(&self.trust.api_key_header)
    }

    fn api_key_lines(&self, line: &mut dyn FnMut(&[u8])) {
        let name = &*self.trust.api_key_header;
        for value in self.headers.get_all(name) {
            let value = value.as_bytes();
            if carries_credentials(name) { line(&canonical_credentials(value)) } else { line(value) }
        }
    }

    /// The user that a verified token names, else the one that a trusted proxy names; from anybody else the header does not
    /// count.
    fn user(&self) -> Option<Cow<'_, [u8]>> {
        if let Some(user) = self.claims().and_then(Claims::user) {
            return Some(Cow::Borrowed(user.as_bytes()));
        }
        if self.is_vouched() { self.single(&self.trust.user_header) } else { None }
    }

    fn user_lines(&self, line: &mut dyn FnMut(&[u8])) {
        if let Some(user) = self.claims().and_then(Claims::user) {
            line(user.as_bytes());
        } else if self.is_vouched() {
            self.header_lines(&self.trust.user_header, line);
        }
    }

    fn values(&self, kind: &Kind, value: &mut dyn FnMut(&[u8])) {
        match kind {
            Kind::ApiKey => self.api_key_lines(value),
            Kind::User => self.user_lines(value),
            Kind::Header(name) if carries_credentials(name) => {
                self.header_lines(name, &mut |line| value(&canonical_credentials(line)));
            }
            Kind::Header(name) => self.header_lines(name, value),
            Kind::Query(name) => {
                query_values(self.uri.query().unwrap_or_default(), name).for_each(|found| value(&found));
            }
            Kind::Cookie(name) => cookie_values(self.headers, name).for_each(value),
            _ => {}
        }
    }

    fn body_bytes(&self) -> Option<u64> {
        self.body_bytes
    }

    fn is_uncounted(&self) -> bool {
        self.uncounted && !self.headers.contains_key(&self.trust.api_key_header)
    }

    fn method(&self) -> Option<&str> {
        Some(upper_case(self.method))
    }

    /// The host that was asked for: of the target where it names one (`:authority`, an absolute URI), else of `Host`.
    fn host(&self) -> Option<&str> {
        self.uri.host().or_else(|| without_port(self.headers.get(HOST)?.to_str().ok()?))
    }

    fn path(&self) -> Option<&str> {
        Some(self.uri.path())
    }

    /// Credentials come in their one spelling, or a caller is a new client with every other.
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.canonical(name)
    }

    /// A header of a request that a trusted proxy sent; from anybody else it does not count.
    fn vouched_header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        if self.is_vouched() { self.single(name) } else { None }
    }

    fn header_lines(&self, name: &str, line: &mut dyn FnMut(&[u8])) {
        self.headers.get_all(name).iter().for_each(|value| line(value.as_bytes()));
    }

    fn query(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        query_value(self.uri.query()?, name)
    }

    fn cookie(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        cookie_value(self.headers, name).map(Cow::Borrowed)
    }

    fn claim(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(self.claims()?.get(name)?.as_bytes()))
    }

    fn has_bad_credentials(&self) -> bool {
        matches!(self.identity, Some(Identity::Refused))
    }
}

/// `get` is no `GET`, but some servers take it for one, so no rule for `GET` may miss it.
fn upper_case(method: &Method) -> &str {
    const KNOWN: [&str; 9] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT", "TRACE"];
    let method = method.as_str();
    if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return KNOWN.into_iter().find(|name| name.eq_ignore_ascii_case(method)).unwrap_or(method);
    }
    method
}

/// The host of an authority; an IPv6 address keeps its brackets, and who is told before `@` is no part of it.
fn without_port(authority: &str) -> Option<&str> {
    let authority = authority.rsplit('@').next()?;
    let host = match authority.find(']') {
        Some(end) if authority.starts_with('[') => authority.get(..=end)?,
        // An IPv6 address without brackets has no port.
        _ if authority.matches(':').count() > 1 => authority,
        _ => authority.split(':').next()?,
    };
    (!host.is_empty()).then_some(host)
}
