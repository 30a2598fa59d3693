//! `cupo replay`: decides recorded requests in virtual time.

mod answer;
mod decide;
mod event;
mod format;
mod input;
mod lines;
mod log;
mod pairs;
mod report;
mod request;
mod window;

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use cupo_core::{Clock as _, SystemClock};
use indicatif::ProgressBar;

pub(crate) use event::EventError;
pub(crate) use format::{Format, Unreadable};

use crate::args::ReplayArgs;
use crate::failure::Failure;
use decide::{Decider, Sink};
use event::Event;
use input::Input;
use lines::{LineError, Lines};
use log::{LogReader, Tally};
use report::{About, Report};

/// Chunks of requests that may wait to be decided.
const QUEUE: usize = 16;

/// Keys whose balance a page shows at most.
const KEYS: usize = 4;

pub(crate) fn run(args: &ReplayArgs) -> Result<(), Failure> {
    if args.key.len() > KEYS {
        return Err(Failure::Usage("--key: at most four keys are shown"));
    }
    let decider = Decider::open(&args.files, &args.store)?;
    let _within = decider.enter();
    let page = args.html.as_deref().map(writable).transpose()?;
    let in_short = args.summary || page.is_some() || args.files.len() > 1;
    let bar = if in_short || !io::stdout().is_terminal() { input::progress(&args.input) } else { None };
    let result = if in_short {
        report(args, &decider, bar.as_ref(), page)
    } else {
        answer::write_aside(io::stdout(), |answers| {
            replay(args, &decider, bar.as_ref(), &mut Sink::Answers(answers))
                .and_then(|(_, tally)| judge(tally.as_ref()))
        })
    };
    decider.warn_of_evictions();
    result
}

/// A page that can be written in the end, found out at the beginning.
fn writable(path: &Path) -> Result<File, Failure> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    opened.map_err(|source| Failure::Page { path: path.to_owned(), source })
}

#[allow(clippy::print_stderr, reason = "how fast it went is no part of the answer")]
fn report(
    args: &ReplayArgs,
    decider: &Decider,
    bar: Option<&ProgressBar>,
    page: Option<File>,
) -> Result<(), Failure> {
    let clock = SystemClock::new();
    let began = clock.now();
    let mut report = Report::new(&decider.policies(), &args.key);
    let (format, tally) = replay(args, decider, bar, &mut Sink::Report(&mut report))?;
    let took = clock.now().since(began);
    let inputs = args
        .input
        .iter()
        .map(|path| if input::is_stdin(path) { "stdin".into() } else { path.display().to_string() });
    let about = About {
        inputs: inputs.collect(),
        format: format.map_or_else(|| "nothing".into(), |format| format.name().into()),
        tally,
    };
    // The page first: whoever reads the summary may have seen enough before its end.
    if let (Some(file), Some(path)) = (page, &args.html) {
        report::write_page(&about, &report, file)
            .map_err(|source| Failure::Page { path: path.clone(), source })?;
    }
    let mut out = io::stdout().lock();
    report::write_summary(&about, &report, &mut out).and_then(|()| out.flush()).map_err(Failure::Write)?;
    let lines = about.tally.as_ref().map_or(report.requests(), |tally| tally.lines);
    let rate = u128::from(lines).saturating_mul(1_000_000).checked_div(took.as_micros()).unwrap_or(0);
    eprintln!("{} lines a second", report::count(u64::try_from(rate).unwrap_or(u64::MAX)));
    judge(about.tally.as_ref())
}

/// Reads everything and has it decided. What it was, and of a log how much of it could be read.
fn replay(
    args: &ReplayArgs,
    decider: &Decider,
    bar: Option<&ProgressBar>,
    sink: &mut Sink<'_>,
) -> Result<(Option<Format>, Option<Tally>), Failure> {
    let Some((first, others)) = args.input.split_first() else { return Ok((None, None)) };
    let first = input::open(first, bar)?;
    let (format, first) = match args.format.named() {
        Some(format) => (Some(format), first),
        None => input::format(first)?,
    };
    let tally = match format {
        None | Some(Format::Events) => {
            decide_events(decider, first, sink)?;
            for path in others {
                decide_events(decider, input::open(path, bar)?, sink)?;
            }
            None
        }
        Some(format) => {
            if args.format.named().is_none() {
                tell(bar, &format!("{} is read as {}", first.name, format.name()));
            }
            let reader = LogReader { format, first, others, bar, strict: args.strict };
            let tally = decide_log(decider, reader, sink)?;
            tell_of_unreadable(bar, &tally);
            Some(tally)
        }
    };
    bar.into_iter().for_each(ProgressBar::finish_and_clear);
    Ok((format, tally))
}

fn decide_events(decider: &Decider, input: Input, sink: &mut Sink<'_>) -> Result<(), Failure> {
    let mut lines = Lines::new(input.source);
    loop {
        // Whoever feeds events one by one gets its answers one by one, whatever else lies on the way.
        if lines.is_drained() && !sink.flush() {
            return Ok(());
        }
        let line = lines.number().saturating_add(1);
        let blame = |source| match &*input.name {
            "stdin" => Failure::Event { input: "events".into(), line, source },
            name => Failure::Event { input: name.into(), line, source },
        };
        let line = match lines.next() {
            None => return Ok(()),
            Some(Err(LineError::Read(error))) => {
                return Err(Failure::Broken { input: input.name.into(), source: error });
            }
            Some(Err(LineError::TooLong)) => return Err(blame(EventError::TooLong)),
            Some(Ok(line)) => line,
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let request = Event::parse(line).and_then(Event::into_request).map_err(blame)?;
        if !decider.decide(&request, sink).map_err(|error| blame(EventError::Store(error)))? {
            return Ok(());
        }
    }
}

fn decide_log(decider: &Decider, reader: LogReader<'_>, sink: &mut Sink<'_>) -> Result<Tally, Failure> {
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(QUEUE);
        let reader = scope.spawn(move || reader.read(sender));
        let mut decided = Ok(());
        'all: while let Some(chunk) = receiver.try_recv().ok().or_else(|| {
            sink.flush();
            receiver.recv().ok()
        }) {
            for request in chunk {
                match decider.decide(&request, sink) {
                    Ok(true) => {}
                    Ok(false) => break 'all,
                    Err(error) => {
                        decided = Err(Failure::Decide(error));
                        break 'all;
                    }
                }
            }
        }
        drop(receiver);
        let read =
            reader.join().unwrap_or_else(|_| Err(Failure::Read(io::Error::other("the reader panicked"))));
        decided.and(read)
    })
}

/// A log of which most cannot be read was not replayed.
fn judge(tally: Option<&Tally>) -> Result<(), Failure> {
    match tally {
        Some(tally) if tally.is_hopeless() => {
            Err(Failure::Hopeless { unreadable: tally.unreadable, lines: tally.lines })
        }
        _ => Ok(()),
    }
}

fn tell_of_unreadable(bar: Option<&ProgressBar>, tally: &Tally) {
    if tally.unreadable == 0 {
        return;
    }
    let (number, of_all) = (report::count(tally.unreadable), report::share(tally.unreadable, tally.lines));
    tell(bar, &format!("warning: {number} lines cannot be read ({of_all}); the first of them:"));
    for example in &tally.examples {
        tell(bar, &format!("  {example}"));
    }
}

#[allow(clippy::print_stderr, reason = "a message about the input belongs to stderr")]
fn tell(bar: Option<&ProgressBar>, message: &str) {
    match bar {
        Some(bar) => bar.suspend(|| eprintln!("{message}")),
        None => eprintln!("{message}"),
    }
}
