//! What the file says about responses.

use std::time::Duration;

/// What the file says about responses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResponsesSource {
    /// Which rate-limit fields are written.
    pub headers: Option<Vec<HeadersSource>>,
    /// What becomes of the upstream's own fields.
    pub upstream_headers: Option<UpstreamHeaders>,
    /// The most that is added to a wait, in whole seconds.
    pub retry_after_jitter: Option<Duration>,
    /// Whether preflights are counted.
    pub preflight: Option<Preflight>,
    /// The language of who asks for none that there is.
    pub language: Option<String>,
    /// Messages for all rules.
    pub messages: Vec<MessageSource>,
    /// Which scripts may read refusals.
    pub cors: Option<CorsSource>,
    /// What single rules answer with.
    pub rules: Vec<RuleResponseSource>,
}

/// Rate-limit fields of one form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeadersSource {
    /// A dialect.
    Dialect(HeaderDialect),
    /// Fields with names of the policy's own; at least one of the three.
    Names {
        /// Of the limit.
        limit: Option<String>,
        /// Of what is left.
        remaining: Option<String>,
        /// Of the reset.
        reset: Option<String>,
        /// What the reset says.
        reset_as: ResetAs,
    },
}

/// A dialect of rate-limit fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderDialect {
    /// `X-RateLimit-*`.
    XRateLimit,
    /// `RateLimit-Policy` and `RateLimit`.
    Ietf11,
    /// `RateLimit-Limit` and its fellows.
    Ietf06,
}

impl HeaderDialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::XRateLimit, Self::Ietf11, Self::Ietf06];

    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::XRateLimit => "x-ratelimit",
            Self::Ietf11 => "ietf-11",
            Self::Ietf06 => "ietf-06",
        }
    }

    /// The names of its fields.
    pub(crate) const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::XRateLimit => &["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
            Self::Ietf11 => &["ratelimit-policy", "ratelimit"],
            Self::Ietf06 => &["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"],
        }
    }
}

/// What a reset says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ResetAs {
    /// An instant, in Unix seconds.
    #[default]
    Epoch,
    /// Seconds from now.
    Delta,
}

impl ResetAs {
    pub(crate) const ALL: [Self; 2] = [Self::Epoch, Self::Delta];

    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Epoch => "epoch",
            Self::Delta => "delta",
        }
    }
}

/// What becomes of the upstream's own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamHeaders {
    /// The tighter of both is shown.
    Tighter,
    /// They stay.
    Keep,
    /// Ours are in their place.
    Replace,
}

impl UpstreamHeaders {
    pub(crate) const ALL: [Self; 3] = [Self::Tighter, Self::Keep, Self::Replace];

    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tighter => "tighter",
            Self::Keep => "keep",
            Self::Replace => "replace",
        }
    }
}

/// Whether preflights are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preflight {
    /// They pass uncounted.
    Skip,
    /// They are counted like other requests.
    Count,
}

impl Preflight {
    pub(crate) const ALL: [Self; 2] = [Self::Skip, Self::Count];

    /// The name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Count => "count",
        }
    }
}

/// A message in a language.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageSource {
    /// The language tag.
    pub language: String,
    /// What it is about, by the name in the file.
    pub kind: &'static str,
    /// The title of its problem.
    pub title: Option<String>,
    /// The text, whose placeholders are those of its kind.
    pub text: String,
}

/// Which scripts may read refusals.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorsSource {
    /// Their origins, or `*`.
    pub origins: Vec<String>,
    /// Whether with credentials.
    pub credentials: bool,
}

/// What a rule answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleResponseSource {
    /// The rule's name.
    pub rule: String,
    /// The status, 400 to 599.
    pub status: Option<u16>,
    /// Fields with their values.
    pub headers: Vec<(String, String)>,
    /// Its messages by language.
    pub messages: Vec<MessageSource>,
    /// The content type and the body.
    pub body: Option<(String, String)>,
}
