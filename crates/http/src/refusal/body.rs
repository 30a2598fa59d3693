//! The bodies of refusals: a problem (RFC 9457) or plain JSON.

use bytes::Bytes;

use super::message::{Language, Reason};
use super::negotiate::Form;

/// What a reason is called in either form.
struct Labels {
    /// The `type` of the problem. The two that IANA lists are of draft-ietf-httpapi-ratelimit-headers-11.
    problem: &'static str,
    title: &'static str,
    status: &'static str,
    /// The `error` of the plain form.
    error: &'static str,
}

impl Reason<'_> {
    const fn labels(&self) -> Labels {
        match self {
            Self::Exceeded { .. } | Self::Impossible { .. } => Labels {
                problem: "https://iana.org/assignments/http-problem-types#quota-exceeded",
                title: "Quota Exceeded",
                status: "429",
                error: "rate_limit_exceeded",
            },
            Self::Lacks { .. } => Labels {
                problem: "about:blank",
                title: "Forbidden",
                status: "403",
                error: "missing_attribute",
            },
            Self::Blocked => Labels {
                problem: "urn:cupo:problem:blocked",
                title: "Blocked",
                status: "403",
                error: "blocked",
            },
            Self::BadCredentials => Labels {
                problem: "urn:cupo:problem:invalid-token",
                title: "Invalid Token",
                status: "401",
                error: "invalid_token",
            },
            Self::Unavailable => Labels {
                problem: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
                title: "Temporary Reduced Capacity",
                status: "503",
                error: "temporary_reduced_capacity",
            },
        }
    }

    const fn seconds(&self) -> Option<u64> {
        match self {
            Self::Exceeded { seconds, .. } => Some(*seconds),
            Self::Unavailable => Some(1),
            Self::Impossible { .. } | Self::Lacks { .. } | Self::Blocked | Self::BadCredentials => None,
        }
    }

    /// The rules that refuse.
    fn write_violated(&self, json: &mut Object) {
        match self {
            Self::Exceeded { outcome, .. } | Self::Impossible { outcome } => {
                let refusing = outcome.decisions().filter(|ruling| !ruling.decision.is_admitted());
                json.strings("violated-policies", refusing.map(|ruling| ruling.rule.name()));
            }
            Self::Lacks { rule } => json.strings("violated-policies", [rule.name()].into_iter()),
            Self::Blocked | Self::BadCredentials | Self::Unavailable => {}
        }
    }
}

pub(super) fn render(reason: &Reason<'_>, form: Form, language: Language) -> Bytes {
    let labels = reason.labels();
    let message = reason.message(language);
    let mut json = Object::new();
    match form {
        Form::Problem => {
            json.string("type", labels.problem);
            json.string("title", labels.title);
            json.raw("status", labels.status);
            json.string("detail", &message);
            reason.write_violated(&mut json);
        }
        Form::Plain => {
            json.string("error", labels.error);
            json.string("message", &message);
        }
    }
    if let Some(seconds) = reason.seconds() {
        json.raw("retry_after", &seconds.to_string());
    }
    json.finish()
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
