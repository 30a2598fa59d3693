//! Refusals: the whole response to a request that may not pass.

mod body;
mod grpc;
mod kind;
mod messages;
mod negotiate;
mod proto;
mod template;
mod words;

use bytes::Bytes;
use cupo_core::{Outcome, Rule, Settled};
use http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{HeaderMap, Response, StatusCode};

use crate::presentation::{Presentation, RuleBody, RuleResponse};
use crate::retry_after;
use crate::tag::Tag;
use body::Content;
use grpc::Status;
pub use kind::MessageKind;
pub use messages::Messages;
use negotiate::Form;
use template::Insertions;
pub use template::Template;

/// Why a request is refused.
struct Reason<'a> {
    kind: MessageKind,
    /// The rule that refuses, where one does.
    rule: Option<&'a Rule>,
    outcome: Option<&'a Outcome>,
    /// Seconds, as `Retry-After` says them.
    retry_after: Option<u64>,
}

impl Presentation {
    /// The response to a request whose outcome is no admission (ask [`Outcome::is_admitted`] first):
    ///
    /// - 429 with `Retry-After` where it may come again;
    /// - 429 without where its cost can never fit;
    /// - 403 where it lacks what a rule counts by, or the policy blocks it;
    /// - 401 where its credentials do not hold.
    ///
    /// A rule may have a [`RuleResponse`] in place of the 429. The body is a problem (RFC 9457) or, where `Accept` prefers it,
    /// plain JSON or text, in the language that `Accept-Language` prefers. A call of gRPC is answered with a status of gRPC. The
    /// rate-limit fields are written as on every response.
    ///
    /// `random` is any number, uniformly distributed; it decides over the jitter, where there is one.
    #[must_use]
    pub fn refusal(&self, outcome: &Outcome, request: &HeaderMap, random: u64) -> Response<Bytes> {
        let jitter = self.jitter(random);
        let retry_after = outcome.retry_after().map(|wait| retry_after::whole(wait, jitter));
        let binding = || outcome.binding().map(|ruling| ruling.rule);
        let (kind, rule) = match (outcome.settled(), outcome.lacks(), retry_after) {
            (Some(Settled::Blocked(_)), ..) => (MessageKind::Blocked, None),
            (Some(Settled::BadCredentials), ..) => (MessageKind::BadCredentials, None),
            (_, Some(rule), _) => (MessageKind::Missing, Some(rule)),
            (_, None, Some(_)) => (MessageKind::Exceeded, binding()),
            (_, None, None) => (MessageKind::Impossible, binding()),
        };
        let mut response = self.render(&Reason { kind, rule, outcome: Some(outcome), retry_after }, request);
        if kind == MessageKind::BadCredentials {
            let challenge = HeaderValue::from_static(r#"Bearer error="invalid_token""#);
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        self.write_refused(outcome, jitter, response.headers_mut());
        self.finish(request, response)
    }

    /// The response where the store could not decide and the request may not pass for it: 503, `Retry-After: 1`. Never 429: the
    /// caller has done nothing wrong. `random` is as in [`refusal`](Self::refusal).
    #[must_use]
    pub fn unavailable(&self, request: &HeaderMap, random: u64) -> Response<Bytes> {
        let retry_after = Some(self.jitter(random).saturating_add(1));
        let reason = Reason { kind: MessageKind::Unavailable, rule: None, outcome: None, retry_after };
        let response = self.render(&reason, request);
        self.finish(request, response)
    }

    /// Lets scripts read the response that may.
    fn finish(&self, request: &HeaderMap, mut response: Response<Bytes>) -> Response<Bytes> {
        let headers = response.headers_mut();
        if let Some(cors) = &self.cors {
            cors.allow(request, headers);
        }
        self.expose(headers);
        grpc::expose(headers);
        response
    }

    fn render(&self, reason: &Reason<'_>, request: &HeaderMap) -> Response<Bytes> {
        let own = reason.response(self);
        let mut response = match grpc::answer_type(request) {
            Some(content_type) => self.call(reason, own, request, content_type),
            None => self.answer(reason, own, request),
        };
        let headers = response.headers_mut();
        for (name, value) in own.map(|own| own.headers.as_slice()).unwrap_or_default() {
            headers.insert(name, value.clone());
        }
        response
    }

    fn call(
        &self,
        reason: &Reason<'_>,
        own: Option<&RuleResponse>,
        request: &HeaderMap,
        content_type: &'static str,
    ) -> Response<Bytes> {
        let (_, message) = self.message(reason, own, request);
        let status = Status {
            labels: &reason.kind.labels(),
            message,
            retry_after: reason.retry_after,
            rule: reason.rule.map(Rule::name),
        };
        let mut response = status.respond(content_type);
        say_wait(reason.retry_after, response.headers_mut());
        response
    }

    fn answer(
        &self,
        reason: &Reason<'_>,
        own: Option<&RuleResponse>,
        request: &HeaderMap,
    ) -> Response<Bytes> {
        let labels = reason.kind.labels();
        let status = own.and_then(|own| own.status).unwrap_or(labels.status);
        // With another status a wait means something else, or nothing.
        let waits = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        let retry_after = reason.retry_after.filter(|_| waits);
        let mut response;
        if let Some(RuleBody::Fixed { content_type, body }) = own.map(|own| &own.body) {
            response = Response::new(body.clone());
            response.headers_mut().insert(CONTENT_TYPE, content_type.clone());
        } else {
            let form = Form::preferred(request);
            let (tag, message) = self.message(reason, own, request);
            let title = tag.map_or("", |tag| self.messages.title(tag, reason.kind));
            // Only a rule is violated.
            let outcome = reason.outcome.filter(|_| reason.rule.is_some());
            let content = Content { labels: &labels, status, title, message, retry_after, outcome };
            response = Response::new(content.render(form));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
            if let Some(tag) = tag {
                headers.insert(CONTENT_LANGUAGE, tag.value());
            }
        }
        *response.status_mut() = status;
        if is_cacheable(status) {
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        say_wait(retry_after, response.headers_mut());
        response
    }

    /// The sentence for people, and its language.
    fn message<'a>(
        &'a self,
        reason: &Reason<'_>,
        own: Option<&'a RuleResponse>,
        request: &HeaderMap,
    ) -> (Option<&'a Tag>, String) {
        let rules = match own.map(|own| &own.body) {
            Some(RuleBody::Messages(messages)) => Some(messages),
            _ => None,
        };
        // What the rule says comes first, and so wins over what all say in the same language.
        let own = rules.into_iter().flat_map(|messages| messages.of(reason.kind));
        let all = own.chain(self.messages.of(reason.kind));
        let tags = all.clone().map(|chosen| chosen.tag.as_str());
        let is = |tag: &str, wanted: &str| tag.eq_ignore_ascii_case(wanted);
        let index = negotiate::language(request, &tags)
            .or_else(|| tags.clone().position(|tag| is(tag, &self.language)))
            .or_else(|| tags.clone().position(|tag| is(tag, "en")))
            .unwrap_or_default();
        let Some(chosen) = all.clone().nth(index) else { return (None, String::new()) };
        let message = chosen.template.render(chosen.words(), &reason.insertions());
        (Some(chosen.tag), message)
    }
}

impl<'a> Reason<'a> {
    /// What the rule answers with in place of the usual 429.
    fn response(&self, presentation: &'a Presentation) -> Option<&'a RuleResponse> {
        let exceeds = matches!(self.kind, MessageKind::Exceeded | MessageKind::Impossible);
        self.rule.filter(|_| exceeds).and_then(|rule| presentation.response(rule.name()))
    }

    fn insertions(&self) -> Insertions<'a> {
        let binding = self.outcome.and_then(Outcome::binding);
        let limit = binding.map(|ruling| ruling.limit);
        let at = self.outcome.map(Outcome::at).unwrap_or_default();
        Insertions {
            limit: limit.map(cupo_core::Limit::quota),
            window: limit.map(|limit| limit.window_at(at)),
            retry_after: self.retry_after,
            rule: self.rule.map(Rule::name),
            remaining: binding.map(|ruling| ruling.decision.remaining),
            key: self.rule.map(Rule::key),
        }
    }
}

fn say_wait(seconds: Option<u64>, headers: &mut HeaderMap) {
    if let Some(seconds) = seconds {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// Whether caches may keep a response of this status that says nothing of caching (RFC 9110, section 15.1).
const fn is_cacheable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 404 | 405 | 410 | 414 | 451 | 501)
}
