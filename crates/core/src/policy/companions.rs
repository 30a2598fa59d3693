//! Keys that a request could be meant by, where it shows several values for a part.
//!
//! It is counted as one of all that do so. But nobody knows which value the upstream goes by: whoever is blocked by one of them
//! is blocked, whatever comes beside it.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::attributes::Attributes;
use crate::key::{Context, Key, KeySpec, Kind};

/// The most keys that are looked at.
const MOST: usize = 4_096;

/// The request as if it had shown one value alone of what comes several times.
struct Chosen<'a, A: ?Sized> {
    request: &'a A,
    values: Vec<(&'a Kind, &'a [u8])>,
}

impl<A: Attributes + ?Sized> Chosen<'_, A> {
    fn value(&self, wanted: impl Fn(&Kind) -> bool) -> Option<Cow<'_, [u8]>> {
        let found = self.values.iter().find(|(kind, _)| wanted(kind));
        found.map(|(_, value)| Cow::Borrowed(*value))
    }
}

impl<A: Attributes + ?Sized> Attributes for Chosen<'_, A> {
    fn client(&self) -> Option<IpAddr> {
        self.request.client()
    }

    fn api_key(&self) -> Option<Cow<'_, [u8]>> {
        self.value(|kind| *kind == Kind::ApiKey).or_else(|| self.request.api_key())
    }

    fn user(&self) -> Option<Cow<'_, [u8]>> {
        self.value(|kind| *kind == Kind::User).or_else(|| self.request.user())
    }

    fn host(&self) -> Option<&str> {
        self.request.host()
    }

    fn header(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let wanted = |kind: &Kind| matches!(kind, Kind::Header(own) if **own == *name);
        self.value(wanted).or_else(|| self.request.header(name))
    }

    fn query(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let wanted = |kind: &Kind| matches!(kind, Kind::Query(own) if **own == *name);
        self.value(wanted).or_else(|| self.request.query(name))
    }

    fn cookie(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let wanted = |kind: &Kind| matches!(kind, Kind::Cookie(own) if **own == *name);
        self.value(wanted).or_else(|| self.request.cookie(name))
    }

    fn claim(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.claim(name)
    }

    fn descriptor(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.request.descriptor(name)
    }
}

/// The first of these keys that is `wanted`. Where there are more than are looked at, that is `joint`, the key that the request is
/// counted by: too much is found rather than too little.
pub(super) fn find<A: Attributes + ?Sized>(
    spec: &KeySpec,
    joint: &Key,
    prefix: &Key,
    request: &A,
    context: &Context<'_>,
    wanted: impl Fn(&Key) -> bool,
) -> Option<Key> {
    let mut several: Vec<(&Kind, Vec<Vec<u8>>)> = Vec::new();
    for kind in spec.kinds() {
        let mut count = 0_usize;
        request.values(kind, &mut |_| count = count.saturating_add(1));
        if count > 1 {
            let mut values = Vec::with_capacity(count);
            request.values(kind, &mut |value| values.push(value.to_vec()));
            values.sort_unstable();
            values.dedup();
            several.push((kind, values));
        }
    }
    if several.is_empty() {
        return None;
    }
    let count = several.iter().map(|(_, values)| values.len()).fold(1, usize::saturating_mul);
    if count > MOST {
        return Some(joint.clone());
    }
    let context = Context { api_key: None, ..*context };
    (0..count).find_map(|number| {
        let (mut rest, mut values) = (number, Vec::with_capacity(several.len()));
        for (kind, all) in &several {
            values.push((*kind, all.get(rest.checked_rem(all.len())?)?.as_slice()));
            rest = rest.checked_div(all.len())?;
        }
        let key = spec.key(prefix, &Chosen { request, values }, &context, true).ok()?;
        wanted(&key).then_some(key)
    })
}

#[cfg(test)]
mod tests {
    use super::{Attributes, Context, Cow, Key, KeySpec, Kind, find};
    use crate::key::Hasher;

    /// Every header has this many values.
    struct Several(u8);

    impl Attributes for Several {
        fn header(&self, _: &str) -> Option<Cow<'_, [u8]>> {
            Some(Cow::Borrowed(b"several"))
        }

        fn values(&self, kind: &Kind, value: &mut dyn FnMut(&[u8])) {
            if matches!(kind, Kind::Header(_)) {
                (0..self.0).for_each(|number| value(&[b'a'.saturating_add(number)]));
            }
        }
    }

    fn look(values: u8, wanted: impl Fn(&Key) -> bool) -> Option<Key> {
        let spec = KeySpec::parse(&["header(a)", "global", "header(b)", "header(c)"]).unwrap();
        let hasher = Hasher::new(None);
        let context = Context { ipv6_prefix: 64, method: None, route: None, hasher: &hasher, api_key: None };
        let (joint, prefix) = (Key::builder("joint").build(), Key::builder("r").build());
        find(&spec, &joint, &prefix, &Several(values), &context, wanted)
    }

    #[test]
    fn every_combination_is_looked_at_once() {
        let seen = std::cell::RefCell::new(std::collections::BTreeSet::new());
        let found = look(16, |key| {
            assert!(seen.borrow_mut().insert(key.clone()), "twice");
            false
        });
        assert_eq!((found, seen.borrow().len()), (None, 4_096));
        let last = seen.borrow().last().cloned().unwrap();
        assert_eq!(look(16, |key| *key == last), Some(last));
    }

    #[test]
    fn more_than_can_be_looked_at_is_found() {
        assert_eq!(look(17, |_| false), Some(Key::builder("joint").build()));
        assert_eq!(look(1, |_| true), None, "one value is counted as itself");
        assert_eq!(look(0, |_| true), None);
    }
}
