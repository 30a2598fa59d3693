//! One client connection: which protocol it speaks, and when it has to end.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use cupo_http::Diagnostic;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};

use crate::activity::Activity;
use crate::diagnostics;
use crate::edge::{BoxError, Edge, RequestBody};
use crate::peer::PeerInfo;
use crate::proxy_header::{self, ProxyProtocol, ReadProxyHeader};
use crate::settings::ServerSettings;
use crate::socket::{Left, Socket, linger};
use crate::stream::ClientStream;
use crate::timers::Timer;
use crate::worker::Worker;

/// What an HTTP/2 client says first (RFC 9113, section 3.4). No HTTP/1 request starts with its first line.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// An HTTP/1 buffer holds at least a head and is large enough to stream through.
const MIN_BUFFER: usize = 64 * 1024;

/// Spawns onto the worker's own thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalExecutor;

impl<F: Future<Output = ()> + 'static> Executor<F> for LocalExecutor {
    fn execute(&self, future: F) {
        drop(tokio::task::spawn_local(future));
    }
}

/// How connections are served, the same for all of a worker.
#[derive(Debug, Clone)]
pub(crate) struct Protocols {
    http1: http1::Builder,
    http2: http2::Builder<LocalExecutor>,
}

impl Protocols {
    pub(crate) fn new(settings: &ServerSettings) -> Self {
        let limits = &settings.limits;
        let head_bytes = usize::try_from(limits.head_bytes).unwrap_or(usize::MAX);
        let mut http1 = http1::Builder::new();
        // Deadlines are the connection's own (see `drive`), so hyper needs no timer here.
        http1.header_read_timeout(None).max_buf_size(head_bytes.max(MIN_BUFFER)).max_header_size(head_bytes);
        // hyper parses up to 100 headers without allocating, and only if no number is named.
        if limits.headers != 100 {
            http1.max_headers(limits.headers);
        }
        let mut http2 = http2::Builder::new(LocalExecutor);
        http2
            .timer(TokioTimer::new())
            .max_concurrent_streams(settings.max_concurrent_streams)
            .max_header_list_size(limits.head_bytes)
            .keep_alive_interval(settings.timeouts.keep_alive)
            .keep_alive_timeout(settings.timeouts.request_head);
        Self { http1, http2 }
    }
}

/// Serves one connection to its end.
pub(crate) async fn serve<S, B>(
    stream: ClientStream,
    peer: PeerInfo,
    service: S,
    worker: Worker,
    protocols: Protocols,
) where
    S: tower_service::Service<Request<RequestBody>, Response = Response<B>> + Clone + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<BoxError>,
{
    let activity = Arc::new(Activity::new(worker.timers().clock()));
    let mut watch =
        Watch { activity: Arc::clone(&activity), timer: worker.timers().timer(), worker, told: false };
    let left = Left::default();
    let mut socket = Socket::new(stream, Arc::clone(&activity), Arc::clone(&left));
    let Some(peer) = begin(&mut socket, &watch, peer).await else { return };
    let Some(multiplexed) = detect(&mut socket, &watch).await else { return };
    if proxy_header::begins(socket.ahead()) {
        // It is no HTTP, so it is answered with 400.
        diagnostics::connection(Diagnostic::UnexpectedProxyHeader, &peer);
    }
    let edge = Edge::new(service, watch.worker.clone(), peer, activity);
    let io = TokioIo::new(socket);
    let ended = if multiplexed {
        drive(pin!(protocols.http2.serve_connection(io, edge)), &mut watch, true).await
    } else {
        drive(pin!(protocols.http1.serve_connection(io, edge).with_upgrades()), &mut watch, false).await
    };
    match ended {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::debug!(%peer, %error, "connection ended"),
        None => tracing::debug!(%peer, "connection timed out"),
    }
    let left = left.lock().take();
    if let Some(stream) = left {
        linger(stream).await;
    }
}

/// Reads the PROXY header, where connections begin with one; `None` if the connection has to end.
async fn begin(socket: &mut Socket, watch: &Watch, peer: PeerInfo) -> Option<PeerInfo> {
    let settings = watch.worker.settings();
    if settings.proxy_protocol == ProxyProtocol::Off {
        return Some(peer);
    }
    let doubt = |diagnostic| {
        diagnostics::connection(diagnostic, &peer);
        tracing::debug!(%peer, ?diagnostic, "connection closed");
        Poll::Ready(None)
    };
    if !(settings.may_relay)(peer.peer()) {
        let _: Poll<Option<PeerInfo>> = doubt(Diagnostic::UntrustedRelay);
        return None;
    }
    poll_fn(|cx| {
        loop {
            match settings.proxy_protocol.read(socket.ahead()) {
                ReadProxyHeader::Whole { client, length } => {
                    socket.consume(length);
                    if client.is_none() {
                        diagnostics::connection(Diagnostic::RelayWithoutClient, &peer);
                    }
                    return Poll::Ready(Some(peer.relaying(client)));
                }
                ReadProxyHeader::Missing => return doubt(Diagnostic::NoProxyHeader),
                ReadProxyHeader::Malformed => return doubt(Diagnostic::BadProxyHeader),
                ReadProxyHeader::Partial => {}
            }
            let ended = match socket.poll_read_ahead(cx) {
                Poll::Ready(Ok(read)) => read == 0,
                Poll::Ready(Err(_)) => true,
                Poll::Pending if watch.expired(cx, false) => true,
                Poll::Pending => return Poll::Pending,
            };
            // Who only looks whether somebody listens sends nothing at all.
            if ended {
                return if socket.ahead().is_empty() {
                    Poll::Ready(None)
                } else {
                    doubt(Diagnostic::BadProxyHeader)
                };
            }
        }
    })
    .await
}

/// Whether the client speaks HTTP/2; `None` if it left or took too long.
async fn detect(socket: &mut Socket, watch: &Watch) -> Option<bool> {
    poll_fn(|cx| {
        loop {
            let ahead = socket.ahead();
            let len = ahead.len().min(PREFACE.len());
            if ahead.get(..len) != PREFACE.get(..len) {
                return Poll::Ready(Some(false));
            }
            if len == PREFACE.len() {
                return Poll::Ready(Some(true));
            }
            match socket.poll_read_ahead(cx) {
                Poll::Ready(Ok(read)) if read > 0 => {}
                Poll::Ready(_) => return Poll::Ready(None),
                Poll::Pending if watch.expired(cx, false) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// A hyper connection that can be told to finish.
trait Graceful: Future<Output = hyper::Result<()>> {
    fn finish(self: Pin<&mut Self>);
}

impl<S, B> Graceful for http1::UpgradeableConnection<TokioIo<Socket>, S>
where
    S: hyper::service::HttpService<Incoming, ResBody = B>,
    S::Error: Into<BoxError>,
    B: Body + 'static,
    B::Error: Into<BoxError>,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S, B> Graceful for http2::Connection<TokioIo<Socket>, S, LocalExecutor>
where
    S: hyper::service::HttpService<Incoming, ResBody = B>,
    S::Error: Into<BoxError>,
    S::Future: 'static,
    B: Body + 'static,
    B::Error: Into<BoxError>,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Polls a connection until it ends (`Some`) or must be cut (`None`).
async fn drive<C: Graceful>(
    mut connection: Pin<&mut C>,
    watch: &mut Watch,
    multiplexed: bool,
) -> Option<C::Output> {
    poll_fn(|cx| {
        // hyper would close a connection whose first request is still on its way.
        let begun = || multiplexed || watch.activity.served();
        if !watch.told && watch.worker.drain_since().is_some() && begun() {
            watch.told = true;
            connection.as_mut().finish();
        }
        if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
            return Poll::Ready(Some(ended));
        }
        if watch.expired(cx, multiplexed) { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

/// Watches over a connection's deadlines.
#[derive(Debug)]
struct Watch {
    activity: Arc<Activity>,
    timer: Timer,
    worker: Worker,
    /// Whether the connection was told to finish.
    told: bool,
}

impl Watch {
    /// Whether the connection's deadline has passed; wakes the task when it will.
    fn expired(&self, cx: &Context<'_>, multiplexed: bool) -> bool {
        let timeouts = &self.worker.settings().timeouts;
        let deadline = self.activity.deadline(timeouts, multiplexed, self.worker.drain_since());
        self.timer.arm(deadline, cx)
    }
}
