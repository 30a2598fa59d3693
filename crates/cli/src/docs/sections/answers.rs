//! What responses say, and what to do about it.

use std::fmt::Write as _;

use cupo_config::{HeadersSource, ResetAs};
use http::{HeaderMap, StatusCode};

use super::{Block, Examples, Line, Subject, Table, code, say, text};
use crate::docs::client;

impl Subject<'_> {
    /// The headers of the policy, each with an example and what it means.
    pub(super) fn headers(&self, page: &mut Vec<Block>) {
        let texts = &self.texts.headers;
        page.push(Block::Section { id: "headers", title: texts.title });
        let Some(examples) = self.examples.as_ref().filter(|examples| !examples.admitted.is_empty()) else {
            page.push(Block::Paragraph(say(texts.none, &[])));
            return;
        };
        page.push(Block::Paragraph(say(texts.intro, &[])));
        let row = |(name, value): (&str, &str)| {
            let meaning = self.meaning(name).unwrap_or(texts.own);
            vec![code(name), code(value), say(meaning, &[])]
        };
        let mut rows: Vec<Vec<Line>> = lines(&examples.admitted).map(row).collect();
        let wait = lines(examples.refused.headers()).find(|(name, _)| *name == "retry-after");
        rows.extend(wait.map(row));
        let head = vec![text(texts.name), text(texts.example), text(texts.meaning)];
        page.push(Block::Table(Table { label: texts.title, head, rows }));
        page.push(Block::Code {
            language: "http",
            label: texts.response,
            text: head_of(StatusCode::OK, &examples.admitted),
        });
    }

    /// What a header says.
    fn meaning(&self, header: &str) -> Option<&'static str> {
        let texts = &self.texts.headers;
        let own = self.config.responses.headers.iter().flatten().find_map(|form| match form {
            HeadersSource::Names { limit, remaining, reset, reset_as } => {
                let is = |name: &Option<String>| name.as_deref() == Some(header);
                let reset_means =
                    if *reset_as == ResetAs::Delta { texts.reset_delta } else { texts.reset_epoch };
                [(limit, texts.limit), (remaining, texts.remaining), (reset, reset_means)]
                    .into_iter()
                    .find_map(|(name, meaning)| is(name).then_some(meaning))
            }
            _ => None,
        });
        own.or(match header {
            "x-ratelimit-limit" | "ratelimit-limit" => Some(texts.limit),
            "x-ratelimit-remaining" | "ratelimit-remaining" => Some(texts.remaining),
            "x-ratelimit-reset" => Some(texts.reset_epoch),
            "ratelimit-reset" => Some(texts.reset_delta),
            "ratelimit-policy" => Some(texts.policy),
            "ratelimit" => Some(texts.state),
            "retry-after" => Some(texts.retry_after),
            _ => None,
        })
    }

    /// What to do on a refusal, with clients that do it.
    pub(super) fn excess(&self, page: &mut Vec<Block>) {
        let texts = &self.texts.excess;
        page.push(Block::Section { id: "excess", title: texts.title });
        for words in [texts.wait, texts.jitter, texts.forms] {
            page.push(Block::Paragraph(say(words, &[])));
        }
        if let Some(Examples { refused, .. }) = &self.examples {
            let body = String::from_utf8_lossy(refused.body());
            let text = format!("{}\n{body}", head_of(refused.status(), refused.headers()));
            page.push(Block::Code { language: "http", label: texts.refused, text });
        }
        let own = self.config.responses.rules.iter().filter_map(|own| {
            let known = self.rules.iter().any(|rule| rule.name() == own.rule);
            let status = own.status.filter(|status| known && *status != 429)?;
            let values = [("limit", &code(own.rule.as_str())), ("status", &code(status.to_string()))];
            Some(say(texts.own_status, &values))
        });
        let own: Vec<Line> = own.collect();
        if !own.is_empty() {
            page.push(Block::List(own));
        }
        page.push(Block::Heading(texts.clients));
        page.push(Block::Paragraph(say(texts.clients_intro, &[])));
        let shown = self.credential();
        for (language, label, text) in [
            ("sh", texts.curl, client::curl(self.base, shown)),
            ("python", texts.python, client::python(self.base, shown)),
            ("rust", texts.rust, client::rust(self.base, shown)),
        ] {
            page.push(Block::Paragraph(Self::strong(label)));
            page.push(Block::Code { language, label, text });
        }
    }

    /// The status endpoint.
    pub(super) fn status(&self, page: &mut Vec<Block>) {
        let texts = &self.texts.status;
        let Some(path) = self.status_path() else { return };
        page.push(Block::Section { id: "status", title: texts.title });
        let limit = self.texts.amount(self.config.policy.status_limit(), false);
        let values = [("path", &code(format!("GET {path}"))), ("limit", &limit)];
        page.push(Block::Paragraph(say(texts.intro, &values)));
        let text = client::question(&format!("{}{path}", self.base), self.credential());
        page.push(Block::Code { language: "sh", label: texts.ask, text });
        if let Some(Examples { standing, .. }) = &self.examples {
            // A line for each limit.
            let text = String::from_utf8_lossy(standing).replace("},{", "},\n           {");
            page.push(Block::Code { language: "json", label: texts.answer, text });
        }
    }
}

/// The head of a response.
fn head_of(status: StatusCode, headers: &HeaderMap) -> String {
    let mut head =
        format!("HTTP/1.1 {} {}\n", status.as_str(), status.canonical_reason().unwrap_or_default());
    for (name, value) in lines(headers) {
        // Writing to a string does not fail.
        let _ = writeln!(head, "{name}: {value}");
    }
    head
}

/// The headers with their values. What scripts are told of them is between browsers and gateways.
fn lines(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()));
    lines.filter(|(name, _)| !name.starts_with("access-control-"))
}
