//! Why a request was not forwarded, or not answered, and what its client is told.

use cupo_tower::NoAnswer;
use http::StatusCode;

use crate::problem::Problem;

/// A reason to answer in the upstream's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// `CONNECT` asks for a forward proxy.
    Connect,
    /// The target is none of a gateway's.
    Target,
    /// No `Host`, or several, or one that is none.
    Host,
    /// A transfer coding other than `chunked`.
    TransferCoding,
    /// The request body is longer than allowed.
    BodyTooLarge,
    /// The client's body failed or ended early.
    RequestBody,
    /// The client stalled while sending its body.
    RequestStalled,
    /// The upstream cannot be resolved or connected to.
    Unreachable,
    /// Connecting took too long.
    ConnectTimeout,
    /// The upstream closed or reset the connection before it answered.
    Closed,
    /// What the upstream answered is not valid HTTP, or too large a head.
    Invalid,
    /// The upstream took too long to answer.
    ResponseTimeout,
    /// The upstream stopped taking the request body.
    UpstreamStalled,
}

impl Failure {
    pub(super) fn problem(self) -> Problem {
        let (status, kind, title, detail) = match self {
            Self::Connect => (
                StatusCode::NOT_IMPLEMENTED,
                "connect-not-supported",
                "CONNECT is not supported",
                "This server is a gateway and opens no tunnels. Send the request to the target itself.",
            ),
            Self::Target => (
                StatusCode::BAD_REQUEST,
                "bad-target",
                "The request target is not understood",
                "A target is a path that begins with `/`, or a URL; `*` goes with OPTIONS only. Send one of these.",
            ),
            Self::Host => (
                StatusCode::BAD_REQUEST,
                "bad-host",
                "The Host field is missing, repeated or malformed",
                "An HTTP/1.1 request needs exactly one Host field, with a name or an address and perhaps a port. Send one.",
            ),
            Self::TransferCoding => (
                StatusCode::NOT_IMPLEMENTED,
                "transfer-coding-not-supported",
                "The transfer coding is not supported",
                "The only transfer coding taken is `chunked`. Use Content-Encoding to compress a body.",
            ),
            Self::BodyTooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "body-too-large",
                "The request body is too large",
                "The body is longer than this server takes. Send less, or in parts.",
            ),
            Self::RequestBody => (
                StatusCode::BAD_REQUEST,
                "bad-body",
                "The request body is broken",
                "The body ended early or is framed wrongly. Send it again, whole.",
            ),
            Self::RequestStalled => (
                StatusCode::REQUEST_TIMEOUT,
                "body-timeout",
                "The request body took too long",
                "No part of the body arrived for too long. Send it again on a better connection.",
            ),
            Self::Unreachable => (
                StatusCode::BAD_GATEWAY,
                "upstream-unreachable",
                "The service cannot be reached",
                "The service behind this gateway takes no connections. Try again later; if this lasts, tell its operator.",
            ),
            Self::ConnectTimeout => (
                StatusCode::GATEWAY_TIMEOUT,
                "upstream-connect-timeout",
                "The service does not answer",
                "Connecting to the service behind this gateway took too long. Try again later; if this lasts, tell its \
                 operator.",
            ),
            Self::Closed => (
                StatusCode::BAD_GATEWAY,
                "upstream-closed",
                "The service ended the exchange",
                "The service behind this gateway closed the connection without an answer; it may or may not have acted \
                 on the request. Try again if that is safe.",
            ),
            Self::Invalid => (
                StatusCode::BAD_GATEWAY,
                "upstream-invalid",
                "The service answered with invalid HTTP",
                "The answer of the service behind this gateway cannot be understood. Tell its operator.",
            ),
            Self::ResponseTimeout => (
                StatusCode::GATEWAY_TIMEOUT,
                "upstream-timeout",
                "The service took too long",
                "The service behind this gateway did not answer in time; it may still act on the request. Try again \
                 later if that is safe.",
            ),
            Self::UpstreamStalled => (
                StatusCode::GATEWAY_TIMEOUT,
                "upstream-stalled",
                "The service stopped reading",
                "The service behind this gateway stopped taking the request body. Try again later if that is safe.",
            ),
        };
        Problem { status, kind, title, detail }
    }

    /// Whether the upstream may have served the request.
    pub(super) const fn no_answer(self) -> NoAnswer {
        match self {
            Self::Connect
            | Self::Target
            | Self::Host
            | Self::TransferCoding
            | Self::Unreachable
            | Self::ConnectTimeout => NoAnswer::NotServed,
            // The body is sent while it comes.
            Self::BodyTooLarge
            | Self::RequestBody
            | Self::RequestStalled
            | Self::Closed
            | Self::Invalid
            | Self::ResponseTimeout
            | Self::UpstreamStalled => NoAnswer::MayBeServed,
        }
    }

    /// Whether it is the upstream's doing, and so of interest to the operator.
    pub(super) fn upstream(self) -> bool {
        self.problem().status.is_server_error() && !matches!(self, Self::Connect | Self::TransferCoding)
    }
}
