//! Who a request says it is from, once that has been verified.

use std::fmt;
use std::sync::Arc;

use cupo_core::Timestamp;
use http::HeaderMap;

/// What is known of who sent a request.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Identity {
    /// Nothing.
    #[default]
    Anonymous,
    /// These claims, which have been verified.
    Known(Arc<Claims>),
    /// Its credentials do not hold, and such requests are refused.
    Refused,
}

/// Finds out who sent a request. It runs on the request's path, so it must not block.
pub trait Identify: fmt::Debug + Send + Sync {
    /// Who sent the request with these headers, as far as it is known at `now`.
    fn identify(&self, headers: &HeaderMap, now: Timestamp) -> Identity;
}

impl<I: Identify + ?Sized> Identify for Arc<I> {
    fn identify(&self, headers: &HeaderMap, now: Timestamp) -> Identity {
        (**self).identify(headers, now)
    }
}

/// Claims that somebody whom the policy believes has made: names with values.
///
/// ```
/// use cupo_http::Claims;
///
/// let claims = Claims::new([("sub", "ada"), ("tenant", "acme")]).with_user("ada");
/// assert_eq!(claims.get("tenant"), Some("acme"));
/// assert_eq!(claims.user(), Some("ada"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    /// By name, each of which comes once.
    values: Box<[(Box<str>, Box<str>)]>,
    user: Option<Box<str>>,
}

impl Claims {
    /// These claims. Of two of one name the first counts.
    #[must_use]
    pub fn new<N: Into<Box<str>>, V: Into<Box<str>>>(values: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut values: Vec<(Box<str>, Box<str>)> =
            values.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        // Stable, so that the first of one name stays the first.
        values.sort_by(|(a, _), (b, _)| a.cmp(b));
        values.dedup_by(|(later, _), (first, _)| later == first);
        Self { values: values.into(), user: None }
    }

    /// The same claims of this user.
    #[must_use]
    pub fn with_user(self, user: impl Into<Box<str>>) -> Self {
        Self { user: Some(user.into()), ..self }
    }

    /// The value of the claim called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.values.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        self.values.get(found).map(|(_, value)| &**value)
    }

    /// The user.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }
}
