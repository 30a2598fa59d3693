//! Who asked: the client's address, by the word of trusted proxies only.
//!
//! `X-Forwarded-For` and `Forwarded` are written from left to right: each proxy appends the address that it was asked from. So only the
//! rightmost entry is the word of the peer, and each further one is vouched for only while the one to its right is a trusted
//! proxy. Walking from the right and stopping at the first untrusted address leaves nothing that a caller writes a say.

mod entry;
mod forwarded;

use std::net::IpAddr;

use cupo_core::{ClientAddressHeader, Proxies, Trust, canonical_address};
use http::HeaderMap;
use http::header::{FORWARDED, HeaderName, HeaderValue, ValueIter};

use crate::peer::Peer;

pub(crate) static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// One entry of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Address(IpAddr),
    /// Well-formed, and says no address.
    Hidden,
    /// No telling what it says, nor what stands to its left.
    Broken,
}

/// How a client's address was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The peer is not trusted, and is the client.
    Unasked,
    /// The field is not there; the peer is the client.
    Absent,
    /// By the first address that is not trusted.
    Found,
    /// All are trusted, and the farthest counts.
    AllTrusted,
    /// There are fewer entries than hops, and the farthest counts.
    Short,
    /// An entry is no address, and the one before it counts.
    NoAddress,
    /// A field with one value comes several times, and the peer counts.
    Repeated,
}

impl Ending {
    /// How it was found, in words; `header` is the one that the policy reads.
    pub(crate) fn says(self, peer: Peer, header: &str) -> String {
        let own = match peer {
            Peer::Unknown => "nobody knows where the request comes from",
            Peer::Unix => "a Unix socket has none",
            Peer::Address(_) => "the address of the connection",
            Peer::Relayed(_) => "what the PROXY header says",
        };
        match self {
            Self::Unasked => own.to_owned(),
            Self::Absent => format!("{own}, a trusted proxy without {header}"),
            Self::Found => format!("from {header}, by the word of a trusted proxy"),
            Self::AllTrusted => format!("the leftmost in {header}, where all are trusted proxies"),
            Self::Short => format!("the leftmost in {header}, which has fewer entries than there are hops"),
            Self::NoAddress => format!("the last that was vouched for: an entry of {header} is no address"),
            Self::Repeated => format!("{own}, since {header} comes several times"),
        }
    }
}

/// The address that the request comes from, in [canonical](canonical_address) form: of the peer, or, where the peer is a trusted
/// proxy, the one that the policy's [`ClientAddressHeader`] says. In a list that is the nearest address which is not trusted; where
/// all are trusted, the farthest. With [`Proxies::Hops`] it is the one that many hops away, or the farthest there is. An entry that is no
/// address (`unknown`, an obfuscated name, garbage) ends the walk at the last address that was vouched for. `None` where nobody
/// said an address, as on a Unix socket.
///
/// O(entries up to the answer), without allocation.
#[must_use]
pub fn client_address(peer: impl Into<Peer>, headers: &HeaderMap, trust: &Trust) -> Option<IpAddr> {
    find(peer.into(), headers, trust).0
}

/// Whether `peer` is a proxy whose word counts. Networks are compared with the [canonical](canonical_address) form of its address.
#[must_use]
pub fn is_trusted(peer: impl Into<Peer>, trust: &Trust) -> bool {
    match (&trust.proxies, peer.into()) {
        (_, Peer::Unknown) => false,
        (Proxies::Known { unix, .. }, Peer::Unix) => *unix,
        (Proxies::Known { .. }, Peer::Address(address) | Peer::Relayed(address)) => {
            knows(&trust.proxies, canonical_address(address))
        }
        // Whoever passed the connection on is one of the hops.
        (Proxies::Hops(hops), Peer::Relayed(_)) => hops.get() > 1,
        (Proxies::Hops(_), Peer::Unix | Peer::Address(_)) => true,
    }
}

fn knows(proxies: &Proxies, address: IpAddr) -> bool {
    match proxies {
        Proxies::Known { networks, .. } => networks.iter().any(|network| network.contains(&address)),
        Proxies::Hops(_) => true,
    }
}

/// The client, and how it was found.
pub(crate) fn find(peer: Peer, headers: &HeaderMap, trust: &Trust) -> (Option<IpAddr>, Ending) {
    let own = peer.address().map(canonical_address);
    if !is_trusted(peer, trust) {
        return (own, Ending::Unasked);
    }
    let hops = match (&trust.proxies, peer) {
        (Proxies::Known { .. }, _) => None,
        (Proxies::Hops(hops), Peer::Relayed(_)) => Some(hops.get().saturating_sub(1)),
        (Proxies::Hops(hops), _) => Some(hops.get()),
    };
    match &trust.client_address_header {
        ClientAddressHeader::XForwardedFor => {
            let lines = headers.get_all(&X_FORWARDED_FOR).iter().rev();
            walk(own, lines.flat_map(|line| list(line.as_bytes())), hops, &trust.proxies)
        }
        ClientAddressHeader::Forwarded => {
            let lines = headers.get_all(FORWARDED).iter().rev();
            walk(own, lines.flat_map(|line| forwarded::entries(line.as_bytes())), hops, &trust.proxies)
        }
        ClientAddressHeader::Single(name) => single(own, headers.get_all(name).iter()),
    }
}

/// The entries of a line of `X-Forwarded-For`, from the right. Several lines are one list, in order.
fn list(line: &[u8]) -> impl Iterator<Item = Entry> {
    // An empty element of a list is none (RFC 9110, section 5.6.1).
    let entries = line.rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|entry| !entry.is_empty());
    entries.map(|entry| entry::parse(entry).map_or(Entry::Hidden, Entry::Address))
}

/// Walks the entries, which come from the right, from a trusted peer on.
fn walk(
    peer: Option<IpAddr>,
    entries: impl Iterator<Item = Entry>,
    mut hops: Option<u8>,
    proxies: &Proxies,
) -> (Option<IpAddr>, Ending) {
    let (mut vouched, mut ending) = (peer, Ending::Absent);
    for entry in entries {
        let address = match entry {
            Entry::Address(address) => Some(canonical_address(address)),
            Entry::Hidden => None,
            Entry::Broken => return (vouched, Ending::NoAddress),
        };
        if let Some(left) = &mut hops {
            // Proxies between are counted, whatever they are called.
            *left = left.saturating_sub(1);
            vouched = address.or(vouched);
            if *left == 0 {
                return (vouched, if address.is_some() { Ending::Found } else { Ending::NoAddress });
            }
            ending = Ending::Short;
        } else {
            let Some(address) = address else { return (vouched, Ending::NoAddress) };
            vouched = Some(address);
            if !knows(proxies, address) {
                return (vouched, Ending::Found);
            }
            ending = Ending::AllTrusted;
        }
    }
    (vouched, ending)
}

/// The one address that a trusted peer says.
fn single(peer: Option<IpAddr>, mut values: ValueIter<'_, HeaderValue>) -> (Option<IpAddr>, Ending) {
    let Some(value) = values.next() else { return (peer, Ending::Absent) };
    if values.next().is_some() {
        return (peer, Ending::Repeated);
    }
    match entry::parse(value.as_bytes().trim_ascii()) {
        Some(address) => (Some(canonical_address(address)), Ending::Found),
        None => (peer, Ending::NoAddress),
    }
}
