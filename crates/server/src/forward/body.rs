//! The body of a forwarded response.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::chunked::{Chunks, Decoded};
use super::exchange::Exchange;
use super::failure::Failure;
use super::http2::Streamed;
use super::request::Framing;
use crate::error::BodyError;

type Boxed = Pin<Box<dyn Body<Data = Bytes, Error = BodyError>>>;

/// A response body from the upstream, or an answer of the gateway's own.
pub struct ForwardBody(Kind);

enum Kind {
    /// Whole already.
    Whole(Bytes),
    /// From an HTTP/1 exchange under way.
    Http1(Boxed),
    /// From an HTTP/2 stream.
    Http2(Streamed<Incoming>),
}

impl ForwardBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole(bytes))
    }

    pub(super) fn http2(body: Streamed<Incoming>) -> Self {
        Self(Kind::Http2(body))
    }

    /// The body of an exchange whose head has just been read. It is whole at once if it came along with the head.
    pub(super) fn http1<B>(mut exchange: Exchange<B>, framing: Framing, keep_alive: bool) -> Self
    where
        B: Body<Data = Bytes> + Unpin + 'static,
    {
        let decoder = match framing {
            Framing::Empty => Decoder::Length(0),
            Framing::Length(length) => Decoder::Length(length),
            Framing::Chunked => Decoder::Chunked(Chunks::default()),
            Framing::Close => Decoder::Close,
        };
        if let Decoder::Length(length) = decoder {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let input = &mut exchange.link.input;
            if length <= input.len() {
                let bytes = input.split_to(length).freeze();
                exchange.finish(keep_alive);
                return Self::whole(bytes);
            }
        }
        Self(Kind::Http1(Box::pin(Upstream {
            exchange: Some(exchange),
            decoder,
            keep_alive,
            since: None,
            failed: None,
        })))
    }
}

impl std::fmt::Debug for ForwardBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForwardBody").field("size", &self.size_hint()).finish_non_exhaustive()
    }
}

impl Body for ForwardBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            Kind::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Kind::Http1(body) => body.as_mut().poll_frame(cx),
            Kind::Http2(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Http1(body) => body.is_end_stream(),
            Kind::Http2(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Kind::Http1(body) => body.size_hint(),
            Kind::Http2(body) => body.size_hint(),
        }
    }
}

#[derive(Debug)]
enum Decoder {
    /// This many bytes are left.
    Length(u64),
    Chunked(Chunks),
    Close,
}

impl Decoder {
    fn decode(&mut self, input: &mut bytes::BytesMut) -> Result<Decoded, BodyError> {
        match self {
            Self::Chunked(chunks) => chunks.decode(input),
            Self::Length(0) => Ok(Decoded::End(None)),
            _ if input.is_empty() => Ok(Decoded::More),
            Self::Length(left) => {
                let take = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left = left.saturating_sub(u64::try_from(take).unwrap_or(u64::MAX));
                Ok(Decoded::Data(input.split_to(take).freeze()))
            }
            Self::Close => Ok(Decoded::Data(input.split().freeze())),
        }
    }
}

/// A body that is still being read, while the request's own body may still be on its way.
struct Upstream<B> {
    /// Gone when the body has ended.
    exchange: Option<Exchange<B>>,
    decoder: Decoder,
    keep_alive: bool,
    /// Since when a read waits.
    since: Option<u64>,
    /// What is to be said next.
    failed: Option<BodyError>,
}

impl<B> Upstream<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    fn end(&mut self, keep_alive: bool) {
        if let Some(exchange) = self.exchange.take() {
            exchange.finish(keep_alive && self.keep_alive);
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            let Some(exchange) = &mut self.exchange else { return Poll::Ready(None) };
            if let Err(failure) = exchange.poll_send(cx) {
                return Poll::Ready(Some(Err(match failure {
                    Failure::BodyTooLarge => BodyError::TooLarge,
                    _ => BodyError::Request,
                })));
            }
            match self.decoder.decode(&mut exchange.link.input) {
                Ok(Decoded::Data(data)) => {
                    self.since = None;
                    if matches!(self.decoder, Decoder::Length(0)) {
                        self.end(true);
                    }
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Ok(Decoded::End(trailers)) => {
                    self.end(true);
                    return Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))));
                }
                Ok(Decoded::More) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            match exchange.link.poll_fill(cx, true) {
                Poll::Ready(Ok(0)) if matches!(self.decoder, Decoder::Close) => self.end(false),
                Poll::Ready(Ok(read)) if read > 0 => self.since = None,
                Poll::Ready(_) => return Poll::Ready(Some(Err(BodyError::Truncated))),
                Poll::Pending => {
                    let since = *self.since.get_or_insert_with(|| exchange.link.timer.now());
                    if exchange.stalled(since, cx) {
                        return Poll::Ready(Some(Err(BodyError::Stalled)));
                    }
                    return Poll::Pending;
                }
            }
        }
    }
}

impl<B> Body for Upstream<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let polled = ready!(self.poll(cx));
        if let Some(Err(error)) = polled {
            tracing::debug!(%error, "response cut");
            // Closes the connection: its state is unknown.
            self.exchange = None;
            // The error comes one turn later, since hyper throws away what it has not written when it sees one.
            self.failed = Some(error);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.exchange.is_none() && self.failed.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.decoder {
            Decoder::Length(left) => SizeHint::with_exact(*left),
            _ => SizeHint::default(),
        }
    }
}
