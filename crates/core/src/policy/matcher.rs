//! Whether a rule applies to a request.

use core::fmt;

use super::route::Route;
use crate::path::Template;

/// The compiled conditions of a rule; all must hold.
#[derive(Debug)]
pub(super) struct Matcher {
    pub(super) methods: Vec<Box<str>>,
    pub(super) path: Option<Template>,
}

impl Matcher {
    /// Whether a condition asks for the path.
    pub(super) const fn needs_path(&self) -> bool {
        self.path.is_some()
    }

    pub(super) fn matches(&self, method: Option<&str>, route: Option<&Route<'_>>) -> bool {
        let method_fits =
            self.methods.is_empty() || method.is_some_and(|m| self.methods.iter().any(|own| **own == *m));
        let path_fits = self.path.as_ref().is_none_or(|own| route.is_some_and(|r| own.matches(r.path())));
        method_fits && path_fits
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.methods.as_slice(), &self.path) {
            ([], None) => f.write_str("every request"),
            ([], Some(path)) => write!(f, "{}", path.as_str()),
            (methods, None) => write!(f, "{} requests", methods.join(" or ")),
            (methods, Some(path)) => write!(f, "{} {}", methods.join(" or "), path.as_str()),
        }
    }
}
