//! Where counters are kept.

use std::path::PathBuf;

use super::scalar::MAX;
use super::value::{Map, Value};
use crate::problem::{Expected, Problem};
use crate::store_source::{MemoryBound, PasswordSource, RedisSource, StoreSource};
use crate::tree::Content;

/// Far more keys than any machine holds.
const MAX_KEYS: u64 = 1_000_000_000;

const REDIS: &[&str] = &[
    "url",
    "username",
    "password_env",
    "password_file",
    "prefix",
    "deadline",
    "connect_timeout",
    "max_waiters",
    "batch_max",
    "denial_cache",
    "breaker",
    "tls",
];

/// What a URL of servers begins with; `valkey` may stand for `redis`.
pub(crate) const SCHEMES: &[&str] = &[
    "redis://",
    "rediss://",
    "unix://",
    "redis-sentinel://",
    "rediss-sentinel://",
    "redis-cluster://",
    "rediss-cluster://",
];

pub(super) fn store(value: &Value<'_>) -> Option<StoreSource> {
    match value.content() {
        Content::Text { text, .. } if text.contains("://") => value.fault(Problem::StoreIsUrl),
        Content::Text { .. } => {
            value.word("a store", &["memory"], |name| name).map(|_| StoreSource::default())
        }
        Content::Map(_) => {
            let map = value.map(&["memory", "redis"])?;
            match (map.get("memory"), map.get("redis")) {
                (Some(_), Some(other)) => other.fault(Problem::Conflict { one: "memory", other: "redis" }),
                (None, Some(servers)) => redis(&servers),
                (_, None) => memory(&map.need("memory", "memory: { max_bytes: 64MiB }")?),
            }
        }
        _ => value.wrong_type(Expected::Store),
    }
}

fn memory(value: &Value<'_>) -> Option<StoreSource> {
    let map = value.map(&["max_bytes", "max_keys"])?;
    let bound = match (map.get("max_bytes"), map.get("max_keys")) {
        (Some(_), Some(keys)) => {
            return keys.fault(Problem::Conflict { one: "max_bytes", other: "max_keys" });
        }
        (Some(bytes), None) => Some(MemoryBound::Bytes(bytes.size(64 << 10, MAX)?)),
        (None, Some(keys)) => Some(MemoryBound::Keys(keys.integer(1, MAX_KEYS)?)),
        (None, None) => None,
    };
    Some(StoreSource::Memory { bound })
}

fn redis(value: &Value<'_>) -> Option<StoreSource> {
    let map = value.map(REDIS)?;
    let text =
        |map: &Map<'_>, name| map.or(name, None, |value| value.text().map(|text| Some(text.to_owned())));
    let file =
        |map: &Map<'_>, name| map.or(name, None, |value| value.text().map(|path| Some(PathBuf::from(path))));
    let url = map.need("url", "url: redis://127.0.0.1:6379").and_then(|value| url(&value));
    let password = password(&map);
    let time = |map: &Map<'_>, name| map.or(name, None, |value| value.duration().map(Some));
    let count = |name, most| map.or(name, None, |value| value.integer(1, most).map(Some));
    let breaker = map.or("breaker", (None, None), |value| {
        let map = value.map(&["failures", "rest"])?;
        let failures = map.or("failures", None, |value| value.integer(1, 1_000).map(Some))?;
        Some((failures.and_then(|n| u32::try_from(n).ok()), time(&map, "rest")?))
    });
    let tls = map.or("tls", (None, None, None), |value| {
        let map = value.map(&["ca_file", "certificate_file", "key_file"])?;
        Some((file(&map, "ca_file")?, file(&map, "certificate_file")?, file(&map, "key_file")?))
    });
    let username = text(&map, "username");
    let prefix = text(&map, "prefix");
    let deadline = time(&map, "deadline");
    let connect_timeout = time(&map, "connect_timeout");
    let max_waiters = count("max_waiters", 1_000_000);
    let batch_max = count("batch_max", 500);
    let denial_cache = map.or("denial_cache", None, |value| value.boolean().map(Some));
    let (breaker_failures, breaker_rest) = breaker?;
    let (ca_file, certificate_file, key_file) = tls?;
    Some(StoreSource::Redis(Box::new(RedisSource {
        url: url?,
        username: username?,
        password: password?,
        prefix: prefix?,
        deadline: deadline?,
        connect_timeout: connect_timeout?,
        max_waiters: max_waiters?,
        batch_max: batch_max?,
        denial_cache: denial_cache?,
        breaker_failures,
        breaker_rest,
        ca_file,
        certificate_file,
        key_file,
    })))
}

/// The rest of it is for the store to understand.
fn url(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    let known = text.replacen("valkey", "redis", 1);
    if SCHEMES.iter().any(|scheme| known.starts_with(scheme)) {
        Some(text.to_owned())
    } else {
        value.fault(Problem::StoreUrl)
    }
}

fn password(map: &Map<'_>) -> Option<Option<PasswordSource>> {
    match (map.get("password_env"), map.get("password_file")) {
        (Some(_), Some(file)) => {
            file.fault(Problem::Conflict { one: "password_env", other: "password_file" })
        }
        (Some(variable), None) => Some(Some(PasswordSource::Environment(variable.text()?.to_owned()))),
        (None, Some(file)) => Some(Some(PasswordSource::File(PathBuf::from(file.text()?)))),
        (None, None) => Some(None),
    }
}
