//! The route of a request: its normal path, and the template that names it.

use std::borrow::Cow;

use crate::path::{Template, collapse};

/// The route of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route<'a> {
    /// Normal.
    pub(super) path: &'a str,
    /// The most specific template of the policy that matches.
    pub(super) template: Option<&'a Template>,
}

impl Route<'_> {
    /// The template; where the policy has none, the path itself with numeric and UUID segments replaced by `{id}`.
    pub(crate) fn template(&self) -> Cow<'_, str> {
        self.template.map_or_else(|| collapse(self.path), |template| Cow::Borrowed(template.as_str()))
    }
}
