//! What may be asked of a request.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::key::Kind;

/// What may be asked of a request. Every answer is optional: a door answers what it knows, and a rule says what a missing
/// answer means.
///
/// Whoever implements it answers for the truth of it: `client` only from a vouched-for address, `user` only from a source that
/// the caller cannot set.
pub trait Attributes {
    /// The client's address, after trusted proxies have been walked.
    fn client(&self) -> Option<IpAddr> {
        None
    }

    /// The API key as the caller sent it; it is hashed before it becomes part of a key.
    fn api_key(&self) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// Tells `line` each line of the API key's header, in order, as [`api_key`](Self::api_key) has a key. Whoever is blocked by
    /// a key is so by any of its lines; a door that has only one answer need not implement this.
    fn api_key_lines(&self, line: &mut dyn FnMut(&[u8])) {
        if let Some(only) = self.api_key() {
            line(&only);
        }
    }

    /// The authenticated user.
    fn user(&self) -> Option<Cow<'_, [u8]>> {
        None
    }

    /// Tells `line` each user that is named, in order; as with keys, one line is enough to be blocked.
    fn user_lines(&self, line: &mut dyn FnMut(&[u8])) {
        if let Some(only) = self.user() {
            line(&only);
        }
    }

    /// Tells `value` each value that the request shows for a key's part of this kind, as the methods for one value have it. One of
    /// them is enough to be [blocked for a time](crate::Upkeep::block); a door that has only one answer need not implement this.
    fn values(&self, kind: &Kind, value: &mut dyn FnMut(&[u8])) {
        match kind {
            Kind::ApiKey => self.api_key_lines(value),
            Kind::User => self.user_lines(value),
            _ => {}
        }
    }

    /// The method, in upper case.
    fn method(&self) -> Option<&str> {
        None
    }

    /// The host. Conditions and keys take it in its one spelling, without port.
    fn host(&self) -> Option<&str> {
        None
    }

    /// The path as it came, without query.
    fn path(&self) -> Option<&str> {
        None
    }

    /// The value of a header. `name` is in lower case. Of a value that comes several times, here and below, nobody knows which
    /// one counts elsewhere: answer with one value for all such requests, or a caller is a new client with every companion
    /// that he adds.
    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let _ = name;
        None
    }

    /// Tells `line` each line of a header, in order. `name` is in lower case. Conditions ask for all lines, since nobody knows
    /// which of them counts elsewhere; a door that has only one answer need not implement this.
    fn header_lines(&self, name: &str, line: &mut dyn FnMut(&[u8])) {
        if let Some(only) = self.header(name) {
            line(&only);
        }
    }

    /// The decoded value of a query parameter.
    fn query(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let _ = name;
        None
    }

    /// The value of a cookie.
    fn cookie(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let _ = name;
        None
    }

    /// The value of a claim that somebody who is believed has made of the caller, in a verified token; of one inside of others by
    /// the names on the way, divided by points.
    fn claim(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let _ = name;
        None
    }

    /// The value of a descriptor: what another program says of the request, by a name of its choice.
    fn descriptor(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let _ = name;
        None
    }

    /// Whether the request shows credentials that do not hold, where the policy refuses such requests. They are counted as
    /// requests without credentials are, so that whoever floods with them meets the limits; what room there is ends in
    /// [`Settled::BadCredentials`](crate::Settled::BadCredentials).
    fn has_bad_credentials(&self) -> bool {
        false
    }

    /// The value of a header that somebody vouches for: a trusted proxy wrote it, or let it pass. `name` is in lower case.
    fn vouched_header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let _ = name;
        None
    }

    /// Whether the request passes without being counted, unless a list says otherwise.
    fn is_uncounted(&self) -> bool {
        false
    }

    /// The length of the request's body in bytes, 0 without one; `None` where nobody knows beforehand.
    fn body_bytes(&self) -> Option<u64> {
        None
    }

    /// What this request costs in multiples of a rule's cost; 0 is a peek.
    fn cost(&self) -> u64 {
        1
    }
}
