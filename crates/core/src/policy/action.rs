//! What a rule does.

use core::fmt;

/// What happens on excess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Action {
    /// The request is refused.
    #[default]
    Deny,
    /// The request is held until its slot; with a leaky bucket only. A full queue refuses.
    Delay,
    /// The request is counted and observed, and never refused.
    Shadow,
}

/// What happens to a request that lacks a part of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnMissing {
    /// The rule does not apply.
    Skip,
    /// All requests that lack the part share one counter: the default, since leaving something out then gains nothing.
    #[default]
    Shared,
    /// The request is refused.
    Deny,
}

/// What happens to a rule's decision when the store cannot make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnStoreError {
    /// The rule lets the request pass: an outage of the store is not an outage of the API.
    #[default]
    Allow,
    /// The request is refused as unavailable (503, never 429).
    Deny,
    /// This node enforces its share of the limit, the limit divided by `replicas`, from its own memory.
    Local,
}

macro_rules! named {
    ($type:ident { $($variant:ident = $name:literal),* }) => {
        impl $type {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in policies.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The value called `name`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
named!(Action { Deny = "deny", Delay = "delay", Shadow = "shadow" });
named!(OnStoreError { Allow = "allow", Deny = "deny", Local = "local" });
named!(OnMissing { Skip = "skip", Shared = "shared", Deny = "deny" });
