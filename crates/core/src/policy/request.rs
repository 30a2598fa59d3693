//! A request as conditions see it.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::attributes::Attributes;
use crate::host::canonical_host;
use crate::key::canonical_address;
use crate::readings::Readings;

/// What has to be known of requests before conditions can be asked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Needs {
    pub(super) path: bool,
    pub(super) host: bool,
    pub(super) client: bool,
}

impl Needs {
    pub(super) const fn and(self, other: Self) -> Self {
        Self {
            path: self.path || other.path,
            host: self.host || other.host,
            client: self.client || other.client,
        }
    }
}

/// A request's attributes, and what conditions compare in its one spelling, which is made once.
#[derive(Debug)]
pub(super) struct Request<'a, A: ?Sized> {
    pub(super) attributes: &'a A,
    pub(super) method: Option<&'a str>,
    pub(super) path: Option<Readings<'a>>,
    /// Canonical.
    pub(super) host: Option<Cow<'a, str>>,
    /// Canonical.
    pub(super) client: Option<IpAddr>,
    /// The index of the caller's plan tier; 0 without plans.
    pub(super) tier: usize,
}

impl<'a, A: Attributes + ?Sized> Request<'a, A> {
    /// Asks for what is needed; the rest is `None`. `tier` is the caller's.
    pub(super) fn new(attributes: &'a A, needs: Needs, tier: usize) -> Self {
        let path = if needs.path { attributes.path() } else { None };
        let host = if needs.host { attributes.host() } else { None };
        let client = if needs.client { attributes.client() } else { None };
        Self {
            attributes,
            method: attributes.method(),
            path: path.map(Readings::of),
            host: host.and_then(canonical_host),
            client: client.map(canonical_address),
            tier,
        }
    }
}
