//! A child process that does not outlive its value.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// A running server.
#[derive(Debug)]
pub(super) struct Process(Child);

impl Process {
    /// Starts `binary` with its output in `log`.
    pub(super) fn spawn<A: AsRef<OsStr>>(binary: &Path, arguments: &[A], log: &Path) -> Self {
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        let child = Command::new(binary)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", binary.display()));
        Self(child)
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// Sends a signal, unless the process has ended.
    pub(super) fn signal(&mut self, signal: Signal) {
        if !self.has_ended() {
            kill_process(Pid::from_child(&self.0), signal).unwrap();
        }
    }

    /// Ends the process without letting it say goodbye, also while it is paused.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::CONT);
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}
