//! The route: method and path template.

use super::super::builder::KeyBuilder;
use super::{Context, plain};
use crate::method::counted;

/// `HEAD` shares the budget of `GET`, whose answer it asks about.
pub(super) fn write(tag: u8, context: &Context<'_>, key: &mut KeyBuilder) -> bool {
    let Some(route) = context.route else { return false };
    let method = match context.method.map(counted) {
        Some("HEAD") => "GET",
        Some(method) => method,
        None => "",
    };
    plain::write(tag, method, Some(route.template().as_bytes()), context.hasher, key)
}
