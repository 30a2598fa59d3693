//! The upstream over HTTP/2 without TLS, for gRPC: one connection per worker, which carries all requests at once.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Mutex;

use super::Shared;
use super::body::ForwardBody;
use super::failure::Failure;
use super::headers::hop_by_hop;
use super::pool::connect;
use crate::connection::LocalExecutor;
use crate::error::BodyError;
use crate::timers::{Timer, after};

/// An upstream that answers no ping for this long is gone.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a busy connection is pinged.
const PING: Duration = Duration::from_secs(30);

/// How often waiting for a response looks whether the request has been sent.
const LOOK: Duration = Duration::from_secs(1);

type RequestBody = Pin<Box<dyn Body<Data = Bytes, Error = BodyError>>>;
type Sender = http2::SendRequest<RequestBody>;

/// The connection, once there is one.
#[derive(Debug, Default)]
pub(super) struct Multiplexed {
    sender: RefCell<Option<Sender>>,
    /// So that requests that find no connection open one and not many.
    dialling: Mutex<()>,
}

impl Multiplexed {
    async fn get(&self, shared: &Rc<Shared>) -> Result<Sender, Failure> {
        let open = || self.sender.borrow().as_ref().filter(|sender| !sender.is_closed()).cloned();
        if let Some(sender) = open() {
            return Ok(sender);
        }
        let _dialling = self.dialling.lock().await;
        if let Some(sender) = open() {
            return Ok(sender);
        }
        let stream = connect(Rc::clone(&shared.settings)).await?;
        let mut builder = http2::Builder::new(LocalExecutor);
        builder.timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PING_TIMEOUT);
        let (sender, connection) =
            builder.handshake(TokioIo::new(stream)).await.map_err(|_| Failure::Invalid)?;
        drop(tokio::task::spawn_local(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "upstream connection ended");
            }
        }));
        *self.sender.borrow_mut() = Some(sender.clone());
        Ok(sender)
    }
}

/// How far a request's body is; shared by the body, which hyper polls elsewhere, and the wait for the response.
#[derive(Debug, Default)]
struct Progress {
    /// When the body ended, in the clock's milliseconds.
    ended: Cell<Option<u64>>,
    failure: Cell<Option<Failure>>,
    answered: Cell<bool>,
}

/// Forwards a request whose head is ready for HTTP/2.
pub(super) async fn forward<B>(
    shared: Rc<Shared>,
    request: Request<B>,
) -> Result<Response<ForwardBody>, Failure>
where
    B: Body<Data = Bytes> + Unpin + 'static,
{
    let timer = shared.worker.timers().timer();
    let progress = Rc::new(Progress::default());
    let limit = shared.settings.max_body_bytes.unwrap_or(u64::MAX);
    let mut request = request.map(|body| -> RequestBody {
        let idle = Streamed::new(body, shared.worker.timers().timer(), shared.settings.timeouts.idle);
        Box::pin(Outgoing { body: idle, left: limit, progress: Rc::clone(&progress) })
    });
    let mut again = true;
    let response = loop {
        let mut sender = shared.http2.get(&shared).await?;
        let mut response = pin!(sender.try_send_request(request));
        let answered = poll_fn(|cx| {
            if let Poll::Ready(answered) = response.as_mut().poll(cx) {
                return Poll::Ready(Ok(answered));
            }
            let now = timer.now();
            let deadline = progress.ended.get().map_or_else(
                || after(now, LOOK),
                |ended| after(ended, shared.settings.timeouts.response_head),
            );
            if timer.arm(deadline, cx) { Poll::Ready(Err(Failure::ResponseTimeout)) } else { Poll::Pending }
        });
        match answered.await? {
            Ok(response) => break response,
            Err(mut error) => match error.take_message() {
                // Never sent, for the connection was closing: nothing was touched.
                Some(unsent) if std::mem::take(&mut again) => request = unsent,
                _ => {
                    let error = error.into_error();
                    tracing::debug!(%error, "upstream failed");
                    return Err(progress.failure.get().unwrap_or(Failure::Closed));
                }
            },
        }
    };
    progress.answered.set(true);
    let (head, body) = response.into_parts();
    let body = Streamed::new(body, timer, shared.settings.timeouts.idle);
    let mut response = Response::new(ForwardBody::http2(body));
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    let own: Vec<_> = response.headers().keys().filter(|name| hop_by_hop(name)).cloned().collect();
    for name in own {
        response.headers_mut().remove(name);
    }
    Ok(response)
}

/// A body that must not stand still for too long.
#[derive(Debug)]
pub(super) struct Streamed<B> {
    body: B,
    timer: Timer,
    idle: Duration,
    since: Option<u64>,
}

impl<B> Streamed<B> {
    fn new(body: B, timer: Timer, idle: Duration) -> Self {
        Self { body, timer, idle, since: None }
    }
}

impl<B> Body for Streamed<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(frame) => {
                this.since = None;
                this.timer.off();
                Poll::Ready(frame.map(|frame| frame.map_err(|_| BodyError::Truncated)))
            }
            Poll::Pending => {
                let since = *this.since.get_or_insert_with(|| this.timer.now());
                let late = this.timer.arm(after(since, this.idle), cx);
                if late { Poll::Ready(Some(Err(BodyError::Stalled))) } else { Poll::Pending }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A request's body on its way out: bounded, and watched until the response has begun.
struct Outgoing<B> {
    body: Streamed<B>,
    left: u64,
    progress: Rc<Progress>,
}

impl<B> Outgoing<B> {
    fn failed(&self, failure: Failure, error: BodyError) -> BodyError {
        self.progress.failure.set(Some(failure));
        error
    }
}

impl<B> Body for Outgoing<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if this.progress.answered.get() {
            // A stream may rest in one direction while the other talks, which has its own deadline.
            let frame = ready!(Pin::new(&mut this.body.body).poll_frame(cx));
            return Poll::Ready(frame.map(|frame| frame.map_err(|_| BodyError::Request)));
        }
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        Poll::Ready(match frame {
            None => {
                this.progress.ended.set(Some(this.body.timer.now()));
                None
            }
            Some(Ok(frame)) => {
                let len = frame.data_ref().map_or(0, |data| u64::try_from(data.len()).unwrap_or(u64::MAX));
                if let Some(left) = this.left.checked_sub(len) {
                    this.left = left;
                    if this.body.is_end_stream() {
                        this.progress.ended.set(Some(this.body.timer.now()));
                    }
                    Some(Ok(frame))
                } else {
                    Some(Err(this.failed(Failure::BodyTooLarge, BodyError::TooLarge)))
                }
            }
            Some(Err(BodyError::Stalled)) => {
                Some(Err(this.failed(Failure::RequestStalled, BodyError::Stalled)))
            }
            Some(Err(_)) => Some(Err(this.failed(Failure::RequestBody, BodyError::Request))),
        })
    }

    fn is_end_stream(&self) -> bool {
        let ended = self.body.is_end_stream();
        if ended && self.progress.ended.get().is_none() {
            self.progress.ended.set(Some(self.body.timer.now()));
        }
        ended
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
