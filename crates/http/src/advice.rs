//! The client's end: what a response says about limits.

use core::time::Duration;

use cupo_core::Timestamp;
use http::HeaderMap;

use crate::dialect::Dialect;
use crate::retry_after;

/// Everything that a response says about limits, in whatever dialect. What is malformed is ignored, and what is absurd
/// capped: waits at [`MAX_SECONDS`](crate::MAX_SECONDS), units at [`MAX_UNITS`](crate::MAX_UNITS).
///
/// ```
/// use core::time::Duration;
/// use cupo_core::Timestamp;
/// use cupo_http::Advice;
///
/// let mut headers = http::HeaderMap::new();
/// headers.insert("ratelimit-policy", r#""burst";q=100;w=60, "daily";q=1000;w=86400"#.parse()?);
/// headers.insert("ratelimit", r#""burst";r=0;t=30, "daily";r=700;t=9000"#.parse()?);
///
/// let advice = Advice::read(&headers, Timestamp::EPOCH);
/// assert_eq!(advice.quotas[1].remaining, Some(700));
/// assert_eq!(advice.wait(), Some(Duration::from_secs(30)));
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advice {
    /// How long the server asks to wait, by `Retry-After`; zero for a date that has passed.
    pub retry_after: Option<Duration>,
    /// What is said of each quota: one entry per dialect that describes one rule, one per rule in dialects that describe all.
    pub quotas: Vec<Quota>,
}

/// What a response says of one quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// The dialect that says it.
    pub dialect: Dialect,
    /// The rule's name, in dialects that give one.
    pub policy: Option<Box<str>>,
    /// The most units that the limit can hold.
    pub limit: Option<u64>,
    /// Units that are left.
    pub remaining: Option<u64>,
    /// The time over which the limit is granted.
    pub window: Option<Duration>,
    /// The time until there is more.
    pub reset_after: Option<Duration>,
}

impl Advice {
    /// Reads the head of a response that came at `now`.
    #[must_use]
    pub fn read(headers: &HeaderMap, now: Timestamp) -> Self {
        let mut quotas = Vec::new();
        for dialect in Dialect::ALL {
            dialect.read(headers, now, &mut quotas);
        }
        Self { retry_after: retry_after::read(headers, now), quotas }
    }

    /// How long to wait before the next request: what the server asks for, else until every quota that is used up has
    /// more. `None` where nothing asks to wait.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        let used_up = self.quotas.iter().filter(|quota| quota.remaining == Some(0));
        self.retry_after.or_else(|| used_up.filter_map(|quota| quota.reset_after).max())
    }
}

impl Quota {
    pub(crate) const fn of(dialect: Dialect) -> Self {
        Self { dialect, policy: None, limit: None, remaining: None, window: None, reset_after: None }
    }

    pub(crate) const fn says_anything(&self) -> bool {
        self.limit.is_some() || self.remaining.is_some() || self.reset_after.is_some()
    }
}
