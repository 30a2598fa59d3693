//! Policies that decide recorded requests, each on a store of its own.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cupo_config::StoreSource;
use cupo_core::{Engine, Policy, StoreError};
use cupo_http::Identify as _;
use cupo_http::Presentation;
use cupo_store_memory::MemoryStore;
use cupo_store_redis::{RedisStore, StoreClock};
use tokio::runtime::{EnterGuard, Runtime};

use super::answer::Answers;
use super::report::Report;
use super::request::Request;
use crate::failure::Failure;
use crate::jwt::Tokens;
use crate::presentation;
use crate::store::{self, AnyStore, NoStore};

/// Room for the counters of all policies together: some fifteen million keys, unless a policy says otherwise.
const MAX_BYTES: usize = 768 << 20;

/// How long one request may wait for Redis: nobody is waiting for this one.
const DEADLINE: Duration = Duration::from_secs(5);

/// Where decisions go.
pub(super) enum Sink<'a> {
    /// One line each; there is one policy.
    Answers(&'a mut Answers),
    Report(&'a mut Report),
}

impl Sink<'_> {
    /// Gives out what has gathered. `false` once nobody takes it any more.
    pub(super) fn flush(&mut self) -> bool {
        match self {
            Self::Answers(answers) => answers.send(),
            Self::Report(_) => true,
        }
    }
}

pub(super) struct Decider {
    judges: Vec<Judge>,
    runtime: Runtime,
}

struct Judge {
    name: String,
    engine: Engine<AnyStore>,
    policy: Arc<Policy>,
    tokens: Option<Tokens>,
    presentation: Presentation,
}

impl Decider {
    /// Reads the policies, and opens a store for each.
    pub(super) fn open(files: &[PathBuf], store: &str) -> Result<Self, Failure> {
        let runtime = store::runtime().map_err(Failure::Runtime)?;
        let bytes = MAX_BYTES.checked_div(files.len()).unwrap_or(MAX_BYTES);
        let judges = files.iter().map(|file| {
            let config = cupo_config::load(file)?;
            let _within = runtime.enter();
            let tokens = Tokens::open(&config)?;
            let presentation = presentation::of(&config)?;
            let policy = config.policy.clone();
            let engine = Engine::new(policy.clone(), open_store(store, &config.store, bytes)?);
            Ok(Judge { name: file.display().to_string(), engine, policy, tokens, presentation })
        });
        let judges = judges.collect::<Result<_, Failure>>()?;
        Ok(Self { judges, runtime })
    }

    /// Lets stores do what they do beside decisions, on this thread too.
    pub(super) fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    /// The policies and what to call them.
    pub(super) fn policies(&self) -> Vec<(String, Arc<Policy>)> {
        self.judges.iter().map(|judge| (judge.name.clone(), judge.policy.clone())).collect()
    }

    /// Decides a request. `false` once nobody takes decisions any more.
    pub(super) fn decide(&self, request: &Request<'_>, sink: &mut Sink<'_>) -> Result<bool, StoreError> {
        if let Sink::Report(report) = sink {
            report.request(request.at);
        }
        for (index, judge) in self.judges.iter().enumerate() {
            let verifier = judge.tokens.as_ref().map(|tokens| &tokens.verifier);
            let identity = verifier.map(|by| by.identify(&request.headers, request.at)).unwrap_or_default();
            let attributes = request.attributes(judge.policy.trust(), &identity, &judge.presentation);
            let outcome = finish(&self.runtime, judge.engine.decide_at(&attributes, request.at))?;
            if outcome.awaits_response() && request.status.is_some() {
                let settling = outcome.settled_by(request);
                finish(&self.runtime, judge.engine.settle_at(&settling, request.at))?;
            }
            match sink {
                Sink::Answers(answers) => return Ok(answers.push(request.at.as_micros(), outcome)),
                Sink::Report(report) => report.decided(index, request.at, &outcome),
            }
        }
        Ok(true)
    }

    pub(super) fn warn_of_evictions(&self) {
        for judge in &self.judges {
            judge.engine.store().memory().into_iter().for_each(|store| warn_of_evictions(&judge.name, store));
        }
    }
}

/// The store that the option names. One in Redis decides by the instants of the requests, and begins empty: under a prefix that
/// nobody else uses.
fn open_store(name: &str, file: &StoreSource, bytes: usize) -> Result<AnyStore, NoStore> {
    let source = match store::named(name) {
        StoreSource::Redis(redis) => {
            let mut settings = store::settings(&redis)?;
            settings.prefix = format!("cupo-replay:{:016x}:", fastrand::u64(..));
            settings.clock = StoreClock::Caller;
            settings.deadline = DEADLINE;
            return Ok(AnyStore::Redis(RedisStore::new(settings)?));
        }
        memory if matches!(file, StoreSource::Redis(_)) => memory,
        _ => file.clone(),
    };
    AnyStore::open(&source, Some(bytes))
}

/// Waits for a future, most of which never wait: those of the memory store.
fn finish<F: Future>(runtime: &Runtime, future: F) -> F::Output {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => runtime.block_on(future),
    }
}

#[allow(clippy::print_stderr, reason = "a warning belongs to stderr")]
fn warn_of_evictions(policy: &str, store: &MemoryStore) {
    let stats = store.stats();
    if stats.evicted_alive > 0 {
        eprintln!(
            "warning: {policy}: {} keys were forgotten while they still counted, since the store was full; raise store.memory in the policy",
            stats.evicted_alive
        );
    }
}
