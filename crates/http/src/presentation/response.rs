//! What a single rule answers with when it refuses.

use bytes::Bytes;
use http::StatusCode;
use http::header::{HeaderName, HeaderValue};

use crate::error::PresentationError;
use crate::refusal::Messages;
use crate::reserved;

/// What a rule answers with in place of the usual 429.
///
/// ```
/// use cupo_http::{RuleBody, RuleResponse};
///
/// let response = RuleResponse::default().status(503)?.header("X-Reason", "maintenance")?;
/// let response = response.body(RuleBody::fixed("text/html", "<h1>Back soon</h1>")?);
/// assert!(response.header("Content-Length", "5").is_err());
/// # Ok::<(), cupo_http::PresentationError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleResponse {
    pub(crate) status: Option<StatusCode>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: RuleBody,
}

/// What a rule says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RuleBody {
    /// What every rule says.
    #[default]
    Usual,
    /// These messages, where the caller reads one of their languages.
    Messages(Messages),
    /// Always the same.
    Fixed {
        /// What it is.
        content_type: HeaderValue,
        /// The body.
        body: Bytes,
    },
}

impl RuleBody {
    /// A body that is the same for every caller.
    ///
    /// # Errors
    /// [`PresentationError::FieldValue`] where `content_type` is no media type.
    pub fn fixed(content_type: &str, body: impl Into<Bytes>) -> Result<Self, PresentationError> {
        let wrong = || PresentationError::FieldValue("content-type".into());
        let value = HeaderValue::from_str(content_type).map_err(|_| wrong())?;
        let kinds = content_type.split(';').next().unwrap_or_default().trim().split_once('/');
        if kinds.is_none_or(|(kind, subtype)| kind.is_empty() || subtype.is_empty()) {
            return Err(wrong());
        }
        Ok(Self::Fixed { content_type: value, body: body.into() })
    }
}

impl RuleResponse {
    /// The same with this status.
    ///
    /// # Errors
    /// [`PresentationError::Status`] unless it is from 400 to 599.
    pub fn status(self, status: u16) -> Result<Self, PresentationError> {
        let code = StatusCode::from_u16(status).ok().filter(|_| matches!(status, 400..=599));
        code.map(|code| Self { status: Some(code), ..self }).ok_or(PresentationError::Status(status))
    }

    /// The same with this field more.
    ///
    /// # Errors
    /// [`PresentationError`] where the name is none or not a policy's to set, comes twice, or where the value is none.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, PresentationError> {
        let known = reserved::settable(name)?;
        if self.headers.iter().any(|(other, _)| *other == known) {
            return Err(PresentationError::FieldTwice(name.into()));
        }
        let value = HeaderValue::from_str(value).map_err(|_| PresentationError::FieldValue(name.into()))?;
        self.headers.push((known, value));
        Ok(self)
    }

    /// The same with this body.
    #[must_use]
    pub fn body(self, body: RuleBody) -> Self {
        Self { body, ..self }
    }

    /// Fields that say what is left are not for a rule to set.
    pub(super) fn check(&self, written: &[&HeaderName]) -> Result<(), PresentationError> {
        let clash = self.headers.iter().find(|(name, _)| written.contains(&name));
        clash.map_or(Ok(()), |(name, _)| Err(PresentationError::FieldReserved(name.as_str().into())))
    }
}
