//! The answer to one event, as a line of JSON.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use cupo_core::{Entry, Outcome, Ruling, Settled, Verdict};
use serde::{Serialize, Serializer};

use crate::failure::Failure;

#[derive(Serialize)]
struct Answer<'a> {
    t_us: u64,
    allowed: bool,
    binding: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lacks: Option<&'a str>,
    /// `allow` or `block`, where an entry of the lists settled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    listed: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'a str>,
    decisions: Decisions<'a>,
}

struct Decisions<'a>(&'a Outcome);

#[derive(Serialize)]
struct Line<'a> {
    rule: &'a str,
    #[serde(serialize_with = "shown")]
    key: &'a cupo_core::Key,
    verdict: &'static str,
    limit: u64,
    remaining: u64,
    retry_after_us: Option<u64>,
    reset_after_us: u64,
    delay_us: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shadow: bool,
}

impl Serialize for Decisions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let enforced = self.0.decisions().map(|ruling| line(ruling, false));
        serializer.collect_seq(enforced.chain(self.0.shadow_decisions().map(|ruling| line(ruling, true))))
    }
}

fn line(ruling: Ruling<'_>, shadow: bool) -> Line<'_> {
    let decision = ruling.decision;
    Line {
        rule: ruling.rule.name(),
        key: ruling.key,
        verdict: match decision.verdict {
            Verdict::Admit => "admit",
            Verdict::Deny { .. } => "deny",
            Verdict::Impossible => "impossible",
        },
        limit: decision.limit,
        remaining: decision.remaining,
        retry_after_us: decision.retry_after().map(micros),
        reset_after_us: micros(decision.reset_after),
        delay_us: micros(decision.delay),
        shadow,
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn shown<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Decided events, on their way to the thread that writes them.
pub(super) struct Answers {
    chunk: Vec<(u64, Outcome)>,
    sender: SyncSender<Vec<(u64, Outcome)>>,
}

/// Events that travel together.
const CHUNK: usize = 256;

/// Chunks that may wait to be written.
const QUEUE: usize = 8;

impl Answers {
    /// Adds an answer. `false` once the writer has ended.
    pub(super) fn push(&mut self, t_us: u64, outcome: Outcome) -> bool {
        self.chunk.push((t_us, outcome));
        self.chunk.len() < CHUNK || self.send()
    }

    /// Sends what has gathered. `false` once the writer has ended.
    pub(super) fn send(&mut self) -> bool {
        if self.chunk.is_empty() {
            return true;
        }
        let chunk = mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        self.sender.send(chunk).is_ok()
    }
}

/// Runs `decide` on this thread and writes its answers on another: either is about half of the work.
pub(super) fn write_aside(
    out: impl Write + Send,
    decide: impl FnOnce(&mut Answers) -> Result<(), Failure>,
) -> Result<(), Failure> {
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(QUEUE);
        let writer = scope.spawn(move || write_all(out, &receiver));
        let mut answers = Answers { chunk: Vec::with_capacity(CHUNK), sender };
        let decided = decide(&mut answers);
        answers.send();
        drop(answers);
        let written = writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
        written.map_err(Failure::Write).and(decided)
    })
}

fn write_all(out: impl Write, receiver: &Receiver<Vec<(u64, Outcome)>>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    while let Some(chunk) = receiver.try_recv().ok().or_else(|| {
        // Nothing is waiting: whoever reads our output need not wait either.
        out.flush().ok().and_then(|()| receiver.recv().ok())
    }) {
        for (t_us, outcome) in chunk {
            write(t_us, &outcome, &mut out)?;
        }
    }
    out.flush()
}

fn write(t_us: u64, outcome: &Outcome, out: &mut impl Write) -> io::Result<()> {
    let lacks = outcome.lacks().map(|rule| rule.name());
    let answer = Answer {
        t_us,
        allowed: outcome.is_admitted(),
        binding: outcome.binding().map(|ruling| ruling.rule.name()).or(lacks),
        lacks,
        listed: outcome.settled().and_then(|settled| match settled {
            Settled::Allowed(_) => Some("allow"),
            Settled::Blocked(_) => Some("block"),
            _ => None,
        }),
        entry: outcome.settled().and_then(Settled::entry).map(|entry| &**Entry::name(entry)),
        decisions: Decisions(outcome),
    };
    serde_json::to_writer(&mut *out, &answer)?;
    out.write_all(b"\n")
}
