//! The gateway: a limiter before a forwarder, on every worker.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use cupo_core::{Clock, Engine, Entry, Observer, Settled, Store, Verdict};
use cupo_http::{Peer, Presentation, is_trusted, strip_unvouched};
use cupo_tower::{CupoLayer, CupoService, RequestOutcome, StatusAnswer};
use http::{Extensions, Request, Response};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::access_log::LimiterNote;
use crate::diagnostics::inspect;
use crate::error::Error;
use crate::forward::{ForwardSettings, Forwarder};
use crate::listener::Listeners;
use crate::peer::PeerInfo;
use crate::runtime::{Running, serve};
use crate::settings::ServerSettings;

/// Starts a gateway that forwards what `engine` admits, and answers as `presentation` has it. All workers share the engine.
///
/// Whom the engine's policy trusts is also whose `Forwarded` and `X-Forwarded-*` fields, user header and client address header are
/// passed on, and who may send PROXY headers: [`ForwardSettings::trusted`] and [`ServerSettings::may_relay`] are overruled.
///
/// # Errors
///
/// [`Error::Worker`] if a thread or its runtime cannot be started.
pub fn start_gateway<S, C, O>(
    mut settings: ServerSettings,
    listeners: Listeners,
    mut forward: ForwardSettings,
    presentation: Presentation,
    engine: Arc<Engine<S, C, O>>,
) -> Result<Running, Error>
where
    S: Store + 'static,
    C: Clock + 'static,
    O: Observer + 'static,
{
    let judge = Arc::clone(&engine);
    forward.trusted = Arc::new(move |peer, headers| {
        let policy = judge.policy();
        let trusted = is_trusted(peer, policy.trust());
        if !trusted {
            strip_unvouched(headers, policy.trust());
        }
        trusted
    });
    let judge = Arc::clone(&engine);
    settings.may_relay = Arc::new(move |peer| is_trusted(peer, judge.policy().trust()));
    let noted = settings.access_log.is_some();
    let (identify, status_path) = (settings.identify.clone(), settings.status_path.clone());
    serve(settings, listeners, move |worker| {
        // One of its own for each worker, so that counting who holds it costs nothing.
        let presentation = Arc::new(presentation.clone());
        let limiter = CupoLayer::new(Arc::clone(&engine)).presentation(presentation);
        let mut limiter = limiter.peer_by(peer).inspect_by(inspect);
        if let Some(identify) = &identify {
            limiter = limiter.identify_by(Arc::clone(identify));
        }
        if let Some(path) = &status_path {
            limiter = limiter.status_at(path);
        }
        Gateway {
            limited: tower_layer::Layer::layer(&limiter, Forwarder::new(forward.clone(), worker)),
            noted,
        }
    })
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

impl<S, C, O> Service<Request<Incoming>> for Gateway<S, C, O>
where
    S: Store + 'static,
    C: Clock + 'static,
    O: Observer + 'static,
{
    type Response = <CupoService<Forwarder, S, C, O> as Service<Request<Incoming>>>::Response;
    type Error = <CupoService<Forwarder, S, C, O> as Service<Request<Incoming>>>::Error;
    type Future = Noting<<CupoService<Forwarder, S, C, O> as Service<Request<Incoming>>>::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<Request<Incoming>>::poll_ready(&mut self.limited, cx)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
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
