//! The status endpoint.

use std::sync::Arc;

use bytes::Bytes;
use cupo_core::{Attributes, Clock, Engine, Observer, Store, normalise};
use cupo_http::{RequestAttributes, standing};
use http::header::{ALLOW, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};

use crate::answers::{Answers, Bundle};
use crate::decide::random;
use crate::outcome::RequestOutcome;

/// In the extensions of an answer of the status endpoint's own, which no outcome belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusAnswer;

/// Whether the request is for the status endpoint.
pub(crate) fn is_asked(answers: &Answers, head: &Parts) -> bool {
    answers.status_path.as_deref().is_some_and(|own| normalise(head.uri.path()) == own)
}

/// The endpoint's answer.
pub(crate) async fn answer<S: Store, C: Clock, O: Observer>(
    engine: &Engine<S, C, O>,
    bundle: &Bundle,
    head: &Parts,
    attributes: &RequestAttributes<'_>,
) -> Response<Bytes> {
    if !matches!(head.method, Method::GET | Method::HEAD) {
        let mut response = Response::new(Bytes::new());
        response.extensions_mut().insert(StatusAnswer);
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let text = |name| attributes.query(name).and_then(|value| String::from_utf8(value.into_owned()).ok());
    let path = text("path").filter(|path| path.starts_with('/'));
    let method = text("method").map_or_else(|| "GET".to_owned(), |method| method.to_ascii_uppercase());
    let about = path.as_deref().map(|path| (method.as_str(), path));
    let presentation = &bundle.answers.presentation;
    match engine.standing_under(Arc::clone(&bundle.in_force), attributes, about).await {
        Ok(Ok(found)) => {
            let mut response = standing(&found);
            response.extensions_mut().insert(StatusAnswer);
            response
        }
        Ok(Err(outcome)) => {
            let mut response = presentation.refusal(&outcome, &head.headers, random(presentation));
            response.extensions_mut().insert(RequestOutcome(Arc::new(*outcome)));
            response
        }
        Err(_) => presentation.unavailable(&head.headers, random(presentation)),
    }
}
