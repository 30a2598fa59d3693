//! Whom a policy believes.

use core::num::NonZeroU8;

use ipnet::IpNet;

/// Whom to believe, and where identity is read. No default believes the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// The proxies whose word on the client's address and user counts; none unless said otherwise.
    pub proxies: Proxies,
    /// The field in which they say who the client is; `X-Forwarded-For` unless said otherwise. No other is read.
    pub client_address_header: ClientAddressHeader,
    /// IPv6 addresses are one client per prefix of this many bits, 1 to 128; 64 unless said otherwise.
    pub ipv6_prefix: u8,
    /// The header that carries the API key, in lower case; `x-api-key` unless said otherwise.
    pub api_key_header: String,
    /// The header in which trusted proxies say who the user is, in lower case; `x-user` unless said otherwise. From anybody
    /// else it does not count.
    pub user_header: String,
    /// The header in which tokens are read, in lower case; none unless said otherwise. What explains a request hashes its value.
    pub token_header: Option<String>,
}

impl Default for Trust {
    fn default() -> Self {
        Self {
            proxies: Proxies::default(),
            client_address_header: ClientAddressHeader::default(),
            ipv6_prefix: 64,
            api_key_header: "x-api-key".to_owned(),
            user_header: "x-user".to_owned(),
            token_header: None,
        }
    }
}

/// How proxies are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proxies {
    /// By where they are.
    Known {
        /// Networks of proxies.
        networks: Vec<IpNet>,
        /// Whether whoever connects by a Unix socket is one.
        unix: bool,
    },
    /// By their number: the connection's peer and whoever is behind it, so many in all, whatever their addresses. **Right only where
    /// every request comes through all of them**: nobody looks at who connects.
    Hops(NonZeroU8),
}

impl Default for Proxies {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl From<Vec<IpNet>> for Proxies {
    fn from(networks: Vec<IpNet>) -> Self {
        Self::Known { networks, unix: false }
    }
}

impl Proxies {
    /// Whether nobody is trusted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Known { networks, unix: false } if networks.is_empty())
    }
}

/// The field in which proxies say who the client is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ClientAddressHeader {
    /// `X-Forwarded-For`: a list that every proxy appends to.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239): a list that every proxy appends to, with names and quotes.
    Forwarded,
    /// A field of this name, in lower case, with one address, which the last proxy sets: `x-real-ip`, `cf-connecting-ip`.
    Single(String),
}

impl ClientAddressHeader {
    /// The field of this name, in lower case.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "x-forwarded-for" => Self::XForwardedFor,
            "forwarded" => Self::Forwarded,
            name => Self::Single(name.to_owned()),
        }
    }

    /// Its name, in lower case.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::XForwardedFor => "x-forwarded-for",
            Self::Forwarded => "forwarded",
            Self::Single(name) => name,
        }
    }
}
