//! The route: method and path template.

use super::super::builder::KeyBuilder;
use super::super::hash::{ApiKeyHash, Hasher};
use super::plain::HASHED;
use super::{Context, plain};
use crate::method::counted;

/// `HEAD` shares the budget of `GET`, whose answer it asks about.
pub(super) fn write(tag: u8, context: &Context<'_>, key: &mut KeyBuilder) -> bool {
    let Some(route) = context.route else { return false };
    write_template(tag, context.method, &route.template(), None, context.hasher, key)
}

/// Writes a template, or the hash of one.
pub(super) fn write_template(
    tag: u8,
    method: Option<&str>,
    template: &str,
    hash: Option<ApiKeyHash>,
    hasher: &Hasher,
    key: &mut KeyBuilder,
) -> bool {
    let method = match method.map(counted) {
        Some("HEAD") => "GET",
        Some(method) => method,
        None => "",
    };
    match hash {
        Some(hash) => {
            key.push(tag | HASHED, method, &hash.0);
            true
        }
        None => plain::write(tag, method, Some(template.as_bytes()), hasher, key),
    }
}
