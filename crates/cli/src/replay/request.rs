//! A recorded request, whatever it was read from.

use std::borrow::Cow;
use std::net::IpAddr;

use cupo_core::{Attributes, ResponseAttributes, Timestamp, Trust};
use cupo_http::{Identity, Presentation, RequestAttributes};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, Uri};

use super::pairs::Pairs;

/// The request as the gateway would see it, and when.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) at: Timestamp,
    pub(super) peer: Option<IpAddr>,
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) descriptors: Pairs<'a, false>,
    pub(super) cost: u64,
    /// Of the response, where the record tells it.
    pub(super) status: Option<u16>,
}

impl ResponseAttributes for Request<'_> {
    fn status(&self) -> Option<u16> {
        self.status
    }
}

impl Request<'_> {
    pub(super) fn attributes<'a>(
        &'a self,
        trust: &'a Trust,
        identity: &'a Identity,
        presentation: &Presentation,
    ) -> Recorded<'a> {
        let request = RequestAttributes::from_head(&self.method, &self.uri, &self.headers, self.peer, trust);
        let uncounted = presentation.is_uncounted(&self.method, &self.headers);
        let length = self
            .headers
            .get(CONTENT_LENGTH)
            .map_or(Some(0), |value| value.to_str().ok()?.trim().parse().ok());
        let request = request.identified(identity).uncounted(uncounted).with_body(length);
        Recorded { request, recorded: self }
    }
}

/// What the request says, and what the record adds.
pub(super) struct Recorded<'a> {
    request: RequestAttributes<'a>,
    recorded: &'a Request<'a>,
}

impl Attributes for Recorded<'_> {
    fn client(&self) -> Option<IpAddr> {
        self.request.client()
    }

    fn api_key(&self) -> Option<Cow<'_, [u8]>> {
        self.request.api_key()
    }

    fn api_key_lines(&self, line: &mut dyn FnMut(&[u8])) {
        self.request.api_key_lines(line);
    }

    fn user(&self) -> Option<Cow<'_, [u8]>> {
        self.request.user()
    }

    fn user_lines(&self, line: &mut dyn FnMut(&[u8])) {
        self.request.user_lines(line);
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

    fn header_lines(&self, name: &str, line: &mut dyn FnMut(&[u8])) {
        self.request.header_lines(name, line);
    }

    fn query(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.query(name)
    }

    fn cookie(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.cookie(name)
    }

    fn descriptor(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let found = self.recorded.descriptors.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| Cow::Borrowed(value.as_bytes()))
    }

    fn has_bad_credentials(&self) -> bool {
        self.request.has_bad_credentials()
    }

    fn claim(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.claim(name)
    }

    fn vouched_header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.vouched_header(name)
    }

    /// A record without a length is of a request without a body.
    fn body_bytes(&self) -> Option<u64> {
        self.request.body_bytes()
    }

    fn is_uncounted(&self) -> bool {
        self.request.is_uncounted()
    }

    fn cost(&self) -> u64 {
        self.recorded.cost
    }
}
