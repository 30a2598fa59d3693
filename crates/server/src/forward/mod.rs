//! The forwarder: a service that passes each request to the upstream and streams the response back.
//!
//! Who speaks to whom: clients speak HTTP/1 or HTTP/2 to the [server](crate::serve); the upstream is spoken to as
//! [`UpstreamProtocol`] says. `Via` is added to requests, as RFC 9110 asks of a gateway, and not to responses, where it is
//! optional. `Host` is passed on as it came.

mod body;
mod chunked;
mod exchange;
mod failure;
mod forwarded;
mod forwarding;
mod headers;
mod host;
mod http2;
mod pool;
mod request;
mod response;
mod send;
mod settings;
mod trailers;
mod upgrade;

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Request, Response, StatusCode, Version};
use http_body::Body;
use hyper::upgrade::OnUpgrade;
use tokio::time::Instant;

pub use self::body::ForwardBody;
use self::exchange::Exchange;
use self::failure::Failure;
use self::forwarding::Following;
pub use self::forwarding::Forwarding;
use self::headers::te_trailers;
use self::http2::Multiplexed;
use self::pool::Pool;
use self::request::Framing;
use self::response::Head;
use self::send::Send;
pub use self::settings::{ForwardSettings, Trust, Upstream, UpstreamProtocol, UpstreamTimeouts};
use self::trailers::Trailed;
pub(crate) use self::trailers::Under;
use crate::access_log::UpstreamDuration;
use crate::worker::Worker;

/// Forwards requests to the upstream. Belongs to one worker; clones share its connections.
///
/// Ready at all times, and never fails: what goes wrong becomes a response with an `application/problem+json` body.
#[derive(Debug, Clone)]
pub struct Forwarder(Rc<RefCell<Current>>);

/// What requests are forwarded by from now on.
#[derive(Debug)]
struct Current {
    following: Following,
    /// The settings that `shared` was made for.
    settings: Arc<ForwardSettings>,
    shared: Rc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Rc<ForwardSettings>,
    pool: Rc<Pool>,
    http2: Multiplexed,
    worker: Worker,
}

impl Shared {
    fn new(settings: &ForwardSettings, worker: &Worker) -> Rc<Self> {
        let pool = Pool::new(worker.timers().clone(), settings);
        let settings = Rc::new(settings.clone());
        Rc::new(Self { settings, pool, http2: Multiplexed::default(), worker: worker.clone() })
    }
}

impl Forwarder {
    /// A forwarder for a worker, to be made on the worker's thread: in the function given to [`serve`](crate::serve).
    #[must_use]
    pub fn new(settings: ForwardSettings, worker: &Worker) -> Self {
        Self::following(&Forwarding::new(settings), worker)
    }

    /// The same, by settings that may be swapped.
    #[must_use]
    pub fn following(forwarding: &Forwarding, worker: &Worker) -> Self {
        let mut following = forwarding.cache();
        let settings = Arc::clone(following.load());
        let shared = Shared::new(&settings, worker);
        Self(Rc::new(RefCell::new(Current { following, settings, shared })))
    }

    /// What a request that is forwarded now goes by, to its end.
    fn shared(&self) -> Rc<Shared> {
        let current = &mut *self.0.borrow_mut();
        let now = current.following.load();
        if !Arc::ptr_eq(now, &current.settings) {
            current.shared = Shared::new(now, &current.shared.worker);
            current.settings = Arc::clone(now);
        }
        Rc::clone(&current.shared)
    }

    fn start<B>(&self, mut request: Request<B>) -> Result<State<B>, Failure>
    where
        B: Body<Data = Bytes> + Unpin + 'static,
    {
        let shared = self.shared();
        let empty = request.body().is_end_stream();
        let upgrade = asks_upgrade(&mut request, empty);
        let (mut parts, body) = request.into_parts();
        let body = Trailed::new(body, parts.extensions.remove());
        request::check(&parts)?;
        let trusted = request::is_trusted(&mut parts, &shared.settings);
        let max = shared.settings.max_body_bytes.unwrap_or(u64::MAX);
        let framing = match body.size_hint().exact() {
            _ if empty => Framing::Empty,
            Some(length) if length > max => return Err(Failure::BodyTooLarge),
            Some(length) => Framing::Length(length),
            None => Framing::Chunked,
        };
        if upgrade.is_none() && speaks_http2(shared.settings.upstream_protocol, &parts) {
            request::rewrite(&mut parts, trusted, &shared.settings);
            let request = Request::from_parts(parts, body);
            return Ok(State::Http2(Box::pin(http2::forward(shared, request))));
        }
        let mut link = shared.pool.take();
        let protocol = upgrade.as_ref().map(|(protocol, _)| protocol);
        request::write_head(&mut link.output, &parts, framing, protocol, trusted, &shared.settings);
        let expects = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"100-continue");
        let held = parts.headers.get(header::EXPECT).is_some_and(expects);
        let send = Send::new(body, framing, held, max);
        let mut spare = parts.headers;
        spare.clear();
        let exchange = Exchange::new(shared, link, send, parts.method, spare);
        Ok(State::Http1(exchange, upgrade.map(|(_, client)| client)))
    }
}

/// The protocol that is asked for and the promise of the client's connection.
fn asks_upgrade<B>(request: &mut Request<B>, empty: bool) -> Option<(HeaderValue, OnUpgrade)> {
    let protocol = request::upgrade(request, empty)?;
    Some((protocol, hyper::upgrade::on(request)))
}

fn speaks_http2(protocol: UpstreamProtocol, parts: &Parts) -> bool {
    match protocol {
        UpstreamProtocol::Http1 => false,
        UpstreamProtocol::Http2 => true,
        UpstreamProtocol::Auto => {
            let kind = parts.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
            let grpc = kind.get(..16).is_some_and(|kind| kind.eq_ignore_ascii_case(b"application/grpc"));
            grpc || (parts.version == Version::HTTP_2 && te_trailers(&parts.headers))
        }
    }
}

impl<B> tower_service::Service<Request<B>> for Forwarder
where
    B: Body<Data = Bytes> + Unpin + 'static,
{
    type Response = Response<ForwardBody>;
    type Error = Infallible;
    type Future = ForwardFuture<B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> ForwardFuture<B> {
        let timed = self.0.borrow().shared.worker.settings().access_log.is_some();
        let state = self.start(request).unwrap_or_else(State::Failed);
        ForwardFuture { state, started: timed.then(Instant::now) }
    }
}

/// The future of [`Forwarder`].
#[must_use = "futures do nothing unless polled"]
pub struct ForwardFuture<B> {
    state: State<B>,
    started: Option<Instant>,
}

// The large variant is the usual one; boxing it would cost every request an allocation.
#[allow(clippy::large_enum_variant)]
enum State<B> {
    Http1(Exchange<Trailed<B>>, Option<OnUpgrade>),
    Http2(Pin<Box<dyn Future<Output = Result<Response<ForwardBody>, Failure>>>>),
    Failed(Failure),
    Done,
}

impl<B> Future for ForwardFuture<B>
where
    B: Body<Data = Bytes> + Unpin + 'static,
{
    type Output = Result<Response<ForwardBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let result = match &mut this.state {
            State::Http1(exchange, _) => {
                let head = ready!(exchange.poll_head(cx));
                match (head, std::mem::replace(&mut this.state, State::Done)) {
                    (Ok(head), State::Http1(exchange, client)) => respond(exchange, head, client),
                    (Ok(_), _) => Err(Failure::Invalid),
                    (Err(failure), _) => Err(failure),
                }
            }
            State::Http2(future) => ready!(future.as_mut().poll(cx)),
            State::Failed(failure) => Err(*failure),
            State::Done => return Poll::Pending,
        };
        this.state = State::Done;
        let mut response = result.unwrap_or_else(|failure| {
            let no_answer = failure.no_answer();
            if failure.upstream() {
                tracing::warn!(?failure, "upstream failed");
            }
            let mut response = failure.problem().response().map(ForwardBody::whole);
            response.extensions_mut().insert(no_answer);
            response
        });
        if let Some(started) = this.started {
            response.extensions_mut().insert(UpstreamDuration(started.elapsed()));
        }
        Poll::Ready(Ok(response))
    }
}

fn respond<B>(
    mut exchange: Exchange<B>,
    head: Head,
    client: Option<OnUpgrade>,
) -> Result<Response<ForwardBody>, Failure>
where
    B: Body<Data = Bytes> + Unpin + 'static,
{
    let mut headers = head.headers;
    let body = if head.status == StatusCode::SWITCHING_PROTOCOLS {
        let (Some(client), Some(protocol)) = (client, head.upgrade) else { return Err(Failure::Invalid) };
        let Some(stream) = exchange.link.stream.take() else { return Err(Failure::Invalid) };
        let early = std::mem::take(&mut exchange.link.input);
        switched(&mut headers, protocol);
        drop(tokio::task::spawn_local(upgrade::tunnel(client, stream, early)));
        ForwardBody::whole(Bytes::new())
    } else {
        ForwardBody::http1(exchange, head.framing, head.keep_alive)
    };
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = headers;
    Ok(response)
}

fn switched(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, protocol);
}
