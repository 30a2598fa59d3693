//! The admin API: where it listens, and whom it answers.

use std::path::PathBuf;

use super::address;
use super::matches::some;
use super::value::Value;
use crate::admin_source::{AdminSource, AdminTlsSource, AdminToken, AdminTokenSource};
use crate::problem::Problem;
use crate::source::ListenSource;

/// The fewest bytes of a token.
pub(crate) const LEAST_TOKEN_BYTES: usize = 16;

pub(super) fn admin(value: &Value<'_>) -> Option<AdminSource> {
    let map = value.map(&["listen", "socket_mode", "tokens", "tls"])?;
    let listen = map.or("listen", ListenSource::Tcp(AdminSource::LISTEN), address::listen);
    let socket_mode = map.or("socket_mode", None, |value| address::socket_mode(value).map(Some));
    let tokens = map.or("tokens", Vec::new(), tokens);
    let tls = map.or("tls", None, |value| tls(value).map(Some));
    let (listen, tokens) = (listen?, tokens?);
    if let (ListenSource::Tcp(address), []) = (&listen, tokens.as_slice())
        && !address.ip().is_loopback()
    {
        let at = map.get("listen").unwrap_or_else(|| value.clone());
        return at.fault(Problem::AdminWithoutToken(*address));
    }
    Some(AdminSource { listen, socket_mode: socket_mode?, tokens, tls: tls? })
}

fn tokens(value: &Value<'_>) -> Option<Vec<AdminTokenSource>> {
    let items = value.list()?;
    if items.is_empty() {
        return value.fault(Problem::EmptyList);
    }
    let mut tokens: Vec<AdminTokenSource> = Vec::with_capacity(items.len());
    let mut sound = true;
    for item in items {
        match token(&item) {
            None => sound = false,
            Some(new) if tokens.iter().any(|old| old.name == new.name || old.token == new.token) => {
                let _: Option<()> = item.fault(Problem::AdminTokenTwice(new.name.into()));
                sound = false;
            }
            Some(new) => tokens.push(new),
        }
    }
    sound.then_some(tokens)
}

fn token(value: &Value<'_>) -> Option<AdminTokenSource> {
    let map = value.map(&["name", "token_env", "may"])?;
    let name = map.need("name", "name: ops").and_then(|value| name(&value));
    let token = map.need("token_env", "token_env: CUPO_ADMIN_TOKEN").and_then(|value| from_env(&value));
    let may = map.or("may", vec!["read", "change"], |value| {
        let words: Vec<Option<&str>> = some(value)?
            .iter()
            .map(|item| item.word("something that a bearer may do", &["read", "change"], |word| word))
            .collect();
        words.into_iter().collect()
    });
    let may = may?;
    Some(AdminTokenSource {
        name: name?,
        token: token?,
        may_read: may.contains(&"read"),
        may_change: may.contains(&"change"),
    })
}

fn name(value: &Value<'_>) -> Option<String> {
    let name = value.text()?;
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':' | b'@');
    if (1..=64).contains(&name.len()) && name.bytes().all(legal) {
        return Some(name.to_owned());
    }
    value.fault(Problem::AdminName(name.into()))
}

/// The token in the variable that the value names.
fn from_env(value: &Value<'_>) -> Option<AdminToken> {
    let variable = value.text()?;
    // Names that no variable can have.
    let sound = !variable.is_empty() && !variable.contains(['=', '\0']);
    let token = if sound { std::env::var_os(variable) } else { None };
    let Some(token) = token.filter(|token| !token.is_empty()) else {
        return value.fault(Problem::NoSecret(variable.into()));
    };
    let token = token.to_str().filter(|token| token.bytes().all(|byte| byte.is_ascii_graphic()));
    let Some(token) = token else { return value.fault(Problem::AdminTokenText(variable.into())) };
    if token.len() < LEAST_TOKEN_BYTES {
        return value.fault(Problem::ShortSecret(variable.into()));
    }
    Some(AdminToken(token.into()))
}

fn tls(value: &Value<'_>) -> Option<AdminTlsSource> {
    let map = value.map(&["cert_file", "key_file", "client_ca_file"])?;
    let file = |value: &Value<'_>| value.text().map(PathBuf::from);
    let cert_file = map.need("cert_file", "cert_file: admin.pem").and_then(|value| file(&value));
    let key_file = map.need("key_file", "key_file: admin.key").and_then(|value| file(&value));
    let client_ca_file = map.or("client_ca_file", None, |value| file(value).map(Some));
    Some(AdminTlsSource { cert_file: cert_file?, key_file: key_file?, client_ca_file: client_ca_file? })
}
