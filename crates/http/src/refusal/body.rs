//! The bodies of refusals: a problem (RFC 9457), plain JSON, or text.

use bytes::Bytes;
use cupo_core::Outcome;
use http::StatusCode;

use super::kind::Labels;
use super::negotiate::Form;

/// What a body says.
pub(super) struct Content<'a> {
    pub(super) labels: &'a Labels,
    pub(super) status: StatusCode,
    pub(super) title: &'a str,
    pub(super) message: String,
    /// Seconds, as `Retry-After` says them.
    pub(super) retry_after: Option<u64>,
    /// What was decided, where something was.
    pub(super) outcome: Option<&'a Outcome>,
}

impl Content<'_> {
    pub(super) fn render(self, form: Form) -> Bytes {
        let mut json = Object::new();
        match form {
            Form::Problem => {
                json.string("type", self.labels.problem);
                json.string("title", self.title);
                json.raw("status", self.status.as_str());
                json.string("detail", &self.message);
                if let Some(outcome) = self.outcome {
                    json.strings("violated-policies", violated(outcome));
                }
            }
            Form::Plain => {
                json.string("error", self.labels.error);
                json.string("message", &self.message);
            }
            Form::Text => {
                let mut text = self.message;
                text.push('\n');
                return text.into();
            }
        }
        if let Some(seconds) = self.retry_after {
            json.raw("retry_after", &seconds.to_string());
        }
        json.finish()
    }
}

/// The rules that refuse.
fn violated(outcome: &Outcome) -> impl Iterator<Item = &str> {
    let refusing = outcome.decisions().filter(|ruling| !ruling.decision.is_admitted());
    outcome.lacks().into_iter().chain(refusing.map(|ruling| ruling.rule)).map(|rule| rule.name())
}

/// A JSON object in the making.
struct Object(Vec<u8>);

impl Object {
    fn new() -> Self {
        Self(Vec::with_capacity(384))
    }

    fn name(&mut self, name: &str) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.value(name);
        self.0.push(b':');
    }

    fn value(&mut self, text: &str) {
        // A string is always representable, and a vector takes all of it.
        let _ = serde_json::to_writer(&mut self.0, text);
    }

    fn string(&mut self, name: &str, text: &str) {
        self.name(name);
        self.value(text);
    }

    fn raw(&mut self, name: &str, json: &str) {
        self.name(name);
        self.0.extend_from_slice(json.as_bytes());
    }

    fn strings(&mut self, name: &str, texts: impl Iterator<Item: AsRef<str>>) {
        self.name(name);
        self.0.push(b'[');
        for (i, text) in texts.enumerate() {
            if i > 0 {
                self.0.push(b',');
            }
            self.value(text.as_ref());
        }
        self.0.push(b']');
    }

    fn finish(mut self) -> Bytes {
        self.0.push(b'}');
        self.0.into()
    }
}
