//! Gathers checks: while a call is under way the next one gathers.
//!
//! A lane leads to one connection (on a cluster: to one slot, since a script may touch no more). A check that finds the lane idle is
//! sent at once. The task that sends it goes on until nobody waits, so that nothing runs while there is nothing to do.

use std::collections::VecDeque;

use cupo_core::{Executed, StoreError, Timestamp};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::codec::Lines;

/// Items in a call beside those of its first check: each is a key and seven numbers.
const MAX_ITEMS: usize = 512;

/// A check that waits for its turn.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) lines: Lines,
    /// The caller's instant, where the store decides by it.
    pub(crate) now: Option<Timestamp>,
    pub(crate) reply: oneshot::Sender<Result<Answer, StoreError>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) executed: Executed,
    /// When the call was sent: the store decided after that.
    pub(crate) sent: Instant,
    /// When the reply was there: the store decided before that.
    pub(crate) received: Instant,
}

/// Checks that wait, and how many calls are under way.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    calls: usize,
}

impl Lane {
    /// Puts a check in the lane. Whether the caller has to start a task that works on it.
    pub(crate) fn push(&self, job: Job, calls: usize) -> bool {
        let mut state = self.state.lock();
        state.jobs.push_back(job);
        let starts = state.calls < calls;
        if starts {
            state.calls = state.calls.saturating_add(1);
        }
        starts
    }

    /// The next checks for one call; none when the task that asks may end. Whoever gave up is left out.
    pub(crate) fn next(&self, batch_max: usize) -> Vec<Job> {
        let mut state = self.state.lock();
        let mut batch = Vec::new();
        let mut items = 0_usize;
        while batch.len() < batch_max {
            let Some(job) = state.jobs.pop_front() else { break };
            if job.reply.is_closed() {
                continue;
            }
            items = items.saturating_add(job.lines.len());
            if !batch.is_empty() && items > MAX_ITEMS {
                state.jobs.push_front(job);
                break;
            }
            batch.push(job);
        }
        if batch.is_empty() {
            state.calls = state.calls.saturating_sub(1);
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::{Job, Lane, Lines};
    use tokio::sync::oneshot;

    fn job() -> (Job, oneshot::Receiver<Result<super::Answer, cupo_core::StoreError>>) {
        let (reply, receiver) = oneshot::channel();
        (Job { lines: Lines::new(), now: None, reply }, receiver)
    }

    #[test]
    fn an_idle_lane_starts_at_once_and_a_busy_one_gathers() {
        let lane = Lane::default();
        let jobs: Vec<_> = (0..8).map(|_| job()).collect();
        let (jobs, receivers): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let starts: Vec<bool> = jobs.into_iter().map(|job| lane.push(job, 2)).collect();
        assert_eq!(starts, [true, true, false, false, false, false, false, false]);
        assert_eq!(lane.next(5).len(), 5);
        assert_eq!(lane.next(5).len(), 3);
        assert!(lane.next(5).is_empty());
        let (job, _receiver) = job();
        assert!(lane.push(job, 2), "one of the two tasks has ended");
        drop(receivers);
    }

    #[test]
    fn who_gave_up_is_not_sent() {
        let lane = Lane::default();
        let (first, gone) = job();
        let (second, _there) = job();
        lane.push(first, 1);
        lane.push(second, 1);
        drop(gone);
        assert_eq!(lane.next(64).len(), 1);
    }
}
