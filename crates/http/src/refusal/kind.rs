//! The kinds of refusal, and what programs know them by.

use http::StatusCode;

/// Why a request is refused, as far as its message and its form go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MessageKind {
    /// There is no room now.
    Exceeded,
    /// There never is room.
    Impossible,
    /// The request lacks what the rule counts by.
    Missing,
    /// The policy says that the request does not pass.
    Blocked,
    /// The credentials do not hold.
    BadCredentials,
    /// The store could not decide.
    Unavailable,
}

/// What a refusal is called.
pub(super) struct Labels {
    pub(super) status: StatusCode,
    /// The `type` of the problem. Those that IANA lists are of draft-ietf-httpapi-ratelimit-headers-11.
    pub(super) problem: &'static str,
    /// The `error` of the plain form.
    pub(super) error: &'static str,
    /// The code of gRPC.
    pub(super) grpc: u8,
    /// The `reason` of gRPC's `ErrorInfo`.
    pub(super) reason: &'static str,
}

impl MessageKind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::Exceeded,
        Self::Impossible,
        Self::Missing,
        Self::Blocked,
        Self::BadCredentials,
        Self::Unavailable,
    ];

    /// The name in configurations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exceeded => "exceeded",
            Self::Impossible => "impossible",
            Self::Missing => "missing",
            Self::Blocked => "blocked",
            Self::BadCredentials => "bad_credentials",
            Self::Unavailable => "unavailable",
        }
    }

    /// The kind called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The names of the placeholders that a message of this kind has values for.
    #[must_use]
    pub const fn placeholders(self) -> &'static [&'static str] {
        match self {
            Self::Exceeded => &["limit", "window", "retry_after", "rule", "remaining"],
            Self::Impossible => &["limit", "window", "rule", "remaining"],
            Self::Missing => &["rule", "key"],
            Self::Blocked | Self::BadCredentials => &[],
            Self::Unavailable => &["retry_after"],
        }
    }

    pub(super) const fn labels(self) -> Labels {
        match self {
            Self::Exceeded | Self::Impossible => Labels {
                status: StatusCode::TOO_MANY_REQUESTS,
                problem: "https://iana.org/assignments/http-problem-types#quota-exceeded",
                error: "rate_limit_exceeded",
                grpc: 8,
                reason: "RATE_LIMIT_EXCEEDED",
            },
            Self::Missing => Labels {
                status: StatusCode::FORBIDDEN,
                problem: "about:blank",
                error: "missing_attribute",
                grpc: 7,
                reason: "MISSING_ATTRIBUTE",
            },
            Self::Blocked => Labels {
                status: StatusCode::FORBIDDEN,
                problem: "urn:cupo:problem:blocked",
                error: "blocked",
                grpc: 7,
                reason: "BLOCKED",
            },
            Self::BadCredentials => Labels {
                status: StatusCode::UNAUTHORIZED,
                problem: "urn:cupo:problem:invalid-token",
                error: "invalid_token",
                grpc: 16,
                reason: "INVALID_TOKEN",
            },
            Self::Unavailable => Labels {
                status: StatusCode::SERVICE_UNAVAILABLE,
                problem: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
                error: "temporary_reduced_capacity",
                grpc: 14,
                reason: "TEMPORARY_REDUCED_CAPACITY",
            },
        }
    }
}
