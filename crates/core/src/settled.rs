//! What settles a request other than its limits.

use std::sync::Arc;

/// What settled a request other than its limits. [`Outcome::settled`](crate::Outcome::settled) tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settled {
    /// It lacks what a rule counts by, and the rule refuses it for that (`on_missing: deny`). Nothing was counted.
    Lacks {
        /// The rule's index in [`Policy::rules`](crate::Policy::rules).
        rule: usize,
    },
    /// It passes, whatever the rules say. Nothing was counted.
    Allowed(Entry),
    /// It passes, since requests of its kind are not counted ([`Attributes::is_uncounted`](crate::Attributes::is_uncounted)).
    Uncounted,
    /// It is refused, whatever the rules say. Nothing was counted.
    Blocked(Entry),
    /// It is refused for its credentials ([`Attributes::has_bad_credentials`](crate::Attributes::has_bad_credentials)). It was
    /// counted as a request without credentials is, and the limits had room for it.
    BadCredentials,
}

impl Settled {
    /// What allowed or blocked the request, where something did.
    #[must_use]
    pub const fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Allowed(entry) | Self::Blocked(entry) => Some(entry),
            Self::Lacks { .. } | Self::Uncounted | Self::BadCredentials => None,
        }
    }
}

/// What allows or blocks a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// The entry of this name in the policy's allow-list or block-list.
    Listed(Arc<str>),
    /// What the policy says of this caller, such as `callers[3]`.
    Caller(Arc<str>),
    /// A key that an administrator has blocked for a time, as people are shown it: the rule, then what it counts by.
    Key(Arc<str>),
}

impl Entry {
    /// The name of the entry or of the caller.
    #[must_use]
    pub const fn name(&self) -> &Arc<str> {
        match self {
            Self::Listed(name) | Self::Caller(name) | Self::Key(name) => name,
        }
    }
}
