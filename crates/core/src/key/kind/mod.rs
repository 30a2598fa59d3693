//! The kinds of key part: one file each, and one line in each table here.

mod address;
mod plain;
mod route;
mod secret;

pub use address::canonical_address;
pub(super) use plain::HASHED;

use super::builder::KeyBuilder;
use super::hash::{ApiKeyHash, Hasher};
use crate::attributes::Attributes;
use crate::method::counted;
use crate::policy::Route;

/// A kind of key part.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Everybody together: one counter.
    Global,
    /// The client's address; IPv6 grouped by prefix.
    Ip,
    /// The API key, hashed.
    ApiKey,
    /// The authenticated user.
    User,
    /// Method and path template.
    Route,
    /// The method.
    Method,
    /// The host.
    Host,
    /// A header's value, hashed.
    Header(Box<str>),
    /// A query parameter's value, hashed.
    Query(Box<str>),
    /// A cookie's value, hashed.
    Cookie(Box<str>),
    /// A descriptor's value.
    Descriptor(Box<str>),
    /// A verified claim's value.
    Claim(Box<str>),
}

/// The kinds without an argument, by name.
const PLAIN: [(&str, Kind); 7] = [
    ("global", Kind::Global),
    ("ip", Kind::Ip),
    ("api_key", Kind::ApiKey),
    ("user", Kind::User),
    ("route", Kind::Route),
    ("method", Kind::Method),
    ("host", Kind::Host),
];

/// A kind with an argument: its name, and the kind for an argument.
type Named = (&'static str, fn(Box<str>) -> Kind);

/// The kinds with an argument, by name.
const NAMED: [Named; 5] = [
    ("header", Kind::Header),
    ("query", Kind::Query),
    ("cookie", Kind::Cookie),
    ("descriptor", Kind::Descriptor),
    ("claim", Kind::Claim),
];

impl Kind {
    /// The kind called `name`, with its argument where it takes one.
    pub(super) fn from_parts(name: &str, argument: Option<&str>) -> Option<Self> {
        match argument {
            None => PLAIN.iter().find(|(n, _)| *n == name).map(|(_, kind)| kind.clone()),
            Some(argument) => NAMED.iter().find(|(n, _)| *n == name).map(|(_, make)| make(argument.into())),
        }
    }

    /// Every form that a policy may write, for hints.
    pub(super) fn forms() -> String {
        let plain = PLAIN.iter().map(|(name, _)| (*name).to_owned());
        let named = NAMED.iter().map(|(name, _)| format!("{name}(NAME)"));
        plain.chain(named).collect::<Vec<_>>().join(", ")
    }

    /// The name and the argument, as a policy writes them.
    pub(super) fn parts(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Global => ("global", None),
            Self::Ip => ("ip", None),
            Self::ApiKey => ("api_key", None),
            Self::User => ("user", None),
            Self::Route => ("route", None),
            Self::Method => ("method", None),
            Self::Host => ("host", None),
            Self::Header(name) => ("header", Some(name)),
            Self::Query(name) => ("query", Some(name)),
            Self::Cookie(name) => ("cookie", Some(name)),
            Self::Descriptor(name) => ("descriptor", Some(name)),
            Self::Claim(name) => ("claim", Some(name)),
        }
    }

    /// The byte that tells this kind from the others in a key. Part of the layout in stores: never reuse one.
    pub(super) const fn tag(&self) -> u8 {
        match self {
            Self::Global => 1,
            Self::Ip => 2,
            Self::ApiKey => 3,
            Self::User => 4,
            Self::Route => 5,
            Self::Method => 6,
            Self::Host => 7,
            Self::Header(_) => 8,
            Self::Query(_) => 9,
            Self::Cookie(_) => 10,
            Self::Descriptor(_) => 11,
            Self::Claim(_) => 12,
        }
    }

    /// The argument, or nothing.
    pub(super) fn argument(&self) -> &str {
        self.parts().1.unwrap_or_default()
    }

    /// Adds the part of requests of this method whose route has this template, or a template of this hash.
    pub(super) fn write_route(
        &self,
        method: &str,
        template: &str,
        hash: Option<ApiKeyHash>,
        context: &Context<'_>,
        key: &mut KeyBuilder,
    ) -> bool {
        let method = if method.is_empty() { None } else { Some(method) };
        route::write_template(self.tag(), method, template, hash, context.hasher, key)
    }

    /// Adds this part of the request to the key; `false` where the request lacks it.
    pub(super) fn write<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        context: &Context<'_>,
        key: &mut KeyBuilder,
    ) -> bool {
        let tag = self.tag();
        let hasher = context.hasher;
        match self {
            Self::Global => {
                key.push(tag, "", b"");
                true
            }
            Self::Ip => address::write(tag, attributes.client(), context.ipv6_prefix, key),
            Self::ApiKey => match context.api_key {
                Some(hash) => {
                    key.push(tag, "", &hash.0);
                    true
                }
                None => secret::write(tag, "", attributes.api_key().as_deref(), hasher, key),
            },
            Self::User => plain::write(tag, "", attributes.user().as_deref(), hasher, key),
            Self::Route => route::write(tag, context, key),
            Self::Method => {
                plain::write(tag, "", context.method.map(|method| counted(method).as_bytes()), hasher, key)
            }
            Self::Host => plain::write_host(tag, attributes.host(), hasher, key),
            Self::Header(name) => secret::write(tag, name, attributes.header(name).as_deref(), hasher, key),
            Self::Query(name) => secret::write(tag, name, attributes.query(name).as_deref(), hasher, key),
            Self::Cookie(name) => secret::write(tag, name, attributes.cookie(name).as_deref(), hasher, key),
            Self::Descriptor(name) => {
                plain::write(tag, name, attributes.descriptor(name).as_deref(), hasher, key)
            }
            Self::Claim(name) => plain::write(tag, name, attributes.claim(name).as_deref(), hasher, key),
        }
    }
}

/// The name of the kind whose tag this is; `missing` for a part that the request lacked.
pub(super) fn tag_name(tag: u8) -> Option<&'static str> {
    let plain = PLAIN.iter().map(|(_, kind)| kind.clone());
    let named = NAMED.iter().map(|(_, make)| make(Box::default()));
    match tag {
        0 => Some("missing"),
        _ => plain.chain(named).find(|kind| kind.tag() == tag).map(|kind| kind.parts().0),
    }
}

/// What the policy adds to the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// IPv6 addresses are one client per prefix of this many bits.
    pub(crate) ipv6_prefix: u8,
    /// The request's method.
    pub(crate) method: Option<&'a str>,
    /// The request's route, where it has a path.
    pub(crate) route: Option<&'a Route<'a>>,
    /// How secrets are hashed.
    pub(crate) hasher: &'a Hasher,
    /// The hash of the request's API key, where it is known already.
    pub(crate) api_key: Option<ApiKeyHash>,
}
