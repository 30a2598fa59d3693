//! Keys as people write them, part by part: `ip=203.0.113.7`, `route=GET /users/{id}`, `api_key=sha256:…`. What is shown in this
//! way can be said in this way.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use super::builder::{Key, KeyBuilder};
use super::hash::{ApiKeyHash, Hasher};
use super::kind::{Context, HASHED, Kind, tag_name};
use super::show::Fields;
use super::spec::{KeySpec, show};
use crate::attributes::Attributes;

/// What stands before a hash.
const HASH: &str = "sha256:";

/// The part that a request lacked.
const MISSING: &str = "missing";

/// Why texts name no key of a rule. The texts are not repeated: one may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SaidError {
    /// The key has another number of parts.
    #[error("the rule counts by {key}, which has {wanted} parts, and {given} are given")]
    Count {
        /// The key, as the policy writes it.
        key: Box<str>,
        /// How many parts it has.
        wanted: usize,
        /// How many are given.
        given: usize,
    },
    /// A part with alternatives does not say which.
    #[error("part {part} has to say what it is: begin with one of {forms}")]
    Which {
        /// The number of the part, from 1.
        part: usize,
        /// The beginnings there are.
        forms: Box<str>,
    },
    /// A part is no value of its kind.
    #[error("part {part} is not a value of `{kind}`{hint}")]
    Value {
        /// The number of the part, from 1.
        part: usize,
        /// The kind.
        kind: Box<str>,
        /// What would be one.
        hint: &'static str,
    },
}

/// Brings a value in clear to the spelling in which requests with it are counted.
pub type Spelling<'a> = &'a dyn Fn(&Kind, &str) -> Vec<u8>;

/// One value, whatever is asked for.
struct Said<'a>(&'a [u8]);

impl Said<'_> {
    fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(self.0))
    }
}

impl Attributes for Said<'_> {
    fn client(&self) -> Option<IpAddr> {
        core::str::from_utf8(self.0).ok()?.parse().ok()
    }

    fn api_key(&self) -> Option<Cow<'_, [u8]>> {
        self.bytes()
    }

    fn user(&self) -> Option<Cow<'_, [u8]>> {
        self.bytes()
    }

    fn host(&self) -> Option<&str> {
        core::str::from_utf8(self.0).ok()
    }

    fn header(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        self.bytes()
    }

    fn query(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        self.bytes()
    }

    fn cookie(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        self.bytes()
    }

    fn claim(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        self.bytes()
    }

    fn descriptor(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        self.bytes()
    }
}

impl KeySpec {
    /// The key whose parts are said in `parts`, under `prefix`. A part is `KIND=VALUE`, or the value alone where it has no
    /// alternatives; `missing` for one that requests lacked, `global` for that kind, which may be left out where the key has no
    /// other part. Secrets are said in clear, or as `sha256:` and their hash.
    pub(crate) fn said<T: AsRef<str>>(
        &self,
        prefix: &Key,
        parts: &[T],
        ipv6_prefix: u8,
        hasher: &Hasher,
        spelling: Spelling<'_>,
    ) -> Result<Key, SaidError> {
        let mut key = Key::continued(prefix);
        let all: Vec<&[Kind]> = self.parts().collect();
        if parts.is_empty() && matches!(all.as_slice(), [only] if **only == [Kind::Global]) {
            key.push(Kind::Global.tag(), "", b"");
            return Ok(key.build());
        }
        if parts.len() != all.len() {
            return Err(SaidError::Count {
                key: self.to_string().into(),
                wanted: all.len(),
                given: parts.len(),
            });
        }
        for (i, (alternatives, text)) in all.iter().zip(parts).enumerate() {
            let part = i.saturating_add(1);
            let text = text.as_ref();
            if text == MISSING {
                key.push(0, "", b"");
                continue;
            }
            let named =
                |kind: &Kind| Some((kind.clone(), text.strip_prefix(&show(kind))?.strip_prefix('=')?));
            let (kind, value) = match (alternatives.iter().find_map(named), *alternatives) {
                (Some(found), _) => found,
                (None, [only]) => (only.clone(), text),
                (None, _) if text == "global" && alternatives.contains(&Kind::Global) => (Kind::Global, text),
                (None, several) => {
                    let forms: Vec<String> =
                        several.iter().map(|kind| format!("`{}=`", show(kind))).collect();
                    return Err(SaidError::Which { part, forms: forms.join(", ").into() });
                }
            };
            let context = Context { ipv6_prefix, method: None, route: None, hasher, api_key: None };
            if !write(&kind, value, &context, spelling, &mut key) {
                return Err(SaidError::Value { part, kind: show(&kind).into(), hint: hint(&kind) });
            }
        }
        Ok(key.build())
    }
}

const fn hint(kind: &Kind) -> &'static str {
    match kind {
        Kind::Ip => ": write an IP address",
        Kind::Route => ": write `METHOD /path/template`, or the template alone where requests had no method",
        Kind::Global => ": write `global`",
        Kind::Host => ": write a host name",
        _ => ": it is empty",
    }
}

/// Adds the part; `false` where the value is none of its kind.
fn write(
    kind: &Kind,
    value: &str,
    context: &Context<'_>,
    spelling: Spelling<'_>,
    key: &mut KeyBuilder,
) -> bool {
    let hash = value.strip_prefix(HASH).and_then(|hash| hash.parse::<ApiKeyHash>().ok());
    let (tag, name) = (kind.tag(), kind.argument());
    match (kind, hash) {
        (Kind::Global, _) => {
            key.push(tag, "", b"");
            matches!(value, "" | "global")
        }
        (Kind::Route, hash) => {
            let (method, template) = value.split_once(' ').unwrap_or(("", value));
            let hash = hash.or_else(|| template.strip_prefix(HASH)?.parse().ok());
            let sound = template.starts_with('/') || hash.is_some();
            sound && kind.write_route(method, template, hash, context, key)
        }
        (Kind::ApiKey | Kind::Header(_) | Kind::Query(_) | Kind::Cookie(_), Some(hash)) => {
            key.push(tag, name, &hash.0);
            true
        }
        (Kind::User | Kind::Host | Kind::Descriptor(_) | Kind::Claim(_), Some(hash)) => {
            key.push(tag | HASHED, name, &hash.0);
            true
        }
        (Kind::Method, _) => {
            let context = Context { method: Some(value), ..*context };
            kind.write(&Said(b""), &context, key)
        }
        _ => kind.write(&Said(&spelling(kind, value)), context, key),
    }
}

impl Key {
    /// The parts as people say them, each as [`Policy::counters`](crate::Policy::counters) takes it: hashes of secrets are whole.
    #[must_use]
    pub fn said_parts(&self) -> Vec<String> {
        let mut fields = Fields::of(self.as_bytes());
        let _scope = fields.field();
        let mut parts = Vec::new();
        while let Some((tag, name, value)) = fields.part() {
            if let Some(part) = said_part(tag, name, value) {
                parts.push(part);
            }
        }
        parts
    }

    /// The key whose canonical bytes these are; `None` where they are none.
    #[must_use]
    pub fn from_canonical(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields::of(bytes);
        let mut key = Self::builder(core::str::from_utf8(fields.field()?).ok()?);
        while !fields.is_empty() {
            let (tag, name, value) = fields.part()?;
            key.push(tag, core::str::from_utf8(name).ok()?, value);
        }
        let key = key.build();
        (key.as_bytes() == bytes).then_some(key)
    }

    /// The name of the rule.
    #[must_use]
    pub fn rule_name(&self) -> &[u8] {
        let scope = Fields::of(self.as_bytes()).field().unwrap_or_default();
        // How states are to be read follows behind it.
        scope.split(|byte| *byte < 16).next().unwrap_or_default()
    }

    /// The key of the same parts under the name of its rule alone, whichever limit counts them.
    #[must_use]
    pub fn without_limit(&self) -> Self {
        let mut fields = Fields::of(self.as_bytes());
        let _scope = fields.field();
        let mut key = Self::builder(core::str::from_utf8(self.rule_name()).unwrap_or_default());
        while let Some((tag, name, value)) = fields.part() {
            if tag_name(tag & !HASHED).is_some() {
                key.push(tag, core::str::from_utf8(name).unwrap_or_default(), value);
            }
        }
        key.build()
    }
}

/// `None` for what is not part of a request, but of the limit that counts it.
fn said_part(tag: u8, name: &[u8], value: &[u8]) -> Option<String> {
    let kind = tag_name(tag & !HASHED)?;
    let name = String::from_utf8_lossy(name);
    let hashed = tag & HASHED != 0 || matches!(kind, "api_key" | "header" | "query" | "cookie");
    let value = match (kind, value) {
        ("global" | MISSING, _) => return Some(kind.to_owned()),
        ("ip", &[a, b, c, d]) => Ipv4Addr::new(a, b, c, d).to_string(),
        ("ip", value) if value.len() == 16 => {
            Ipv6Addr::from(<[u8; 16]>::try_from(value).unwrap_or_default()).to_string()
        }
        (_, value) if hashed && value.len() == 32 => {
            format!("{HASH}{}", ApiKeyHash(<[u8; 32]>::try_from(value).unwrap_or_default()))
        }
        (_, value) => String::from_utf8_lossy(value).into_owned(),
    };
    Some(match (kind, &*name) {
        ("route", "") | (_, "") => format!("{kind}={value}"),
        ("route", method) => format!("route={method} {value}"),
        (_, name) => format!("{kind}({name})={value}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::hash::Hasher;
    use super::{Key, KeySpec, SaidError};

    fn said(spec: &[&str], parts: &[&str]) -> Result<Key, SaidError> {
        let prefix = Key::scope("r", &[1, 0x16]);
        let spelling = |_: &_, value: &str| value.as_bytes().to_vec();
        KeySpec::parse(spec).unwrap().said(&prefix, parts, 64, &Hasher::new(None), &spelling)
    }

    #[test]
    fn what_is_shown_can_be_said() {
        let long = "x".repeat(200);
        for (spec, parts, shown) in [
            (vec!["ip"], vec!["203.0.113.7"], vec!["ip=203.0.113.7"]),
            (vec!["ip"], vec!["::ffff:203.0.113.7"], vec!["ip=203.0.113.7"]),
            (vec!["ip"], vec!["2001:db8:0:1::9"], vec!["ip=2001:db8:0:1::"]),
            (vec!["api_key | ip"], vec!["ip=203.0.113.7"], vec!["ip=203.0.113.7"]),
            (
                vec!["route", "user"],
                vec!["GET /users/{id}", "alice"],
                vec!["route=GET /users/{id}", "user=alice"],
            ),
            (vec!["route"], vec!["head /a"], vec!["route=GET /a"]),
            (vec!["route"], vec!["/a"], vec!["route=/a"]),
            (vec!["user"], vec!["missing"], vec!["missing"]),
            (vec!["user"], vec!["user=missing"], vec!["user=missing"]),
            (vec!["user"], vec!["a=b"], vec!["user=a=b"]),
            (vec!["claim(org.id)"], vec!["7"], vec!["claim(org.id)=7"]),
            (vec!["host"], vec!["API.example.com:80"], vec!["host=api.example.com"]),
            (vec!["method"], vec!["get"], vec!["method=GET"]),
            (vec!["global"], vec![], vec!["global"]),
            (vec!["ip | global"], vec!["global"], vec!["global"]),
        ] {
            let key = said(&spec, &parts).unwrap_or_else(|error| panic!("{parts:?}: {error}"));
            assert_eq!(key.said_parts(), shown, "{parts:?}");
            assert_eq!(
                said(&spec, &key.said_parts().iter().map(String::as_str).collect::<Vec<_>>()),
                Ok(key)
            );
        }
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for spec in ["api_key", "header(x-a)", "query(q)", "cookie(c)"] {
            assert_eq!(said(&[spec], &["abc"]), said(&[spec], &[abc]));
            let shown = said(&[spec], &["abc"]).unwrap().said_parts();
            assert_eq!(shown, [format!("{spec}={abc}")]);
        }
        let user = said(&["user"], &[&long]).unwrap();
        let shown = user.said_parts();
        assert!(shown[0].starts_with("user=sha256:") && shown[0].len() < 80, "{shown:?}");
        assert_eq!(said(&["user"], &[&shown[0]]), Ok(user));
    }

    #[test]
    fn what_names_no_key_is_refused_and_not_repeated() {
        for (spec, parts) in [
            (vec!["ip"], vec!["secret"]),
            (vec!["ip"], vec![]),
            (vec!["ip"], vec!["203.0.113.7", "secret"]),
            (vec!["api_key | ip"], vec!["secret"]),
            (vec!["user"], vec![""]),
            (vec!["route"], vec!["GET secret"]),
            (vec!["route"], vec!["secret"]),
            (vec!["global"], vec!["secret"]),
            (vec!["api_key"], vec!["  "]),
        ] {
            let error = said(&spec, &parts).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_key_without_its_limit_is_that_of_its_parts() {
        let key = said(&["ip"], &["203.0.113.7"]).unwrap();
        let plain = Key::builder("r").part(2, "", &[203, 0, 113, 7]).build();
        assert_eq!(key.without_limit(), plain);
        assert_eq!(plain.without_limit(), plain);
        assert_eq!(Key::from_canonical(plain.as_bytes()), Some(plain.clone()));
        assert_eq!((key.rule_name(), plain.rule_name()), (&b"r"[..], &b"r"[..]));
        for end in 0..plain.as_bytes().len() {
            let cut = Key::from_canonical(&plain.as_bytes()[..end]);
            assert!(cut.is_none_or(|cut| cut.as_bytes().len() == end), "{end}");
        }
        assert_eq!(Key::from_canonical(b""), None);
        assert_eq!(Key::from_canonical(b"\x81\x00r"), None, "a length in another spelling");
    }
}
