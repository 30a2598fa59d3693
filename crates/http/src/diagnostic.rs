//! What is doubtful about who asks: causes with stable codes, each with a section in `docs/diagnostics.md`.

use std::ops::BitOr;

use cupo_core::{ClientAddressHeader, Policy, Trust};
use http::HeaderMap;
use http::header::{FORWARDED, HeaderName};

use crate::client_address::{Ending, X_FORWARDED_FOR, find};
use crate::peer::Peer;

static X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// A reason to look at the configuration or at the proxies before Cupo. What is done about each is written down and the same
/// every time; none of them stops a request by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Diagnostic {
    /// `CUPO-T001`: somebody who is not trusted says who the client is.
    UntrustedClientAddress = 1,
    /// `CUPO-T002`: somebody who is not trusted says who the user is.
    UntrustedUser = 2,
    /// `CUPO-T003`: an entry of the chain is no address.
    NoAddress = 3,
    /// `CUPO-T004`: a field with one address comes several times.
    RepeatedClientAddress = 4,
    /// `CUPO-T005`: every address of the chain is a trusted proxy's.
    AllTrusted = 5,
    /// `CUPO-T006`: the chain has fewer entries than there are hops.
    ShortChain = 6,
    /// `CUPO-T007`: a trusted proxy says who the client is in another field than the one that is read.
    OtherField = 7,
    /// `CUPO-T008`: a trusted proxy says who the client is in further fields, which are not read.
    FurtherField = 8,
    /// `CUPO-T009`: the PROXY header and the client address field do not agree.
    Disagreement = 9,
    /// `CUPO-T010`: a connection that is not a trusted proxy's, where all begin with a PROXY header.
    UntrustedRelay = 10,
    /// `CUPO-T011`: a connection of a trusted proxy without the PROXY header that it has to begin with.
    NoProxyHeader = 11,
    /// `CUPO-T012`: a PROXY header that is malformed, too long or cut off.
    BadProxyHeader = 12,
    /// `CUPO-T013`: a PROXY header that names no client.
    RelayWithoutClient = 13,
    /// `CUPO-T014`: a PROXY header where none is expected.
    UnexpectedProxyHeader = 14,
}

impl Diagnostic {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 14] = [
        Self::UntrustedClientAddress,
        Self::UntrustedUser,
        Self::NoAddress,
        Self::RepeatedClientAddress,
        Self::AllTrusted,
        Self::ShortChain,
        Self::OtherField,
        Self::FurtherField,
        Self::Disagreement,
        Self::UntrustedRelay,
        Self::NoProxyHeader,
        Self::BadProxyHeader,
        Self::RelayWithoutClient,
        Self::UnexpectedProxyHeader,
    ];

    /// The stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::UntrustedClientAddress => "CUPO-T001",
            Self::UntrustedUser => "CUPO-T002",
            Self::NoAddress => "CUPO-T003",
            Self::RepeatedClientAddress => "CUPO-T004",
            Self::AllTrusted => "CUPO-T005",
            Self::ShortChain => "CUPO-T006",
            Self::OtherField => "CUPO-T007",
            Self::FurtherField => "CUPO-T008",
            Self::Disagreement => "CUPO-T009",
            Self::UntrustedRelay => "CUPO-T010",
            Self::NoProxyHeader => "CUPO-T011",
            Self::BadProxyHeader => "CUPO-T012",
            Self::RelayWithoutClient => "CUPO-T013",
            Self::UnexpectedProxyHeader => "CUPO-T014",
        }
    }

    /// What happened, and what was done about it.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::UntrustedClientAddress => {
                "a peer that is not in trusted_proxies sent a field that says who the client is: the peer's own address counts"
            }
            Self::UntrustedUser => {
                "a peer that is not in trusted_proxies sent the user header: it does not count and is not passed on"
            }
            Self::NoAddress => {
                "an entry of the client address header is no address: the one that its writer was asked from counts"
            }
            Self::RepeatedClientAddress => {
                "the client address header came several times: none counts, and the proxy's own address does"
            }
            Self::AllTrusted => {
                "every address in the client address header is a trusted proxy: the leftmost counts"
            }
            Self::ShortChain => {
                "the client address header has fewer entries than trusted_proxies has hops: the leftmost counts"
            }
            Self::OtherField => {
                "a trusted proxy did not send the client address header, but another such field: the proxy's own address counts"
            }
            Self::FurtherField => {
                "a trusted proxy sent further fields that say who the client is: only the client address header counts"
            }
            Self::Disagreement => {
                "the client address header is not what the PROXY header says: the PROXY header counts"
            }
            Self::UntrustedRelay => {
                "a peer that is not in trusted_proxies connected where proxy_protocol is on: the connection was closed"
            }
            Self::NoProxyHeader => {
                "a connection did not begin with a PROXY header of the version that proxy_protocol says: it was closed"
            }
            Self::BadProxyHeader => {
                "a PROXY header was malformed, too long or cut off: the connection was closed"
            }
            Self::RelayWithoutClient => "a PROXY header named no client: the proxy's own address counts",
            Self::UnexpectedProxyHeader => {
                "a connection began with a PROXY header while proxy_protocol is off: it was refused"
            }
        }
    }

    /// Whether it is all right with many: said at level info, not as a warning.
    #[must_use]
    pub const fn is_usual(self) -> bool {
        matches!(self, Self::AllTrusted | Self::FurtherField | Self::RelayWithoutClient)
    }

    const fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// A set of [`Diagnostic`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Diagnostics(u32);

impl Diagnostics {
    /// None.
    pub const NONE: Self = Self(0);

    /// The set with these bits, as [`bits`](Self::bits) gave them.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The set as bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this one is in it.
    #[must_use]
    pub const fn has(self, diagnostic: Diagnostic) -> bool {
        self.0 & diagnostic.bit() != 0
    }

    /// Those that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// In the order of their codes.
    pub fn iter(self) -> impl Iterator<Item = Diagnostic> {
        Diagnostic::ALL.into_iter().filter(move |diagnostic| self.has(*diagnostic))
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(diagnostic.bit())
    }
}

impl BitOr for Diagnostics {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What is doubtful about a request from `peer` whose client was found like this. Looks only for what is not in `known`.
pub(crate) fn diagnose(
    peer: Peer,
    headers: &HeaderMap,
    trust: &Trust,
    ending: Ending,
    known: Diagnostics,
) -> Diagnostics {
    let mut found = Diagnostics::NONE;
    let mut note = |diagnostic: Diagnostic, holds: &dyn Fn() -> bool| {
        if !known.has(diagnostic) && holds() {
            found = found | diagnostic.into();
        }
    };
    match ending {
        Ending::Found => {}
        Ending::Unasked => {
            note(Diagnostic::UntrustedUser, &|| headers.contains_key(&trust.user_header));
            if let Peer::Relayed(_) = peer {
                note(Diagnostic::Disagreement, &|| disagrees(peer, headers, trust));
            } else {
                note(Diagnostic::UntrustedClientAddress, &|| {
                    has_own(headers, trust) || has_other(headers, trust)
                });
            }
        }
        Ending::Absent => note(Diagnostic::OtherField, &|| has_other(headers, trust)),
        Ending::AllTrusted => note(Diagnostic::AllTrusted, &|| true),
        Ending::Short => note(Diagnostic::ShortChain, &|| true),
        Ending::NoAddress => note(Diagnostic::NoAddress, &|| true),
        Ending::Repeated => note(Diagnostic::RepeatedClientAddress, &|| true),
    }
    if !matches!(ending, Ending::Unasked | Ending::Absent) {
        note(Diagnostic::FurtherField, &|| has_other(headers, trust));
    }
    found
}

fn has_own(headers: &HeaderMap, trust: &Trust) -> bool {
    match &trust.client_address_header {
        ClientAddressHeader::XForwardedFor => headers.contains_key(&X_FORWARDED_FOR),
        ClientAddressHeader::Forwarded => headers.contains_key(FORWARDED),
        ClientAddressHeader::Single(name) => headers.contains_key(name),
    }
}

/// Whether there is a field that says who the client is, other than the one that is read.
fn has_other(headers: &HeaderMap, trust: &Trust) -> bool {
    let own = trust.client_address_header.name();
    [&X_FORWARDED_FOR, &FORWARDED, &X_REAL_IP]
        .into_iter()
        .any(|name| name != own && headers.contains_key(name))
}

/// Whether the field, were it believed, would name another client as the last address before this connection.
fn disagrees(peer: Peer, headers: &HeaderMap, trust: &Trust) -> bool {
    let Some(address) = peer.address() else { return false };
    let believing = Trust { proxies: cupo_core::Proxies::Hops(core::num::NonZeroU8::MIN), ..trust.clone() };
    let (said, ending) = find(Peer::Address(address), headers, &believing);
    !matches!(ending, Ending::Absent) && said != Some(cupo_core::canonical_address(address))
}

/// Removes from a request what only a trusted proxy may say and this peer is not: the headers that [are vouched
/// for](is_vouched).
pub fn strip_unvouched(headers: &mut HeaderMap, policy: &Policy) {
    // Almost always there is none, and nothing is copied.
    let found: Vec<HeaderName> = headers.keys().filter(|name| is_vouched(name, policy)).cloned().collect();
    for name in found {
        headers.remove(name);
    }
}

/// Whether only a trusted proxy may send this header: one of [`Policy::vouched_headers`], also under names that CGI-like interfaces
/// cannot tell from theirs (`x_user`).
#[must_use]
pub fn is_vouched(name: &HeaderName, policy: &Policy) -> bool {
    policy.vouched_headers().any(|vouched| same(name.as_str(), vouched))
}

/// Equality up to `_` for `-`.
fn same(name: &str, other: &str) -> bool {
    let plain = |byte: u8| if byte == b'_' { b'-' } else { byte };
    name.len() == other.len() && name.bytes().map(plain).eq(other.bytes().map(plain))
}
