//! The answer for one rule.

use core::time::Duration;

/// What a limit says to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict<Span = Duration> {
    /// There is room.
    Admit,
    /// There is no room now.
    Deny {
        /// The exact time after which the same request is admitted if nothing else is; one tick less is too early.
        /// Never zero.
        retry_after: Span,
    },
    /// The cost is above what the limit can ever hold: waiting does not help.
    Impossible,
}

impl<Span: Copy> Verdict<Span> {
    /// Whether the request may pass.
    #[must_use]
    pub const fn is_admit(self) -> bool {
        matches!(self, Self::Admit)
    }

    /// The wait of a denial; `None` for the other two.
    #[must_use]
    pub const fn retry_after(self) -> Option<Span> {
        match self {
            Self::Deny { retry_after } => Some(retry_after),
            Self::Admit | Self::Impossible => None,
        }
    }

    /// The same verdict with its span converted.
    pub(crate) fn map<T>(self, convert: impl FnOnce(Span) -> T) -> Verdict<T> {
        match self {
            Self::Admit => Verdict::Admit,
            Self::Deny { retry_after } => Verdict::Deny { retry_after: convert(retry_after) },
            Self::Impossible => Verdict::Impossible,
        }
    }
}

/// The answer for one rule. `Span` is [`Duration`] at the store boundary and `u64` ticks inside the algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decision<Span = Duration> {
    /// Whether the request may pass, and if not, how long to wait.
    pub verdict: Verdict<Span>,
    /// The most units that the limit can hold: the count of a window, the capacity of a bucket, the queue's places
    /// plus the one in service.
    pub limit: u64,
    /// Units that are left after this decision, in `[0, limit]`; the real balance also on a denial.
    pub remaining: u64,
    /// The time until the whole limit is available again if nothing else is admitted; zero when it is now.
    pub reset_after: Span,
    /// How long an admitted request has to be held so that the output is evenly spaced; zero for every algorithm
    /// but the leaky bucket.
    pub delay: Span,
}

impl<Span: Copy> Decision<Span> {
    /// Whether the request may pass.
    #[must_use]
    pub const fn is_admitted(&self) -> bool {
        self.verdict.is_admit()
    }

    /// The wait of a denial; `None` if admitted or impossible.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Span> {
        self.verdict.retry_after()
    }
}
