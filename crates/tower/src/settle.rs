//! What becomes of a request's charges once the head of its response is there, or it is clear that none will come.

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use cupo_core::{Clock, Engine, Observer, Outcome, Store};
use cupo_http::ResponseHead;
use http::Response;

/// In the extensions of a response that a service has made in the place of one that did not come: a gateway's 502. What rules that
/// wait for a response have reserved goes by it, and not by the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {
    /// The request was certainly served by nobody: what was reserved is given back.
    NotServed,
    /// It may have been served: what was reserved stays charged.
    MayBeServed,
}

/// Settles an outcome by the response.
pub(crate) type Settle = Box<dyn FnOnce(Seen<'_>) + Send>;

/// What has been seen of a response.
pub(crate) enum Seen<'a> {
    Head(ResponseHead<'a>),
    Nothing(NoAnswer),
}

impl<'a> Seen<'a> {
    pub(crate) fn of<B>(response: &'a Response<B>) -> Self {
        match response.extensions().get() {
            Some(no_answer) => Self::Nothing(*no_answer),
            None => Self::Head(ResponseHead { status: response.status(), headers: response.headers() }),
        }
    }
}

/// How to settle the outcome; `None` where nothing waits for the response.
pub(crate) fn settle<S, C, O>(engine: &Arc<Engine<S, C, O>>, outcome: &Arc<Outcome>) -> Option<Settle>
where
    S: Store + 'static,
    C: Clock + 'static,
    O: Observer + 'static,
{
    if !outcome.awaits_response() {
        return None;
    }
    let (engine, outcome) = (Arc::clone(engine), Arc::clone(outcome));
    Some(Box::new(move |seen| {
        let settling = match seen {
            Seen::Head(head) => outcome.settled_by(&head),
            Seen::Nothing(NoAnswer::NotServed) => outcome.not_served(),
            Seen::Nothing(NoAnswer::MayBeServed) => return,
        };
        if !settling.is_empty() {
            // The observer is told of what goes wrong.
            aside(Box::pin(async move { drop(engine.settle(&settling).await) }));
        }
    }))
}

/// Carries out what nobody waits for. A store in memory is done at once; another is waited for by a task of its own, where a runtime
/// is left to run it.
pub(crate) fn aside(mut task: Pin<Box<dyn Future<Output = ()> + Send>>) {
    let ready = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    if let (Poll::Pending, Ok(runtime)) = (ready, tokio::runtime::Handle::try_current()) {
        runtime.spawn(task);
    }
}
