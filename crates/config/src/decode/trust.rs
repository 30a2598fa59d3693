//! Whom to believe.

use std::num::NonZeroU8;

use cupo_core::{ClientAddressHeader, Proxies, Trust};

use super::address;
use super::value::{Map, Value};
use crate::problem::{Expected, Problem};
use crate::source::{GatewaySource, ListenSource, ProxyProtocol};
use crate::tree::Content;

/// Far more proxies than any request passes.
const MAX_HOPS: u64 = 32;

/// What is wrong is left at its default, which has no faults of its own.
pub(super) fn trust(map: &Map<'_>, gateway: &GatewaySource) -> Trust {
    let mut trust = Trust::default();
    let said = map.get("trusted_proxies").map(|value| proxies(&value));
    // What is wrong with the proxies is reported, and nothing that follows from it.
    let sound = !matches!(said, Some(None));
    trust.proxies = said.flatten().unwrap_or_default();
    if let Some(bits) = map.get("ipv6_prefix").and_then(|value| value.integer(1, 128)) {
        trust.ipv6_prefix = u8::try_from(bits).unwrap_or(trust.ipv6_prefix);
    }
    // Header names are the same in any case, and core knows them in lower case.
    let header = |name| map.get(name).and_then(|value| value.text().map(str::to_ascii_lowercase));
    if let Some(name) = header("client_address_header") {
        trust.client_address_header = ClientAddressHeader::named(&name);
    }
    if let Some(name) = header("api_key_header") {
        trust.api_key_header = name;
    }
    if let Some(name) = header("user_header") {
        trust.user_header = name;
    }
    if sound {
        relays(map, gateway, &trust);
    }
    trust
}

fn proxies(value: &Value<'_>) -> Option<Proxies> {
    match value.content() {
        Content::List(_) => {
            let (mut networks, mut unix, mut whole) = (Vec::new(), false, true);
            for item in value.list()? {
                if matches!(item.content(), Content::Text { text, .. } if text == "unix") {
                    unix = true;
                } else if let Some(network) = address::network(&item) {
                    networks.push(network);
                } else {
                    whole = false;
                }
            }
            whole.then_some(Proxies::Known { networks, unix })
        }
        Content::Map(_) => {
            let map = value.map(&["hops"])?;
            let hops = map.need("hops", "hops: 1")?.integer(1, MAX_HOPS)?;
            NonZeroU8::new(u8::try_from(hops).ok()?).map(Proxies::Hops)
        }
        _ => value.wrong_type(Expected::Proxies),
    }
}

/// Whoever may send a PROXY header says who everybody is, so somebody has to be trusted with it.
fn relays(map: &Map<'_>, gateway: &GatewaySource, trust: &Trust) {
    let Some(value) = map.get("proxy_protocol") else { return };
    if gateway.proxy_protocol.is_none_or(|protocol| protocol == ProxyProtocol::Off) {
        return;
    }
    let unix = matches!(gateway.listen, Some(ListenSource::Unix(_)));
    let trusted = match &trust.proxies {
        Proxies::Hops(_) => true,
        Proxies::Known { unix: true, .. } if unix => true,
        Proxies::Known { networks, .. } => !unix && !networks.is_empty(),
    };
    if !trusted {
        value.fault::<()>(Problem::RelayUntrusted { unix });
    }
}
