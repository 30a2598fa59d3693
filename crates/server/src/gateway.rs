//! The gateway: a limiter before a forwarder, on every worker.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use cupo_core::{Clock, Entry, InForce, Observer, Settled, Store, Verdict};
use cupo_http::{Peer, is_trusted, strip_unvouched};
use cupo_tower::{CupoLayer, CupoService, RequestOutcome, StatusAnswer};
use http::header::TRANSFER_ENCODING;
use http::request::Parts;
use http::{Extensions, Request, Response, Version};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::access_log::LimiterNote;
use crate::diagnostics::inspect;
use crate::edge::RequestBody;
use crate::error::Error;
use crate::forward::{Forwarder, Forwarding, Under};
use crate::listener::Listeners;
use crate::peer::PeerInfo;
use crate::runtime::{Running, serve};
use crate::settings::ServerSettings;

/// Starts a gateway that forwards what `layer` admits. All workers share its engine; its
/// [`reload_handle`](CupoLayer::reload_handle) swaps what it goes by while requests go on, and so does [`Forwarding`].
///
/// Whom the policy trusts is also whose `Forwarded` and `X-Forwarded-*` fields, user header and client address header are
/// passed on, and who may send PROXY headers: [`trusted`](crate::ForwardSettings::trusted) and [`may_relay`](ServerSettings::may_relay) are overruled.
///
/// # Errors
///
/// [`Error::Worker`] if a thread or its runtime cannot be started.
pub fn start_gateway<S, C, O>(
    mut settings: ServerSettings,
    listeners: Listeners,
    forward: Forwarding,
    layer: CupoLayer<S, C, O>,
) -> Result<Running, Error>
where
    S: Store + 'static,
    C: Clock + 'static,
    O: Observer + 'static,
{
    let judge = layer.reload_handle();
    settings.may_relay = Arc::new(move |peer| is_trusted(peer, judge.engine().policy().trust()));
    let noted = settings.access_log.is_some();
    let layer = layer.peer_by(peer).inspect_by(inspect).prepare_by(vouch);
    // Each worker has a service of its own, so that counting who holds what is in force costs nothing.
    serve(settings, listeners, move |worker| Gateway {
        limited: tower_layer::Layer::layer(&layer, Forwarder::following(&forward, worker)),
        noted,
    })
}

/// Notes for the forwarder whether the peer's own word about its client counts, by the policy that admitted the request; what may
/// not be said is removed.
fn vouch(in_force: &Arc<InForce>, head: &mut Parts) {
    let policy = in_force.policy();
    let trusted = is_trusted(peer(&head.extensions), policy.trust());
    if !trusted {
        strip_unvouched(&mut head.headers, policy);
    }
    if head.version == Version::HTTP_2 || head.headers.contains_key(TRANSFER_ENCODING) {
        head.extensions.insert(Under(Arc::clone(in_force)));
    }
    if let Some(peer) = head.extensions.get_mut::<PeerInfo>() {
        peer.trusted = Some(trusted);
    }
}

fn peer(extensions: &Extensions) -> Peer {
    extensions.get::<PeerInfo>().map_or(Peer::Unknown, PeerInfo::peer)
}

/// The limited forwarder, which tells the access log what the limiter said.
struct Gateway<S, C, O> {
    limited: CupoService<Forwarder, S, C, O>,
    noted: bool,
}

impl<S, C, O> Clone for Gateway<S, C, O> {
    fn clone(&self) -> Self {
        Self { limited: self.limited.clone(), noted: self.noted }
    }
}

impl<S, C, O> Service<Request<RequestBody>> for Gateway<S, C, O>
where
    S: Store + 'static,
    C: Clock + 'static,
    O: Observer + 'static,
{
    type Response = <CupoService<Forwarder, S, C, O> as Service<Request<RequestBody>>>::Response;
    type Error = <CupoService<Forwarder, S, C, O> as Service<Request<RequestBody>>>::Error;
    type Future = Noting<<CupoService<Forwarder, S, C, O> as Service<Request<RequestBody>>>::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<Request<RequestBody>>::poll_ready(&mut self.limited, cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        Noting { response: self.limited.call(request), noted: self.noted }
    }
}

pin_project! {
    struct Noting<F> {
        #[pin]
        response: F,
        noted: bool,
    }
}

impl<F, B, E> Future for Noting<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut result = ready!(this.response.poll(cx));
        if let (true, Ok(response)) = (*this.noted, &mut result) {
            let extensions = response.extensions();
            let note = match extensions.get::<RequestOutcome>() {
                Some(outcome) => note(outcome),
                None if extensions.get::<StatusAnswer>().is_some() => LimiterNote::new("status", None),
                None => LimiterNote::new("unavailable", None),
            };
            response.extensions_mut().insert(note);
        }
        Poll::Ready(result)
    }
}

fn note(outcome: &RequestOutcome) -> LimiterNote {
    let settled = outcome.settled();
    let verdict = match outcome.verdict() {
        _ if matches!(settled, Some(Settled::Allowed(_))) => "allow",
        _ if matches!(settled, Some(Settled::Uncounted)) => "uncounted",
        _ if matches!(settled, Some(Settled::Blocked(_))) => "block",
        _ if matches!(settled, Some(Settled::BadCredentials)) => "bad_credentials",
        Verdict::Admit if outcome.store_error().is_some() => "admit_without_store",
        Verdict::Admit => "admit",
        Verdict::Deny { .. } => "deny",
        Verdict::Impossible => "impossible",
    };
    let rule = outcome.binding().map(|ruling| ruling.rule).or_else(|| outcome.lacks());
    let entry = settled.and_then(Settled::entry).map(Entry::name).cloned();
    LimiterNote { entry, ..LimiterNote::new(verdict, rule.map(|rule| rule.name().into())) }
}
