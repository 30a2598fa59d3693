//! Addresses in one line.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::error::RedisError;
use crate::secret::Secret;
use crate::settings::{Address, Deployment, RedisSettings};

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

pub(crate) fn parse(url: &str) -> Result<RedisSettings, RedisError> {
    let (scheme, rest) = url.split_once("://").ok_or_else(|| RedisError::Scheme {
        // What has no scheme may hold a password: show no more than a scheme could be.
        scheme: url.chars().take_while(char::is_ascii_alphanumeric).take(16).collect(),
    })?;
    let (kind, tls) = match scheme.replacen("valkey", "redis", 1).as_str() {
        "redis" => (Kind::Standalone, false),
        "rediss" => (Kind::Standalone, true),
        "redis-sentinel" => (Kind::Sentinel, false),
        "rediss-sentinel" => (Kind::Sentinel, true),
        "redis-cluster" => (Kind::Cluster, false),
        "rediss-cluster" => (Kind::Cluster, true),
        "unix" | "redis+unix" => return unix(rest),
        _ => return Err(RedisError::Scheme { scheme: scheme.to_owned() }),
    };
    let (servers, path) = rest.split_once('/').unwrap_or((rest, ""));
    if path.contains('@') {
        // The slash is the password's, and nothing of it may be shown.
        return Err(RedisError::Encoding { part: "password" });
    }
    let (login, hosts) = servers.rsplit_once('@').map_or((None, servers), |(l, h)| (Some(l), h));
    if let Some(i) = path.find(['?', '#']) {
        return Err(RedisError::Rest { rest: named(path.split_at(i).1) });
    }
    let default_port = if kind == Kind::Sentinel { SENTINEL_PORT } else { PORT };
    let mut addresses =
        hosts.split(',').map(|host| address(host, default_port)).collect::<Result<Vec<_>, _>>()?;
    let mut path = path.split('/').filter(|part| !part.is_empty());
    let deployment = match kind {
        Kind::Standalone => match (addresses.pop(), addresses.len()) {
            (Some(only), 0) => Deployment::Standalone(only),
            (_, others) => return Err(RedisError::SeveralHosts { hosts: others.saturating_add(1) }),
        },
        Kind::Sentinel => Deployment::Sentinel {
            sentinels: addresses,
            master: decode("name of the primary", path.next().ok_or(RedisError::NoMaster)?)?,
            username: None,
            password: None,
        },
        Kind::Cluster => Deployment::Cluster(addresses),
    };
    let mut settings = RedisSettings::new(deployment);
    settings.tls.enabled = tls;
    if let Some(text) = path.next() {
        settings.database = text.parse().map_err(|_| RedisError::Database { database: text.to_owned() })?;
    }
    if let Some(rest) = path.next() {
        return Err(RedisError::Rest { rest: named(rest) });
    }
    if let Some(login) = login {
        // As other clients have it: what stands alone before the @ is a user, and `:password` has no user.
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        settings.username = Some(decode("user", user)?).filter(|user| !user.is_empty());
        settings.password = Some(decode("password", password)?).filter(|p| !p.is_empty()).map(Secret::new);
    }
    Ok(settings)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Standalone,
    Sentinel,
    Cluster,
}

fn unix(rest: &str) -> Result<RedisSettings, RedisError> {
    if let Some(i) = rest.find(['?', '#']) {
        return Err(RedisError::Rest { rest: named(rest.split_at(i).1) });
    }
    if !rest.starts_with('/') {
        return Err(RedisError::NoHost);
    }
    Ok(RedisSettings::new(Deployment::Standalone(Address::Unix(PathBuf::from(decode("path", rest)?)))))
}

pub(crate) fn address(text: &str, default_port: u16) -> Result<Address, RedisError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or(RedisError::NoHost)?;
            (host, if port.is_empty() { None } else { Some(port.trim_start_matches(':')) })
        }
        None => match text.rsplit_once(':') {
            // An IPv6 address without brackets is taken for what it is.
            Some((host, _)) if host.contains(':') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(RedisError::NoHost);
    }
    let port = match port {
        None => default_port,
        Some(text) => match text.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(RedisError::Port { port: shown(text) }),
        },
    };
    Ok(Address::Tcp { host: host.to_owned(), port })
}

/// What should be a number; anything else may be the password of an address without `@`.
fn shown(text: &str) -> String {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        text.to_owned()
    } else {
        "…".to_owned()
    }
}

/// What means nothing, without the values of its parameters: one may be a password.
fn named(rest: &str) -> String {
    match rest.split_once('=') {
        Some((name, _)) => format!("{name}=…"),
        None => rest.to_owned(),
    }
}

fn decode(part: &'static str, text: &str) -> Result<String, RedisError> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| RedisError::Encoding { part })?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
