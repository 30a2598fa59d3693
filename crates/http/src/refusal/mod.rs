//! Refusals: the whole response to a request that may not pass.

mod body;
mod message;
mod negotiate;

use bytes::Bytes;
use cupo_core::{Outcome, Settled};
use http::header::{CONTENT_LANGUAGE, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, Response, StatusCode};

use crate::dialect::{Dialects, write_fields};
use crate::retry_after;
use message::Reason;
use negotiate::Form;

/// The response to a request whose outcome is no admission (ask [`Outcome::is_admitted`] first):
///
/// - 429 with `Retry-After` where it may come again;
/// - 429 without where its cost can never fit;
/// - 403 where it lacks what a rule counts by, or the policy blocks it;
/// - 401 where its credentials do not hold.
///
/// The body is a problem (RFC 9457) or, where `Accept` prefers it, plain JSON; its message is English or, where
/// `Accept-Language` prefers it, Spanish. The rate-limit fields are written as on every response.
#[must_use]
pub fn refusal(outcome: &Outcome, request: &HeaderMap, dialects: Dialects) -> Response<Bytes> {
    let reason = match (outcome.settled(), outcome.lacks(), outcome.retry_after()) {
        (Some(Settled::Blocked(_)), ..) => Reason::Blocked,
        (Some(Settled::BadCredentials), ..) => Reason::BadCredentials,
        (_, Some(rule), _) => Reason::Lacks { rule },
        (_, None, Some(wait)) => Reason::Exceeded { outcome, seconds: retry_after::whole(wait) },
        (_, None, None) => Reason::Impossible { outcome },
    };
    let mut response = render(&reason, request);
    write_fields(outcome, dialects, response.headers_mut());
    response
}

/// The response where the store could not decide and the request may not pass for it: 503, `Retry-After: 1`. Never 429: the
/// caller has done nothing wrong.
#[must_use]
pub fn unavailable(request: &HeaderMap) -> Response<Bytes> {
    let mut response = render(&Reason::Unavailable, request);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn render(reason: &Reason<'_>, request: &HeaderMap) -> Response<Bytes> {
    let (form, language) = (Form::preferred(request), message::Language::preferred(request));
    let mut response = Response::new(body::render(reason, form, language));
    *response.status_mut() = match reason {
        Reason::Exceeded { .. } | Reason::Impossible { .. } => StatusCode::TOO_MANY_REQUESTS,
        Reason::Lacks { .. } | Reason::Blocked => StatusCode::FORBIDDEN,
        Reason::BadCredentials => StatusCode::UNAUTHORIZED,
        Reason::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let headers = response.headers_mut();
    if matches!(reason, Reason::BadCredentials) {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Bearer error="invalid_token""#));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static(language.tag()));
    response
}
