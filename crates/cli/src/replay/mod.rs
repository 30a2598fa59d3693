//! `cupo replay`: decides recorded events in virtual time.

mod answer;
mod event;
mod lines;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use cupo_core::{Engine, StoreError, Timestamp};
use cupo_store_memory::MemoryStore;

pub(crate) use event::EventError;

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::store;
use answer::Answers;
use event::Event;
use lines::Lines;

/// Room for the counters of a replay: some twenty million keys, unless the policy says otherwise.
const MAX_BYTES: usize = 1 << 30;

pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let config = cupo_config::load(&args.file)?;
    let engine = Engine::new(config.policy.clone(), store::memory(&config.store, Some(MAX_BYTES))?);
    let mut lines = Lines::new(io::stdin().lock());
    let result = answer::write_aside(io::stdout(), |answers| decide_all(&engine, &mut lines, answers));
    warn_of_evictions(engine.store());
    result
}

fn decide_all(
    engine: &Engine<MemoryStore>,
    lines: &mut Lines<impl io::Read>,
    answers: &mut Answers,
) -> Result<(), Failure> {
    let policy = engine.policy();
    loop {
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
        let request = event.request().map_err(blame)?;
        let attributes = request.attributes(policy.trust());
        let outcome = match ready(engine.decide_at(&attributes, Timestamp::from_micros(event.t_us))) {
            Some(Ok(outcome)) => outcome,
            Some(Err(error)) => return Err(blame(EventError::Store(error))),
            None => return Err(blame(EventError::Store(StoreError::Timeout))),
        };
        let t_us = event.t_us;
        // Whoever feeds events one by one gets its answers one by one.
        if !answers.push(t_us, outcome, lines.is_drained()) {
            return Ok(());
        }
    }
}

/// The output of a future that never waits, as those of the memory store.
fn ready<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
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
