//! Reads access logs: lines to requests, in order of time, on a thread of its own.

use std::fmt::Write as _;
use std::mem;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;

use indicatif::ProgressBar;

use super::format::{Format, Parser, Skip, Unreadable};
use super::input::{self, Input};
use super::lines::{LineError, Lines};
use super::request::Request;
use super::window::Window;
use crate::failure::Failure;

/// Requests that travel together.
pub(super) type Chunk = Vec<Box<Request<'static>>>;

const CHUNK: usize = 256;

/// Lines that could not be read and are told of one by one.
const SHOWN: usize = 5;

/// What was read.
#[derive(Debug, Default, Clone)]
pub(super) struct Tally {
    /// Lines with something on them.
    pub(super) lines: u64,
    pub(super) requests: u64,
    pub(super) no_request: u64,
    pub(super) unreadable: u64,
    pub(super) late: u64,
    /// The first that could not be read, and why.
    pub(super) examples: Vec<String>,
}

impl Tally {
    /// Whether so much could not be read that what was read says little.
    pub(super) const fn is_hopeless(&self) -> bool {
        self.unreadable > self.lines / 2
    }
}

pub(super) struct LogReader<'a> {
    pub(super) format: Format,
    pub(super) first: Input,
    pub(super) others: &'a [PathBuf],
    pub(super) bar: Option<&'a ProgressBar>,
    pub(super) strict: bool,
}

impl LogReader<'_> {
    /// Reads to the end, or until nobody takes the requests any more.
    pub(super) fn read(self, sender: SyncSender<Chunk>) -> Result<Tally, Failure> {
        let (mut tally, mut window) = (Tally::default(), Window::default());
        let mut parser = Parser::new(self.format);
        let mut chunks = Chunks { chunk: Vec::with_capacity(CHUNK), sender };
        let mut next = Some(self.first);
        let mut others = self.others.iter();
        while let Some(Input { name, source }) = next {
            let mut lines = Lines::new(source);
            loop {
                if lines.is_drained() && !chunks.send() {
                    return Ok(tally);
                }
                let number = lines.number().saturating_add(1);
                let parsed = match lines.next() {
                    None => break,
                    Some(Err(LineError::Read(source))) => {
                        return Err(Failure::Broken { input: name.into(), source });
                    }
                    Some(Err(LineError::TooLong)) => Err(Unreadable::TooLong.into()),
                    Some(Ok(line)) if line.trim_ascii().is_empty() => continue,
                    Some(Ok(line)) => parser.parse(line),
                };
                tally.lines = tally.lines.saturating_add(1);
                match parsed {
                    Ok(request) => {
                        tally.requests = tally.requests.saturating_add(1);
                        window.push(request);
                    }
                    Err(Skip::NoRequest) => tally.no_request = tally.no_request.saturating_add(1),
                    Err(Skip::Unreadable(reason)) if self.strict => {
                        return Err(Failure::Line { input: name.into(), line: number, reason });
                    }
                    Err(Skip::Unreadable(reason)) => {
                        tally.unreadable = tally.unreadable.saturating_add(1);
                        if tally.examples.len() < SHOWN {
                            let mut example = String::new();
                            let _ = write!(example, "{name}, line {number}: {reason}");
                            tally.examples.push(example);
                        }
                    }
                }
                while let Some(request) = window.pop() {
                    if !chunks.push(request) {
                        return Ok(tally);
                    }
                }
            }
            next = others.next().map(|path| input::open(path, self.bar)).transpose()?;
        }
        tally.late = window.late();
        while let Some(request) = window.pop_rest() {
            if !chunks.push(request) {
                break;
            }
        }
        chunks.send();
        Ok(tally)
    }
}

struct Chunks {
    chunk: Chunk,
    sender: SyncSender<Chunk>,
}

impl Chunks {
    /// Adds a request. `false` once nobody takes them any more.
    fn push(&mut self, request: Box<Request<'static>>) -> bool {
        self.chunk.push(request);
        self.chunk.len() < CHUNK || self.send()
    }

    fn send(&mut self) -> bool {
        self.chunk.is_empty()
            || self.sender.send(mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK))).is_ok()
    }
}
