//! What may be said about responses.

use std::collections::HashMap;
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};

use super::{Presentation, RuleResponse, exposed};
use crate::cors::Cors;
use crate::dialect::{Dialects, FieldNames};
use crate::error::PresentationError;
use crate::refusal::Messages;

/// What callers see where the service behind the limiter speaks of limits too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UpstreamFields {
    /// Whichever is tighter, whole: the one that leaves less, else the one that takes longer to be whole. The lists of
    /// draft-11 have room for both.
    #[default]
    Tighter,
    /// The service's own, in each dialect that it speaks.
    Keep,
    /// Ours. What the service says is removed, in every dialect.
    Replace,
}

/// How callers are to be answered, as plain values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentationSource {
    /// The dialects that are written.
    pub dialects: Dialects,
    /// Fields with names of the policy's own.
    pub names: Vec<FieldNames>,
    /// What becomes of the service's own fields.
    pub upstream_fields: UpstreamFields,
    /// The most that is added to every wait, in whole seconds: none unless said otherwise, at most an hour.
    pub retry_after_jitter: Duration,
    /// Whether preflights are counted like other requests.
    pub count_preflights: bool,
    /// The language of who asks for none that there is; `en` unless said otherwise.
    pub language: Box<str>,
    /// The messages of all rules.
    pub messages: Messages,
    /// What single rules answer with, by their names.
    pub responses: HashMap<Box<str>, RuleResponse>,
    /// Which scripts may read refusals; none of another origin unless said otherwise.
    pub cors: Option<Cors>,
}

impl Default for PresentationSource {
    fn default() -> Self {
        Self {
            dialects: Dialects::default(),
            names: Vec::new(),
            upstream_fields: UpstreamFields::default(),
            retry_after_jitter: Duration::ZERO,
            count_preflights: false,
            language: "en".into(),
            messages: Messages::default(),
            responses: HashMap::new(),
            cors: None,
        }
    }
}

/// The longest jitter.
const LONGEST_JITTER: Duration = Duration::from_secs(3_600);

impl PresentationSource {
    pub(super) fn prepare(self) -> Result<Presentation, PresentationError> {
        if self.retry_after_jitter > LONGEST_JITTER || self.retry_after_jitter.subsec_nanos() > 0 {
            return Err(PresentationError::Jitter);
        }
        if !self.messages.has(&self.language) {
            return Err(PresentationError::NoMessages(self.language));
        }
        let presentation = self.sound();
        let mut seen: Vec<&HeaderName> = Vec::new();
        for name in presentation.styles().flat_map(super::Style::field_names) {
            if seen.contains(&name) {
                return Err(PresentationError::FieldTwice(name.as_str().into()));
            }
            seen.push(name);
        }
        for response in presentation.responses.values() {
            response.check(&seen)?;
        }
        Ok(presentation)
    }

    /// Prepares what has no faults.
    pub(super) fn sound(self) -> Presentation {
        let mut presentation = Presentation {
            dialects: self.dialects,
            names: self.names,
            upstream_fields: self.upstream_fields,
            jitter: self.retry_after_jitter.as_secs(),
            count_preflights: self.count_preflights,
            language: self.language,
            messages: self.messages,
            responses: self.responses,
            cors: self.cors,
            exposed: HeaderValue::from_static(""),
        };
        if let Some(names) = exposed(presentation.styles()) {
            presentation.exposed = names;
        }
        presentation
    }
}
