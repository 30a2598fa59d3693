//! Why a command failed, and with which exit code.

use std::io;
use std::process::ExitCode;

use cupo_config::ConfigErrors;
use cupo_core::{LimitError, PolicyErrors, RateError};
use cupo_store_memory::MemoryStoreError;
use thiserror::Error;

use crate::replay::EventError;

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
    Usage(&'static str),
    #[error("error: {0}")]
    Server(#[from] cupo_server::Error),
    #[error("error: the runtime or its signals cannot be started: {0}")]
    Runtime(io::Error),
    #[error("error: store: {0}")]
    Memory(#[from] MemoryStoreError),
    #[error("error: events, line {line}: {source}")]
    Event { line: u64, source: EventError },
    #[error("error: cannot read events: {0}")]
    Read(io::Error),
    #[error("error: cannot write answers: {0}")]
    Write(io::Error),
}

impl Failure {
    /// 1: the policy or the input is wrong; 2: the options are wrong; 3: the machine did not do its part.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Config(_) | Self::Event { .. } => 1.into(),
            // Where requests go is an option; what happens to sockets is the machine's.
            Self::Server(cupo_server::Error::Upstream { .. })
            | Self::Options(_)
            | Self::Rate { .. }
            | Self::Limit(_)
            | Self::Key(_)
            | Self::Usage(_)
            | Self::Memory(_) => 2.into(),
            // Whoever read our output has seen enough.
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Read(_) | Self::Write(_) | Self::Server(_) | Self::Runtime(_) => 3.into(),
        }
    }
}
