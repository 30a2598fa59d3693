//! How callers are answered: everything that a policy says about responses, prepared once.

mod response;
mod source;

use std::collections::HashMap;

use cupo_core::Outcome;
use http::Method;
use http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};

use crate::cors::{self, Cors};
use crate::dialect::{self, Dialect, Dialects, Facts, FieldNames, Style, Values};
use crate::error::PresentationError;
use crate::refusal::Messages;
pub use response::{RuleBody, RuleResponse};
pub use source::{PresentationSource, UpstreamFields};

/// How callers are answered. Made once from a [`PresentationSource`] or from [`Dialects`]; every response then goes through it.
///
/// ```
/// use cupo_http::{Dialect, Presentation, PresentationSource, UpstreamFields};
///
/// let presentation = Presentation::new(PresentationSource {
///     dialects: [Dialect::Ietf11].into_iter().collect(),
///     upstream_fields: UpstreamFields::Replace,
///     ..PresentationSource::default()
/// })?;
/// # let _ = presentation;
/// # Ok::<(), cupo_http::PresentationError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Presentation {
    dialects: Dialects,
    names: Vec<FieldNames>,
    upstream_fields: UpstreamFields,
    /// The longest jitter, in seconds.
    jitter: u64,
    count_preflights: bool,
    pub(crate) language: Box<str>,
    pub(crate) messages: Messages,
    responses: HashMap<Box<str>, RuleResponse>,
    pub(crate) cors: Option<Cors>,
    /// The names of all fields that may be written, for scripts to read.
    exposed: HeaderValue,
}

impl Presentation {
    /// Prepares what `source` says.
    ///
    /// # Errors
    /// [`PresentationError`] where it contradicts itself.
    pub fn new(source: PresentationSource) -> Result<Self, PresentationError> {
        source.prepare()
    }

    /// Whether a request without a body is let by without being counted: a preflight, unless they are to be counted. Whether there
    /// is a body is for whoever has it to tell: fields say so in HTTP/1 only.
    #[must_use]
    pub fn is_uncounted(&self, method: &Method, request: &HeaderMap) -> bool {
        !self.count_preflights && cors::is_preflight(method, request)
    }

    /// Writes what `outcome` says of the enforced rules into the head of a service's response, beside or in place of what the
    /// service says itself, as [`UpstreamFields`] has it. A `Retry-After` of the service stays.
    pub fn write(&self, outcome: &Outcome, headers: &mut HeaderMap) {
        // Most services say nothing of limits, and names are compared by their beginnings first.
        let theirs = headers.keys().any(|name| self.is_rate_limit_field(name));
        if theirs && self.upstream_fields == UpstreamFields::Replace {
            self.remove_all(headers);
        }
        let Some(facts) = Facts::of(outcome, 0) else { return };
        let mut values = Values::new();
        for style in self.styles() {
            match self.upstream_fields {
                UpstreamFields::Keep if theirs && style.is_spoken(headers, outcome.at()) => {}
                UpstreamFields::Tighter if theirs => style.write_tighter(&facts, headers, &mut values),
                _ => style.write(&facts, &mut values),
            }
        }
        if theirs {
            dialect::remove_stale(&values, headers);
        }
        values.insert_into(headers);
        cors::expose(&self.exposed, headers);
    }

    /// Writes the fields of a refusal.
    pub(crate) fn write_refused(&self, outcome: &Outcome, jitter: u64, headers: &mut HeaderMap) {
        let Some(facts) = Facts::of(outcome, jitter) else { return };
        let mut values = Values::new();
        for style in self.styles() {
            style.write(&facts, &mut values);
        }
        values.insert_into(headers);
    }

    pub(crate) fn expose(&self, headers: &mut HeaderMap) {
        cors::expose(&self.exposed, headers);
    }

    /// The seconds to add to a wait, of a number that is uniformly distributed.
    pub(crate) const fn jitter(&self, random: u64) -> u64 {
        match random.checked_rem(self.jitter.saturating_add(1)) {
            Some(seconds) => seconds,
            None => 0,
        }
    }

    /// The longest jitter in seconds, where there is one.
    pub(crate) fn longest_jitter(&self) -> Option<u64> {
        (self.jitter > 0).then_some(self.jitter)
    }

    /// Whether refusals need randomness.
    #[must_use]
    pub const fn has_jitter(&self) -> bool {
        self.jitter > 0
    }

    pub(crate) fn response(&self, rule: &str) -> Option<&RuleResponse> {
        if self.responses.is_empty() { None } else { self.responses.get(rule) }
    }

    fn styles(&self) -> impl Iterator<Item = Style<'_>> {
        let dialects = Dialect::ALL.iter().filter(|dialect| self.dialects.contains(**dialect));
        dialects.map(|dialect| dialect.style()).chain(self.names.iter().map(Style::Names))
    }

    fn is_rate_limit_field(&self, name: &HeaderName) -> bool {
        let text = name.as_str();
        text.starts_with("ratelimit")
            || text.starts_with("x-ratelimit-")
            || self.names.iter().any(|names| names.iter().any(|own| own == name))
    }

    /// Removes the fields of every dialect, also of those that are not written.
    fn remove_all(&self, headers: &mut HeaderMap) {
        let all = Dialect::ALL.iter().map(|dialect| dialect.style());
        for name in all.chain(self.names.iter().map(Style::Names)).flat_map(Style::field_names) {
            headers.remove(name);
        }
    }
}

impl From<Dialects> for Presentation {
    /// The usual answers, in these dialects.
    fn from(dialects: Dialects) -> Self {
        PresentationSource { dialects, ..PresentationSource::default() }.sound()
    }
}

impl Default for Presentation {
    fn default() -> Self {
        Dialects::default().into()
    }
}

/// The names of the fields of `styles` and of `Retry-After`, as a list.
fn exposed<'a, I: Iterator<Item = Style<'a>>>(styles: I) -> Option<HeaderValue> {
    let mut text = String::new();
    for name in styles.flat_map(Style::field_names) {
        text.push_str(name.as_str());
        text.push_str(", ");
    }
    text.push_str(RETRY_AFTER.as_str());
    HeaderValue::try_from(text).ok()
}
