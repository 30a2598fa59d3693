//! What every request meets first and last, whatever the service: the health endpoint, the bounds on its head, its
//! connection's bookkeeping and the access log.

mod body;
mod request_body;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use cupo_core::normalise;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use pin_project_lite::pin_project;

pub(crate) use self::body::EdgeBody;
pub use self::request_body::RequestBody;
use self::request_body::Unread;
use crate::access_log::Entry;
use crate::activity::{Activity, InFlight};
use crate::health;
use crate::peer::PeerInfo;
use crate::problem::Problem;
use crate::worker::Worker;

/// Any error, as hyper takes them.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

const TARGET_TOO_LONG: Problem = Problem {
    status: StatusCode::URI_TOO_LONG,
    kind: "target-too-long",
    title: "The request target is too long",
    detail: "The path and query are longer than this server takes. Send long input in the body.",
};

const TOO_MANY_HEADERS: Problem = Problem {
    status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    kind: "too-many-headers",
    title: "Too many header fields",
    detail: "The request has more header fields than this server takes. Send fewer.",
};

/// The outermost service of a connection.
#[derive(Debug)]
pub(crate) struct Edge<S> {
    inner: S,
    worker: Worker,
    peer: PeerInfo,
    activity: Arc<Activity>,
}

impl<S> Edge<S> {
    pub(crate) fn new(inner: S, worker: Worker, peer: PeerInfo, activity: Arc<Activity>) -> Self {
        Self { inner, worker, peer, activity }
    }

    /// The answer to a request that the inner service need not see.
    fn answer(&self, request: &Request<Incoming>) -> Option<Response<Bytes>> {
        let settings = self.worker.settings();
        let path = request.uri().path();
        let is = |own: &str| own == path || normalise(own) == normalise(path);
        if settings.health_path.as_deref().is_some_and(is) {
            let (store, policy) = (settings.store_reporter.as_ref(), settings.policy_reporter.as_ref());
            return Some(health::respond(self.worker.draining(), store, policy));
        }
        if target_len(request.uri()) > settings.limits.target_bytes {
            return Some(TARGET_TOO_LONG.response());
        }
        // HTTP/1 stops at this number while parsing.
        if request.headers().len() > settings.limits.headers {
            return Some(TOO_MANY_HEADERS.response());
        }
        None
    }
}

fn target_len(uri: &Uri) -> usize {
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    authority + uri.path_and_query().map_or(0, |path| path.as_str().len())
}

impl<S, B> hyper::service::Service<Request<Incoming>> for Edge<S>
where
    S: tower_service::Service<Request<RequestBody>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
{
    type Response = Response<EdgeBody<B>>;
    type Error = BoxError;
    type Future = EdgeFuture<S, S::Future>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let guard = self.activity.request();
        let log = self.worker.settings().access_log.as_ref();
        let log = log.map(|log| log.entry(self.peer, request.method(), request.uri()));
        // A connection whose first request came this late has not been told to finish; see `connection`.
        let close = self.worker.drain_since().is_some() && request.version() != Version::HTTP_2;
        // On a connection of HTTP/1 the socket lingers instead.
        let multiplexed = request.version() == Version::HTTP_2 && !request.body().is_end_stream();
        let unread = multiplexed.then(Arc::<Unread>::default);
        let state = if let Some(response) = self.answer(&request) {
            if let Some(unread) = &unread {
                unread.leave(request.into_body());
            }
            State::Answered { response: Some(response) }
        } else {
            request.extensions_mut().insert(self.peer);
            let request = request.map(|body| match &unread {
                Some(unread) => RequestBody::left_in(body, unread),
                None => RequestBody::new(body),
            });
            State::Ready { service: self.inner.clone(), request: Some(request) }
        };
        EdgeFuture { state, close, guard: Some(guard), log, unread }
    }
}

pin_project! {
    /// The future of [`Edge`].
    pub(crate) struct EdgeFuture<S, F> {
        #[pin]
        state: State<S, F>,
        // Whether the connection is to end with the response.
        close: bool,
        guard: Option<InFlight>,
        log: Option<Box<Entry>>,
        // Where the request's body is left if it is dropped before the response is there.
        unread: Option<Arc<Unread>>,
    }
}

pin_project! {
    #[project = StateProject]
    enum State<S, F> {
        Answered { response: Option<Response<Bytes>> },
        Ready { service: S, request: Option<Request<RequestBody>> },
        Called { #[pin] future: F },
    }
}

impl<S, B> Future for EdgeFuture<S, S::Future>
where
    S: tower_service::Service<Request<RequestBody>, Response = Response<B>>,
    S::Error: Into<BoxError>,
{
    type Output = Result<Response<EdgeBody<B>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let mut response = loop {
            match this.state.as_mut().project() {
                StateProject::Ready { service, request } => {
                    ready!(service.poll_ready(cx)).map_err(Into::into)?;
                    let Some(request) = request.take() else { return Poll::Pending };
                    let future = service.call(request);
                    this.state.set(State::Called { future });
                }
                StateProject::Called { future } => {
                    let response = ready!(future.poll(cx)).map_err(Into::into)?;
                    break response.map(body::Inner::service);
                }
                StateProject::Answered { response } => {
                    let Some(response) = response.take() else { return Poll::Pending };
                    break response.map(body::Inner::answer);
                }
            }
        };
        if *this.close && response.status() != StatusCode::SWITCHING_PROTOCOLS {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(unread) = this.unread.take() {
            unread.read_on();
        }
        if let Some(log) = this.log {
            log.response(&mut response);
        }
        let (guard, log) = (this.guard.take(), this.log.take());
        Poll::Ready(Ok(response.map(|inner| EdgeBody::new(inner, guard, log))))
    }
}
