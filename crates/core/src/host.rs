//! Hosts: one spelling for each, and patterns that name one or all below one.

use std::borrow::Cow;
use std::net::Ipv6Addr;

/// The one spelling of `host`: in lower case, without user, port and final dots; an IPv6 address in brackets. `None` where
/// nothing is left. Allocates only where the spelling was another. O(length).
#[must_use]
pub fn canonical_host(host: &str) -> Option<Cow<'_, str>> {
    let host = host.rsplit('@').next().unwrap_or_default().trim_ascii();
    let bare = without_port(host);
    let literal = bare.strip_prefix('[').map_or(bare, |text| text.strip_suffix(']').unwrap_or(text));
    if literal.contains(':')
        && let Ok(address) = literal.parse::<Ipv6Addr>()
    {
        let canonical = format!("[{address}]");
        return Some(if canonical == bare { Cow::Borrowed(bare) } else { Cow::Owned(canonical) });
    }
    let name = bare.trim_end_matches('.');
    match name {
        "" => None,
        _ if name.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            Some(Cow::Owned(name.to_ascii_lowercase()))
        }
        _ => Some(Cow::Borrowed(name)),
    }
}

fn without_port(host: &str) -> &str {
    if host.starts_with('[') {
        return host.find(']').and_then(|end| host.get(..=end)).unwrap_or(host);
    }
    match host.split_once(':') {
        // An IPv6 address whose brackets are missing has several colons and no port.
        Some((name, port)) if !port.contains(':') || host.parse::<Ipv6Addr>().is_err() => name,
        _ => host,
    }
}

/// The key of a host pattern: `api.example.com` for that host, `.example.org` for `*.example.org`, which is every host
/// below that one. `None` where `pattern` is neither.
pub(crate) fn pattern_key(pattern: &str) -> Option<Box<str>> {
    let (wild, name) = match pattern.strip_prefix("*.") {
        Some(name) => (".", name),
        None => ("", pattern),
    };
    let lower = name.to_ascii_lowercase();
    let bare = lower.strip_suffix('.').unwrap_or(&lower);
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    let address = wild.is_empty() && name.starts_with('[') && name.ends_with(']');
    if address {
        let address: Ipv6Addr = name.get(1..name.len().saturating_sub(1))?.parse().ok()?;
        return Some(format!("[{address}]").into());
    }
    let sound = bare.len() <= 253 && bare.split('.').all(label);
    sound.then(|| format!("{wild}{bare}").into())
}

/// How many dots a key of a pattern for hosts below another has; 0 for that of a host.
pub(crate) fn wild_dots(key: &str) -> usize {
    if key.starts_with('.') { key.matches('.').count() } else { 0 }
}

/// The keys of all patterns that match the canonical `host`, if they have at most `dots` of [`wild_dots`].
pub(crate) fn keys(host: &str, dots: usize) -> impl Iterator<Item = &str> {
    let below = host.rmatch_indices('.').take(dots).filter_map(|(at, _)| host.get(at..));
    core::iter::once(host).chain(below)
}

/// Hosts and patterns, any of which may match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hosts {
    /// Sorted.
    keys: Box<[Box<str>]>,
    dots: usize,
}

impl FromIterator<Box<str>> for Hosts {
    fn from_iter<I: IntoIterator<Item = Box<str>>>(keys: I) -> Self {
        let mut keys: Vec<Box<str>> = keys.into_iter().collect();
        keys.sort_unstable();
        keys.dedup();
        let dots = keys.iter().map(|key| wild_dots(key)).max().unwrap_or(0);
        Self { keys: keys.into(), dots }
    }
}

impl Hosts {
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| &**key)
    }

    /// Whether the canonical `host` is one of them. O(labels × log patterns).
    pub(crate) fn contain(&self, host: &str) -> bool {
        keys(host, self.dots).any(|key| self.keys.binary_search_by(|own| (**own).cmp(key)).is_ok())
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
