//! Requests that never pause, whatever happens to the store.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::process::{now, wait};

/// Connections, each with a request every [`PERIOD`]: no request waits for the one before, unless that takes longer than the
/// deadline of a check and what may be added to it.
const CONNECTIONS: u32 = 32;
const PERIOD: Duration = Duration::from_millis(64);

/// A request and its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// When it was to be sent, after the start.
    pub(crate) due: Duration,
    /// From then to its answer: what came late because an earlier one took long counts as slow.
    pub(crate) took: Duration,
    pub(crate) status: u16,
}

/// The requests that are under way until they are told to stop.
pub(crate) struct Load {
    start: Instant,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Sample>>>,
}

impl Load {
    /// Asks for these paths in turn.
    pub(crate) fn start(address: SocketAddr, paths: &'static [&'static str]) -> Self {
        let (start, stop) = (now(), Arc::new(AtomicBool::new(false)));
        let threads = (0..CONNECTIONS)
            .map(|n| {
                let stop = Arc::clone(&stop);
                thread::spawn(move || {
                    let (mut client, mut samples) = (Client::new(address), Vec::new());
                    for (k, path) in (0_u32..).zip(paths.iter().cycle().skip(usize::try_from(n).unwrap())) {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let due = PERIOD * k + PERIOD * n / CONNECTIONS;
                        wait(due.saturating_sub(start.elapsed()));
                        // A connection that breaks ends the test.
                        let status = client.get(path).status;
                        samples.push(Sample { due, took: start.elapsed().saturating_sub(due), status });
                    }
                    samples
                })
            })
            .collect();
        Self { start, stop, threads }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Every request that was made, with its answer.
    pub(crate) fn end(self) -> Vec<Sample> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().flat_map(|thread| thread.join().expect("no request is lost")).collect()
    }
}

/// Of the requests that were due from `from` to `to`: how many there are, and at most how long half, 99 % and all of them took.
pub(crate) fn latencies(samples: &[Sample], from: Duration, to: Duration) -> (usize, [Duration; 3]) {
    let mut took: Vec<Duration> =
        samples.iter().filter(|s| s.due >= from && s.due < to).map(|s| s.took).collect();
    took.sort_unstable();
    let at = |hundredths: usize| took[(took.len() - 1) * hundredths / 100];
    assert!(!took.is_empty(), "requests were made");
    (took.len(), [at(50), at(99), at(100)])
}
