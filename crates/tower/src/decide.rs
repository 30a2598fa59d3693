//! From the head of a request to what becomes of it.

use core::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use cupo_core::{Clock, Engine, Observer, Outcome, Store, Timestamp};
use cupo_http::{Identity, Peer, Presentation, RequestAttributes};
use http::Response;
use http::request::Parts;

use crate::answers::{Answers, Bundle};
use crate::outcome::RequestOutcome;
use crate::service::Shared;
use crate::settle::{Settle, aside, settle};
use crate::status;

/// What becomes of a request.
pub(crate) enum Next {
    /// It goes on to the service.
    Pass(Passing),
    /// It goes on once this is ready; dropped before, its slot is given back.
    Hold(Passing, Hold),
    /// It is answered here.
    Refuse(Box<Response<Bytes>>),
}

/// A request that goes on to the service.
pub(crate) struct Passing {
    pub(crate) outcome: Arc<Outcome>,
    /// Where a rule waits for the response.
    pub(crate) settle: Option<Settle>,
}

/// Ready when the request's slot has come.
pub(crate) type Hold = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Decides a request and gives its head back. `body_bytes` is the length of its body, 0 for none, where that is known.
pub(crate) async fn decide<S, C, O>(
    shared: Arc<Shared<S, C, O>>,
    bundle: Arc<Bundle>,
    mut head: Parts,
    body_bytes: Option<u64>,
) -> (Parts, Next)
where
    S: Store + 'static,
    C: Clock + 'static,
    O: Observer + 'static,
{
    let layer = &shared.layer;
    let answers = &bundle.answers;
    let presentation = &*answers.presentation;
    let peer = (layer.find_peer)(&head.extensions);
    let now = layer.engine.clock().now();
    let identity = identify(answers, &head, now);
    let attributes = attributes(&bundle, &head, peer, body_bytes, &identity);
    if let Some(inspect) = layer.inspect {
        inspect(&attributes);
    }
    if status::is_asked(answers, &head) {
        let response = status::answer(&layer.engine, &bundle, &head, &attributes).await;
        return (head, Next::Refuse(Box::new(response)));
    }
    let decided = layer.engine.decide_under(Arc::clone(&bundle.in_force), &attributes, now).await;
    if let (Some(prepare), Ok(outcome)) = (layer.prepare, &decided)
        && outcome.is_admitted()
    {
        prepare(outcome.in_force(), &mut head);
    }
    let next = match decided {
        Ok(outcome) if !outcome.is_admitted() => {
            let mut response = presentation.refusal(&outcome, &head.headers, random(presentation));
            response.extensions_mut().insert(RequestOutcome(Arc::new(outcome)));
            Next::Refuse(Box::new(response))
        }
        Ok(outcome) => {
            let outcome = Arc::new(outcome);
            let settle = settle(&layer.engine, &outcome);
            let passing = Passing { outcome: Arc::clone(&outcome), settle };
            if outcome.delay().is_zero() {
                Next::Pass(passing)
            } else {
                Next::Hold(passing, hold(Arc::clone(&layer.engine), outcome))
            }
        }
        Err(_) => Next::Refuse(Box::new(presentation.unavailable(&head.headers, random(presentation)))),
    };
    (head, next)
}

/// Who sent a request, as far as it is known.
pub(crate) fn identify(answers: &Answers, head: &Parts, now: Timestamp) -> Identity {
    answers.identify.as_ref().map(|by| by.identify(&head.headers, now)).unwrap_or_default()
}

/// What rules may ask of a request; `body_bytes` is the length of its body, 0 for none, where that is known.
pub(crate) fn attributes<'a>(
    bundle: &'a Bundle,
    head: &'a Parts,
    peer: Peer,
    body_bytes: Option<u64>,
    identity: &'a Identity,
) -> RequestAttributes<'a> {
    let is_empty = body_bytes == Some(0);
    let uncounted = is_empty && bundle.answers.presentation.is_uncounted(&head.method, &head.headers);
    let attributes = RequestAttributes::new(head, peer, bundle.in_force.policy().trust());
    attributes.identified(identity).uncounted(uncounted).with_body(body_bytes)
}

/// A number for the jitter, where there is one.
pub(crate) fn random(presentation: &Presentation) -> u64 {
    if presentation.has_jitter() { fastrand::u64(..) } else { 0 }
}

fn hold<S, C, O>(engine: Arc<Engine<S, C, O>>, outcome: Arc<Outcome>) -> Hold
where
    S: Store + 'static,
    C: Clock + 'static,
    O: Observer + 'static,
{
    let slot_comes = tokio::time::sleep(outcome.delay());
    let slot = Slot { cancel: Some(Box::pin(async move { engine.cancel(&outcome).await })) };
    Box::pin(async move {
        slot_comes.await;
        slot.take();
    })
}

/// The slot of a request that is being held: given back unless it is taken.
struct Slot {
    cancel: Option<Hold>,
}

impl Slot {
    fn take(mut self) {
        self.cancel = None;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.cancel.take().into_iter().for_each(aside);
    }
}
