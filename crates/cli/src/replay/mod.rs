//! `cupo replay`: decides recorded events in virtual time.

mod answer;
mod event;
mod lines;
mod pairs;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cupo_config::StoreSource;
use cupo_core::Engine;
use cupo_store_memory::MemoryStore;
use cupo_store_redis::{RedisStore, StoreClock};
use tokio::runtime::Runtime;

pub(crate) use event::EventError;

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::store::{self, AnyStore, NoStore};
use answer::Answers;
use event::Event;
use lines::Lines;

/// Room for the counters of a replay: some twenty million keys, unless the policy says otherwise.
const MAX_BYTES: usize = 1 << 30;

/// How long one event may wait for Redis: nobody is waiting for this one.
const DEADLINE: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let config = cupo_config::load(&args.file)?;
    let runtime = store::runtime().map_err(Failure::Runtime)?;
    let _within = runtime.enter();
    let engine = Engine::new(config.policy.clone(), open(&args.store, &config.store)?);
    let mut lines = Lines::new(io::stdin().lock());
    let result =
        answer::write_aside(io::stdout(), |answers| decide_all(&engine, &runtime, &mut lines, answers));
    engine.store().memory().into_iter().for_each(warn_of_evictions);
    result
}

/// The store that the option names. One in Redis decides by the instants of the events, and begins empty: under a prefix that
/// nobody else uses.
fn open(name: &str, file: &StoreSource) -> Result<AnyStore, NoStore> {
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
    AnyStore::open(&source, Some(MAX_BYTES))
}

fn decide_all(
    engine: &Engine<AnyStore>,
    runtime: &Runtime,
    lines: &mut Lines<impl io::Read>,
    answers: &mut Answers,
) -> Result<(), Failure> {
    let policy = engine.policy();
    loop {
        // Whoever feeds events one by one gets its answers one by one, whatever else lies on the way.
        if lines.is_drained() && !answers.send() {
            return Ok(());
        }
        let number = lines.number().saturating_add(1);
        let blame = |source| Failure::Event { line: number, source };
        let line = match lines.next() {
            None => return Ok(()),
            Some(Err(lines::LineError::Read(error))) => return Err(Failure::Read(error)),
            Some(Err(lines::LineError::TooLong)) => return Err(blame(EventError::TooLong)),
            Some(Ok(line)) => line,
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event = Event::parse(line).map_err(blame)?;
        let at = event.at().map_err(blame)?;
        let request = event.request().map_err(blame)?;
        let attributes = request.attributes(policy.trust());
        let decision = engine.decide_at(&attributes, at);
        let outcome = finish(runtime, decision).map_err(|error| blame(EventError::Store(error)))?;
        if !answers.push(event.t_us, outcome) {
            return Ok(());
        }
    }
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
fn warn_of_evictions(store: &MemoryStore) {
    let stats = store.stats();
    if stats.evicted_alive > 0 {
        eprintln!(
            "warning: {} keys were forgotten while they still counted, since the store was full; raise store.memory in the policy",
            stats.evicted_alive
        );
    }
}
