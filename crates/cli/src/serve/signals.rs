//! SIGINT and SIGTERM: the first asks to finish, the second does not wait.

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
}

impl Signals {
    pub(super) fn catch() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (interrupt, terminate) = {
            let _within = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        Ok(Self { runtime, interrupt, terminate })
    }

    /// Waits for a signal, and does `chore` every `period` meanwhile.
    pub(super) fn wait(&mut self, period: Duration, mut chore: impl FnMut()) {
        let Self { runtime, interrupt, terminate } = self;
        runtime.block_on(async {
            let mut tick = tokio::time::interval(period);
            loop {
                tokio::select! {
                    _ = interrupt.recv() => break,
                    _ = terminate.recv() => break,
                    _ = tick.tick() => chore(),
                }
            }
        });
    }

    /// From now on a signal ends the process at once.
    pub(super) fn exit_on_the_next(mut self) {
        std::thread::spawn(move || {
            self.wait(Duration::from_secs(3600), || {});
            #[allow(clippy::exit, reason = "whoever signals twice does not want to wait")]
            std::process::exit(INTERRUPTED);
        });
    }
}
