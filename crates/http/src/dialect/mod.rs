//! Dialects: in which fields a response speaks of its limits. One file each, with both ends of it; one line in each list here.

mod facts;
mod ietf_06;
mod ietf_11;
mod names;
mod style;
mod values;
mod x_ratelimit;

use core::fmt;

use cupo_core::Timestamp;
use http::HeaderMap;

use crate::advice::Quota;
pub(crate) use facts::Facts;
pub(crate) use ietf_06::remove_stale;
pub use names::{FieldNames, ResetAs};
pub(crate) use style::Style;
pub(crate) use values::Values;

/// A dialect: which fields say what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `X-RateLimit-Limit`, `-Remaining` and `-Reset` of the binding rule; the reset in Unix seconds.
    XRateLimit,
    /// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11, for all rules.
    Ietf11,
    /// `RateLimit-Limit`, `-Remaining` and `-Reset` of draft-ietf-httpapi-ratelimit-headers-06, of the binding rule; the reset
    /// in seconds from now.
    Ietf06,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: &[Self] = &[Self::XRateLimit, Self::Ietf11, Self::Ietf06];

    /// The name in configurations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::XRateLimit => "x-ratelimit",
            Self::Ietf11 => "ietf-11",
            Self::Ietf06 => "ietf-06",
        }
    }

    /// The dialect called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dialect| dialect.name() == name)
    }

    const fn bit(self) -> u8 {
        match self {
            Self::XRateLimit => 1,
            Self::Ietf11 => 2,
            Self::Ietf06 => 4,
        }
    }

    /// What the fields of this dialect say, appended to `quotas`.
    pub(crate) fn read(self, headers: &HeaderMap, now: Timestamp, quotas: &mut Vec<Quota>) {
        match self {
            Self::XRateLimit => quotas.extend(x_ratelimit::NAMES.read(headers, now)),
            Self::Ietf11 => ietf_11::read(headers, quotas),
            Self::Ietf06 => quotas.extend(ietf_06::NAMES.read(headers, now)),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of dialects; `x-ratelimit` and `ietf-11` unless said otherwise.
///
/// ```
/// use cupo_http::{Dialect, Dialects};
///
/// assert!(Dialects::default().contains(Dialect::Ietf11));
/// assert!(!Dialects::NONE.with(Dialect::Ietf06).contains(Dialect::Ietf11));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dialects(u8);

impl Dialects {
    /// No dialect: only a refusal's `Retry-After` is written.
    pub const NONE: Self = Self(0);

    /// This set and `dialect`.
    #[must_use]
    pub const fn with(self, dialect: Dialect) -> Self {
        Self(self.0 | dialect.bit())
    }

    /// Whether `dialect` is in the set.
    #[must_use]
    pub const fn contains(self, dialect: Dialect) -> bool {
        self.0 & dialect.bit() != 0
    }
}

impl Default for Dialects {
    fn default() -> Self {
        Self::NONE.with(Dialect::XRateLimit).with(Dialect::Ietf11)
    }
}

impl FromIterator<Dialect> for Dialects {
    fn from_iter<I: IntoIterator<Item = Dialect>>(dialects: I) -> Self {
        dialects.into_iter().fold(Self::NONE, Self::with)
    }
}
