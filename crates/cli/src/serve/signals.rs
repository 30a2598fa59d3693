//! SIGINT and SIGTERM: the first asks to finish, the second does not wait. SIGHUP asks to look at files.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a shell reports of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// The signals that end a server, caught from now on.
pub(super) struct Signals {
    runtime: Runtime,
    interrupt: Signal,
    terminate: Signal,
    /// Where there are files to look at.
    hangup: Option<Signal>,
}

impl Signals {
    /// SIGHUP as well where `hangup` says so; else it ends the process, as everybody expects of a terminal that is closed.
    pub(super) fn catch(hangup: bool) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (interrupt, terminate, hangup) = {
            let _within = runtime.enter();
            let hangup = if hangup { Some(signal(SignalKind::hangup())?) } else { None };
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, hangup)
        };
        Ok(Self { runtime, interrupt, terminate, hangup })
    }

    /// Waits for a signal to end, and does `chore` meanwhile, which says in how long it is to be done again; it is told whether
    /// SIGHUP asked for it.
    pub(super) fn wait(&mut self, mut chore: impl FnMut(bool) -> Duration) {
        let Self { runtime, interrupt, terminate, hangup } = self;
        runtime.block_on(async {
            let mut pause = Duration::ZERO;
            loop {
                pause = tokio::select! {
                    _ = interrupt.recv() => break,
                    _ = terminate.recv() => break,
                    () = received(hangup.as_mut()) => chore(true),
                    () = tokio::time::sleep(pause) => chore(false),
                };
            }
        });
    }

    /// From now on a signal ends the process at once.
    pub(super) fn exit_on_the_next(mut self) {
        std::thread::spawn(move || {
            self.wait(|_| Duration::from_secs(3600));
            #[allow(clippy::exit, reason = "whoever signals twice does not want to wait")]
            std::process::exit(INTERRUPTED);
        });
    }
}

/// Ready when the signal has come; never without one.
async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
