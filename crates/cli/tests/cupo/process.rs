//! The binary as a child process: a gateway that serves until it is dropped, and commands that run to their end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// No wait in these tests takes longer.
pub(crate) const BOUND: Duration = Duration::from_secs(60);

/// The binary: the one that was built with the tests, or the one that `CUPO_BINARY` names.
pub(crate) fn cupo() -> Command {
    Command::new(std::env::var_os("CUPO_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_cupo").into()))
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A policy file of its own folder, which goes with it.
pub(crate) struct PolicyFile {
    folder: TempDir,
}

impl PolicyFile {
    pub(crate) fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cupo.yaml"), text).unwrap();
        Self { folder }
    }

    /// Writes another file beside it.
    pub(crate) fn beside(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    pub(crate) fn path(&self) -> String {
        self.folder.path().join("cupo.yaml").to_str().unwrap().to_owned()
    }
}

/// Where a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

fn lines(stream: Stream, from: impl Read + Send + 'static, to: Sender<(Stream, String)>) {
    thread::spawn(move || {
        for line in BufReader::new(from).lines() {
            let Ok(line) = line else { return };
            if to.send((stream, line)).is_err() {
                return;
            }
        }
    });
}

/// `cupo serve` on a free port, killed when dropped.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) address: SocketAddr,
    lines: Receiver<(Stream, String)>,
    pub(crate) said: Vec<(Stream, String)>,
}

impl Gateway {
    /// Starts `cupo serve` with these options and `--listen 127.0.0.1:0`, and waits until it listens.
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_as(cupo(), options)
    }

    /// The same by a command that has its environment.
    pub(crate) fn start_as(command: Command, options: &[&str]) -> Self {
        Self::run(command, "127.0.0.1:0", options)
    }

    /// Starts `cupo serve` with these options on an address or on a Unix socket, and waits until it listens.
    pub(crate) fn listening(on: &str, options: &[&str]) -> Self {
        Self::run(cupo(), on, options)
    }

    fn run(mut command: Command, on: &str, options: &[&str]) -> Self {
        command.args(["serve", "--listen", on]).args(options);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines_in) = channel();
        lines(Stream::Out, child.stdout.take().unwrap(), sender.clone());
        lines(Stream::Err, child.stderr.take().unwrap(), sender);
        let unknown = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut gateway = Self { child, address: unknown, lines: lines_in, said: Vec::new() };
        let line = gateway.line(|line| line.contains("listens on "));
        if let Some((_, address)) = line.split_once("http://") {
            gateway.address = address.parse().unwrap();
        }
        gateway
    }

    /// With a policy file and this upstream.
    pub(crate) fn with_policy(policy: &PolicyFile, upstream: SocketAddr) -> Self {
        Self::start(&["-c", &policy.path(), "--upstream", &format!("http://{upstream}")])
    }

    /// Waits for a line of output.
    pub(crate) fn line(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        loop {
            match self.lines.recv_timeout(BOUND) {
                Ok((stream, line)) => {
                    self.said.push((stream, line.clone()));
                    if wanted(&line) {
                        return line;
                    }
                }
                Err(_) => panic!("the gateway did not say what it should; it said {:#?}", self.said),
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it has ended, and tells how, with all that it said.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<(Stream, String)>) {
        loop {
            match self.lines.recv_timeout(BOUND) {
                Ok(line) => self.said.push(line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(_) => panic!("the gateway did not end; it said {:#?}", self.said),
            }
        }
        // Both of its streams are closed.
        let status = self.child.wait().unwrap();
        (status, std::mem::take(&mut self.said))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `cupo` to its end.
pub(crate) fn run(arguments: &[&str], stdin: impl Into<Vec<u8>>) -> Ran {
    let mut command = cupo();
    command.args(arguments);
    run_to_end(command, stdin)
}

pub(crate) fn run_to_end(mut command: Command, stdin: impl Into<Vec<u8>>) -> Ran {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (pid, mut input, stdin) = (Pid::from_child(&child), child.stdin.take().unwrap(), stdin.into());
    thread::spawn(move || {
        // Whoever fails on an early line does not read the rest.
        let _ = input.write_all(&stdin);
    });
    let (sender, ended) = channel();
    thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
    let Ok(output) = ended.recv_timeout(BOUND) else {
        let _ = kill_process(pid, Signal::KILL);
        panic!("{command:?} did not end");
    };
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Waits where only the real clock of the binary can pass.
#[allow(clippy::disallowed_methods, reason = "the binary goes by the real clock")]
pub(crate) fn wait(span: Duration) {
    thread::sleep(span);
}

/// The real clock, to know what the binary's may have said.
#[allow(clippy::disallowed_methods, reason = "the binary goes by the real clock")]
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}
