//! The route: method and path template.

use super::super::builder::KeyBuilder;
use super::plain;
use crate::policy::Route;

/// `HEAD` shares the budget of `GET`, whose answer it asks about.
pub(super) fn write(tag: u8, method: Option<&str>, route: Option<&Route<'_>>, key: &mut KeyBuilder) -> bool {
    let Some(route) = route else { return false };
    let method = match method {
        Some("HEAD") => "GET",
        Some(method) => method,
        None => "",
    };
    plain::write(tag, method, Some(route.template().as_bytes()), key)
}
