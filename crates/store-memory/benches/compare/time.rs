//! Rounds and medians.

use std::sync::Barrier;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Runs a round and says how many nanoseconds a decision took.
pub(crate) type Contender<'a> = Box<dyn FnMut() -> f64 + 'a>;

pub(crate) fn contender<'a>(round: impl FnMut() -> f64 + 'a) -> Contender<'a> {
    Box::new(round)
}

/// Nanoseconds per decision of each contender: the median over rounds in which all take turns.
pub(crate) fn medians(rounds: usize, contenders: &mut [Contender<'_>]) -> Vec<f64> {
    let mut samples = vec![Vec::new(); contenders.len()];
    for round in 0..=rounds {
        for (contender, samples) in contenders.iter_mut().zip(&mut samples) {
            let sample = contender();
            // The first round warms up.
            if round > 0 {
                samples.push(sample);
            }
        }
    }
    samples.iter_mut().map(|samples| median(samples)).collect()
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Nanoseconds per decision when each of `threads` threads makes `decisions` of them; `work` gets the thread's number.
///
/// One thread is measured by the time that it was running: a machine that does other things as well would
/// measure those. Several threads are measured by the clock on the wall.
pub(crate) fn per_decision(threads: usize, decisions: u64, work: impl Fn(u64, u64) + Sync) -> f64 {
    if threads == 1 {
        let start = cpu_time();
        work(0, decisions);
        return (cpu_time() - start) / decisions as f64;
    }
    let barrier = Barrier::new(threads);
    let (work, barrier) = (&work, &barrier);
    let spans: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let run = |thread: u64| {
            barrier.wait();
            let start = Instant::now();
            work(thread, decisions);
            (start, Instant::now())
        };
        let others: Vec<_> = (1..threads as u64).map(|t| scope.spawn(move || run(t))).collect();
        let mut spans = vec![run(0)];
        spans.extend(others.into_iter().map(|thread| thread.join().unwrap()));
        spans
    });
    let start = spans.iter().map(|s| s.0).min().unwrap();
    let end = spans.iter().map(|s| s.1).max().unwrap();
    (end - start).as_nanos() as f64 / (decisions * threads as u64) as f64
}

/// Nanoseconds for which this thread has been running.
fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}
