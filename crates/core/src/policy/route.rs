//! The route of a request: its normal path, and the template that names it.

use std::borrow::Cow;

use crate::path::{Template, collapse, normalise};

/// The route of a request.
#[derive(Debug, Clone)]
pub struct Route<'a> {
    path: Cow<'a, str>,
    template: Cow<'a, str>,
}

impl<'a> Route<'a> {
    /// The route of `path`: the most specific of `templates` (which come in that order) that matches, else the path itself
    /// with numeric and UUID segments replaced by `{id}`.
    pub(super) fn of(path: &'a str, templates: &'a [Template]) -> Self {
        let path = normalise(path);
        let template = match templates.iter().find(|t| t.matches(&path)) {
            Some(template) => Cow::Borrowed(template.as_str()),
            None => Cow::Owned(collapse(&path)),
        };
        Self { path, template }
    }

    /// The path in its one spelling.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The template.
    #[must_use]
    pub fn template(&self) -> &str {
        &self.template
    }
}
