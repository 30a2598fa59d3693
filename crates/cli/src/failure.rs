//! Why a command failed, and with which exit code.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use cupo_config::ConfigErrors;
use cupo_core::{LimitError, PolicyErrors, RateError, StoreError};
use cupo_http::BadQuestion;
use cupo_store_redis::RedisError;
use thiserror::Error;

use crate::admin::client::NoAnswer;
use crate::replay::{EventError, Unreadable};
use crate::store::NoStore;

/// Why a command failed.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    #[error("error: the options make no policy: {0}")]
    Options(#[from] PolicyErrors),
    #[error("error: {option}: {source}")]
    Rate { option: &'static str, source: RateError },
    #[error("error: --limit: {0}")]
    Limit(#[from] LimitError),
    #[error("error: --key: {0}")]
    Key(#[from] cupo_core::KeySpecError),
    #[error("error: {0}")]
    Question(BadQuestion),
    #[error("error: {0}")]
    Usage(&'static str),
    #[error("error: {}", Whole(.0))]
    Server(#[from] cupo_server::Error),
    #[error("error: the runtime or its signals cannot be started: {0}")]
    Runtime(io::Error),
    #[error("error: {0}")]
    Store(#[from] NoStore),
    #[error("error: the store cannot be reached: {0}")]
    Connect(RedisError),
    #[error("error: {input}, line {line}: {source}")]
    Event { input: Box<str>, line: u64, source: EventError },
    #[error("error: {input}, line {line}: {reason}")]
    Line { input: Box<str>, line: u64, reason: Unreadable },
    #[error(
        "error: {input}: the first lines are of no format that is known; name it with --format, see `cupo replay --help`"
    )]
    NoFormat { input: Box<str> },
    #[error("error: {unreadable} of {lines} lines cannot be read; is --format right?")]
    Hopeless { unreadable: u64, lines: u64 },
    #[error("error: `{}` cannot be read: {source}", path.display())]
    Input { path: PathBuf, source: io::Error },
    #[error("error: {input} cannot be read to its end: {source}")]
    Broken { input: Box<str>, source: io::Error },
    #[error("error: `{}` cannot be written: {source}", path.display())]
    Page { path: PathBuf, source: io::Error },
    #[error("error: {0}")]
    NoAnswer(#[from] NoAnswer),
    #[error("error: the gateway refused: {detail}")]
    Admin { status: u16, detail: Box<str> },
    #[error("error: the store cannot decide: {0}")]
    Decide(StoreError),
    #[error("error: stdin has no API key; write one a line, as in `cupo hash-key -c cupo.yaml < key.txt`")]
    NoKey,
    #[error("error: cannot read events: {0}")]
    Read(io::Error),
    #[error("error: cannot write answers: {0}")]
    Write(io::Error),
}

/// An error of the server with its causes, and what to do about the usual one.
struct Whole<'a>(&'a cupo_server::Error);

impl fmt::Display for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        let hint = match self.0 {
            cupo_server::Error::Listen { source, .. } => match source.kind() {
                io::ErrorKind::AddrInUse => {
                    "stop the program that listens there, or choose another port with --listen"
                }
                io::ErrorKind::PermissionDenied => {
                    "ports below 1024 need a privilege; choose another with --listen"
                }
                io::ErrorKind::AddrNotAvailable => {
                    "this machine has no such address; choose another with --listen"
                }
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        write!(f, "\nhint: {hint}")
    }
}

impl Failure {
    /// Whether whoever read our output has seen enough, which is no failure of ours.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// 1: the policy or the input is wrong; 2: the options are wrong; 3: the machine did not do its part.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoAnswer(error) => if error.is_usage() { 2 } else { 3 }.into(),
            Self::Admin { status, .. } => if *status < 500 { 1 } else { 3 }.into(),
            Self::Config(_)
            | Self::Event { .. }
            | Self::Line { .. }
            | Self::NoFormat { .. }
            | Self::Hopeless { .. }
            | Self::Input { .. }
            | Self::NoKey => 1.into(),
            // Where requests go is an option; what happens to sockets is the machine's.
            Self::Server(cupo_server::Error::Upstream { .. })
            | Self::Options(_)
            | Self::Rate { .. }
            | Self::Limit(_)
            | Self::Key(_)
            | Self::Question(_)
            | Self::Usage(_)
            | Self::Store(_) => 2.into(),
            Self::Read(_)
            | Self::Broken { .. }
            | Self::Write(_)
            | Self::Page { .. }
            | Self::Server(_)
            | Self::Runtime(_)
            | Self::Connect(_)
            | Self::Decide(_) => 3.into(),
        }
    }
}
