//! Answers as callers get them: made by the engine and by the presentation that answer requests, at a made-up instant.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use cupo_core::{
    Attributes, Engine, LimitSource, ManualClock, Policy, PolicySource, Rule, RuleSource, Timestamp,
};
use cupo_http::Presentation;
use cupo_store_memory::MemoryStore;
use http::header::{ACCEPT_LANGUAGE, HeaderValue};
use http::{HeaderMap, Response};

/// 15 January 2026, 09:30:12.
const AT: Timestamp = Timestamp::from_micros(1_768_469_412_000_000);

/// Requests that nothing more is known of.
struct Request {
    cost: u64,
}

impl Attributes for Request {
    fn client(&self) -> Option<std::net::IpAddr> {
        Some([192, 0, 2, 7].into())
    }

    fn cost(&self) -> u64 {
        self.cost
    }
}

/// Examples of answers.
pub(super) struct Examples {
    /// The head of a response to an admitted request.
    pub(super) admitted: HeaderMap,
    pub(super) refused: Response<Bytes>,
    /// What the status endpoint says then.
    pub(super) standing: Bytes,
}

impl Examples {
    /// Examples for the callers of the tier of this index, in this language. `None` where no rule can be shown.
    pub(super) fn make(
        rules: &[&Rule],
        tier: usize,
        presentation: &Presentation,
        language: &'static str,
    ) -> Option<Self> {
        let policy =
            Policy::compile(PolicySource { rules: shown(rules, tier), ..PolicySource::default() }).ok()?;
        let fits =
            policy.rules().iter().filter_map(|rule| rule.limits().next()??.quota().checked_div(rule.cost()));
        let most = fits.min()?;
        let engine = Engine::new(Arc::clone(&policy), MemoryStore::new()).with_clock(ManualClock::at(AT));
        let ask = |cost: u64| ready(engine.decide(&Request { cost }))?.ok();
        let first = ask(1)?;
        let mut admitted = HeaderMap::new();
        presentation.write(&first, &mut admitted);
        let standing = ready(engine.standing(&Request { cost: 1 }, None))?.ok()?.ok()?;
        let standing = cupo_http::standing(&standing).into_body();
        if most > 1 {
            ask(most.saturating_sub(1))?;
        }
        let last = ask(1).filter(|outcome| !outcome.is_admitted())?;
        let mut request = HeaderMap::new();
        request.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(language));
        Some(Self { admitted, refused: presentation.refusal(&last, &request, 0), standing })
    }
}

/// The rules that hold for every request, for callers of this tier; the first one that there is where none does.
fn shown(rules: &[&Rule], tier: usize) -> Vec<RuleSource> {
    let source = |rule: &&Rule| {
        let limit = rule.limits().nth(if rule.is_by_tier() { tier } else { 0 })??;
        let room = limit.quota() >= rule.cost();
        let source = RuleSource::new(rule.name(), rule.key().clone(), LimitSource::Own(*limit));
        room.then_some(RuleSource { cost: rule.cost().into(), ..source })
    };
    let general = rules.iter().filter(|rule| rule.applies_to().is_everything());
    let general: Vec<RuleSource> = general.filter_map(source).collect();
    if general.is_empty() { rules.iter().find_map(source).into_iter().collect() } else { general }
}

/// What a store in memory answers at once.
fn ready<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
