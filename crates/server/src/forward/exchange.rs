//! One request and its response over an HTTP/1.1 connection.
//!
//! The task that serves the client polls the upstream's socket itself. No other task, channel or timer is involved, so a
//! request costs the four system calls it must (read, write, read, write) and nobody is woken twice.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use http_body::Body;
use tokio::net::TcpStream;

use super::Shared;
use super::failure::Failure;
use super::pool::{Link, connect};
use super::response::{self, Head};
use super::send::{Send, Sent};
use crate::timers::after;

type Connect = Pin<Box<dyn Future<Output = Result<TcpStream, Failure>>>>;

/// An exchange under way.
pub(super) struct Exchange<B> {
    pub(super) shared: Rc<Shared>,
    pub(super) link: Link,
    pub(super) send: Send<B>,
    connect: Option<Connect>,
    method: Method,
    /// Memory for the response's headers.
    spare: HeaderMap,
    /// Whether the request may be sent once more if nothing of a response has come.
    retry: bool,
    /// Since when the exchange waits for what it now waits for.
    since: u64,
    sent: Sent,
}

impl<B> Exchange<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// Starts with a `link` whose output buffer holds the head.
    pub(super) fn new(
        shared: Rc<Shared>,
        link: Link,
        send: Send<B>,
        method: Method,
        spare: HeaderMap,
    ) -> Self {
        let idempotent = matches!(
            method,
            Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE
        );
        let retry = link.reused && idempotent && send.head_only();
        let since = link.timer.now();
        let mut this = Self {
            shared,
            link,
            send,
            connect: None,
            method,
            spare,
            retry,
            since,
            sent: Sent::WaitsForUpstream,
        };
        if this.link.stream.is_none() {
            this.dial();
        }
        this
    }

    fn dial(&mut self) {
        self.connect = Some(Box::pin(connect(Rc::clone(&self.shared.settings))));
    }

    /// Whether the request is written completely, so that the connection can be used again.
    pub(super) fn sent_all(&self) -> bool {
        self.sent == Sent::All
    }

    /// Sends what can be sent; notes progress.
    pub(super) fn poll_send(&mut self, cx: &mut Context<'_>) -> Result<Sent, Failure> {
        if matches!(self.sent, Sent::All | Sent::Broken) {
            return Ok(self.sent);
        }
        let Some(stream) = &mut self.link.stream else { return Ok(self.sent) };
        let sent = self.send.poll(cx, stream, &mut self.link.output)?;
        if std::mem::take(&mut self.send.moved) || sent != self.sent {
            self.since = self.link.timer.now();
        }
        self.sent = sent;
        Ok(sent)
    }

    /// Completes with the final response's head.
    pub(super) fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Head, Failure>> {
        loop {
            if let Some(connect) = &mut self.connect {
                let stream = ready!(connect.as_mut().poll(cx))?;
                self.connect = None;
                self.link.stream = Some(stream);
                self.since = self.link.timer.now();
            }
            self.poll_send(cx)?;
            match self.link.poll_fill(cx, false) {
                Poll::Ready(Ok(read)) if read > 0 => {
                    self.retry = false;
                    if let Some(head) = self.take_head()? {
                        return Poll::Ready(Ok(head));
                    }
                }
                Poll::Ready(_) => self.lost()?,
                Poll::Pending => {
                    if !self.overdue(cx)? {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// The final head, once it is in the buffer; interim ones are skipped.
    fn take_head(&mut self) -> Result<Option<Head>, Failure> {
        loop {
            let Some(head) = response::parse(&mut self.link.input, &self.method, &mut self.spare)? else {
                let full = self.link.input.len() > self.shared.settings.max_response_head_bytes;
                return if full { Err(Failure::Invalid) } else { Ok(None) };
            };
            match head.status {
                StatusCode::CONTINUE => self.send.release(),
                StatusCode::SWITCHING_PROTOCOLS => return Ok(Some(head)),
                status if status.is_informational() => {}
                _ => return Ok(Some(head)),
            }
            if self.link.input.is_empty() {
                return Ok(None);
            }
        }
    }

    /// The connection ended without a response. A connection that had served before may have been closed as idle just
    /// when the request went out; then, and if sending twice does no harm, a new one is tried.
    fn lost(&mut self) -> Result<(), Failure> {
        if !std::mem::take(&mut self.retry) {
            return Err(Failure::Closed);
        }
        let fresh = self.shared.pool.fresh();
        let dead = std::mem::replace(&mut self.link, fresh);
        self.link.output = dead.output;
        self.send.restart();
        self.sent = Sent::WaitsForUpstream;
        self.dial();
        Ok(())
    }

    /// Whether waiting is over: true if there is something to do, an error if it took too long.
    fn overdue(&mut self, cx: &Context<'_>) -> Result<bool, Failure> {
        let timeouts = &self.shared.settings.timeouts;
        let (span, failure) = match self.sent {
            Sent::All | Sent::Broken => (timeouts.response_head, Some(Failure::ResponseTimeout)),
            Sent::WaitsForClient => (timeouts.idle, Some(Failure::RequestStalled)),
            Sent::WaitsForUpstream => (timeouts.idle, Some(Failure::UpstreamStalled)),
            Sent::Held => (timeouts.expect_continue, None),
        };
        if !self.link.timer.arm(after(self.since, span), cx) {
            return Ok(false);
        }
        failure.map_or_else(
            || {
                self.send.release();
                Ok(true)
            },
            Err,
        )
    }

    /// Ends the exchange; the connection is kept if it is fit for another request.
    pub(super) fn finish(self, keep_alive: bool) {
        if keep_alive && self.sent_all() {
            self.shared.pool.put(self.link);
        }
    }

    /// Waits for a body's bytes; true if none came for too long.
    pub(super) fn stalled(&self, since: u64, cx: &Context<'_>) -> bool {
        self.link.timer.arm(after(since.max(self.since), self.shared.settings.timeouts.idle), cx)
    }
}
