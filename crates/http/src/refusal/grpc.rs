//! Refusals of gRPC calls: status 200 and the trailers in the head, since a client of gRPC reads nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::kind::Labels;
use super::proto;
use crate::cors;

static STATUS: HeaderName = HeaderName::from_static("grpc-status");
static MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
static DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
static PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// What names the errors.
const DOMAIN: &str = "cupo";

/// Everything but visible ASCII and blanks is encoded, and the sign of encoding itself.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

/// What a call is answered with.
pub(super) struct Status<'a> {
    pub(super) labels: &'a Labels,
    pub(super) message: String,
    /// Seconds.
    pub(super) retry_after: Option<u64>,
    pub(super) rule: Option<&'a str>,
}

/// The content type of the answer where the request is a call of gRPC or gRPC-Web.
pub(super) fn answer_type(request: &HeaderMap) -> Option<&'static str> {
    let kind = request.get(CONTENT_TYPE)?.as_bytes();
    let (start, rest) = kind.split_at_checked("application/grpc".len())?;
    if !start.eq_ignore_ascii_case(b"application/grpc") {
        return None;
    }
    let end = rest.iter().position(|byte| matches!(byte, b'+' | b';' | b' ' | b'\t')).unwrap_or(rest.len());
    match rest.get(..end)?.to_ascii_lowercase().as_slice() {
        b"" => Some("application/grpc"),
        b"-web" => Some("application/grpc-web+proto"),
        b"-web-text" => Some("application/grpc-web-text+proto"),
        _ => None,
    }
}

/// Lets scripts read the status of a call.
pub(super) fn expose(headers: &mut HeaderMap) {
    if headers.contains_key(&STATUS) {
        let names = HeaderValue::from_static("grpc-status, grpc-message, grpc-status-details-bin");
        cors::expose(&names, headers);
    }
}

impl Status<'_> {
    pub(super) fn respond(self, content_type: &'static str) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::OK;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(STATUS.clone(), HeaderValue::from(u16::from(self.labels.grpc)));
        let encoded = utf8_percent_encode(&self.message, ENCODED).to_string();
        // What was encoded is visible ASCII, and so is base64.
        if let Ok(message) = HeaderValue::try_from(encoded) {
            headers.insert(MESSAGE.clone(), message);
        }
        if let Ok(details) = HeaderValue::try_from(STANDARD_NO_PAD.encode(self.details())) {
            headers.insert(DETAILS.clone(), details);
        }
        // Where waiting does not help a client is not to try again by itself, which a negative number says.
        let pushback = self.retry_after.map_or(-1, |seconds| {
            i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX).min(i32::MAX.into())
        });
        headers.insert(PUSHBACK.clone(), HeaderValue::from(pushback));
        response
    }

    /// `google.rpc.Status` with an `ErrorInfo` and, where waiting helps, a `RetryInfo`.
    fn details(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        proto::number(1, self.labels.grpc.into(), &mut out);
        proto::bytes(2, self.message.as_bytes(), &mut out);
        if let Some(seconds) = self.retry_after {
            any("RetryInfo", &mut out, |info| {
                proto::message(1, info, |duration| proto::number(1, seconds, duration));
            });
        }
        any("ErrorInfo", &mut out, |info| {
            proto::bytes(1, self.labels.reason.as_bytes(), info);
            proto::bytes(2, DOMAIN.as_bytes(), info);
            if let Some(rule) = self.rule {
                proto::message(3, info, |entry| {
                    proto::bytes(1, b"rule", entry);
                    proto::bytes(2, rule.as_bytes(), entry);
                });
            }
        });
        out
    }
}

/// Adds one of the details, which is a message of `google.rpc`.
fn any(name: &str, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    proto::message(3, out, |any| {
        proto::bytes(1, format!("type.googleapis.com/google.rpc.{name}").as_bytes(), any);
        proto::message(2, any, fill);
    });
}

#[cfg(test)]
mod tests {
    use super::{CONTENT_TYPE, HeaderMap, answer_type};

    #[test]
    fn calls_are_told_by_their_content_type() {
        for (kind, answer) in [
            ("application/grpc", Some("application/grpc")),
            ("Application/gRPC+proto", Some("application/grpc")),
            ("application/grpc;charset=utf-8", Some("application/grpc")),
            ("application/grpc-web", Some("application/grpc-web+proto")),
            ("application/grpc-web+thrift", Some("application/grpc-web+proto")),
            ("application/grpc-web-text", Some("application/grpc-web-text+proto")),
            ("application/grpcx", None),
            ("application/grpc-other", None),
            ("application/grp", None),
            ("application/json", None),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
            assert_eq!(answer_type(&headers), answer, "{kind}");
        }
        assert_eq!(answer_type(&HeaderMap::new()), None);
    }
}
