//! Gathers checks: while a call is under way the next one gathers.
//!
//! A lane leads to one connection (on a cluster: to one slot, since a script may touch no more). A check that finds the lane idle is
//! sent at once. One that finds few checks under way is sent at once too, in a call of its own; one that finds many waits for their call
//! to return, so that calls are large when they are many: a check in a large call costs half of one in a small. Enough checks for a
//! full call do not wait either. The task that sends a call goes on until nobody waits, so that nothing runs while there is nothing
//! to do.

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
    /// The caller's instant.
    pub(crate) now: Timestamp,
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

/// Checks under way up to which another call goes beside theirs.
const FEW: usize = 8;

/// Checks that wait, and what is under way.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Tasks that send, each one call at a time.
    tasks: usize,
    /// Checks in the calls under way.
    under_way: usize,
}

/// The bounds of a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Checks in a call.
    pub(crate) batch_max: usize,
    /// Calls under way at once.
    pub(crate) calls: usize,
}

impl State {
    /// Whether what waits goes in a call of its own, beside those under way.
    fn goes(&self, bounds: Bounds) -> bool {
        self.under_way <= FEW || self.jobs.len() >= bounds.batch_max
    }
}

impl Lane {
    /// Puts a check in the lane. Whether the caller has to start a task that works on it.
    pub(crate) fn push(&self, job: Job, bounds: Bounds) -> bool {
        let mut state = self.state.lock();
        state.jobs.push_back(job);
        let starts = state.tasks == 0 || (state.tasks < bounds.calls && state.goes(bounds));
        if starts {
            state.tasks = state.tasks.saturating_add(1);
        }
        starts
    }

    /// The next checks for one call, by a task whose last call had `done` checks; none when the task has to end. Whoever gave up
    /// is left out.
    pub(crate) fn next(&self, bounds: Bounds, done: usize) -> Vec<Job> {
        let mut state = self.state.lock();
        state.under_way = state.under_way.saturating_sub(done);
        let mut batch = Vec::new();
        let mut items = 0_usize;
        // Another task is left that comes back for what waits.
        let leaves = state.tasks > 1 && !state.goes(bounds);
        while !leaves && batch.len() < bounds.batch_max {
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
        state.under_way = state.under_way.saturating_add(batch.len());
        if batch.is_empty() {
            state.tasks = state.tasks.saturating_sub(1);
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Job, Lane, Lines};
    use tokio::sync::oneshot;

    type Receiver = oneshot::Receiver<Result<super::Answer, cupo_core::StoreError>>;

    const BOUNDS: Bounds = Bounds { batch_max: 64, calls: 2 };

    fn job() -> (Job, Receiver) {
        let (reply, receiver) = oneshot::channel();
        (Job { lines: Lines::new(), now: cupo_core::Timestamp::EPOCH, reply }, receiver)
    }

    /// Puts in as many checks; how many tasks that starts, and the ends of the callers.
    fn push(lane: &Lane, count: usize) -> (usize, Vec<Receiver>) {
        let (jobs, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| job()).unzip();
        (jobs.into_iter().map(|job| usize::from(lane.push(job, BOUNDS))).sum(), receivers)
    }

    #[test]
    fn an_idle_lane_starts_at_once_and_so_does_a_second_call_beside_a_small_one() {
        let lane = Lane::default();
        let (starts, _one) = push(&lane, 1);
        assert_eq!((starts, lane.next(BOUNDS, 0).len()), (1, 1));
        let (starts, _two) = push(&lane, 2);
        assert_eq!((starts, lane.next(BOUNDS, 0).len()), (1, 2), "two calls at once and no more");
        assert!(lane.next(BOUNDS, 1).is_empty());
        assert!(lane.next(BOUNDS, 2).is_empty());
        let (starts, _one) = push(&lane, 1);
        assert_eq!(starts, 1, "both tasks had ended");
    }

    #[test]
    fn what_comes_while_a_large_call_is_under_way_gathers_until_it_is_full() {
        let lane = Lane::default();
        let (starts, _first) = push(&lane, 1);
        let (_, _more) = push(&lane, 29);
        assert_eq!(starts, 1);
        assert_eq!(lane.next(BOUNDS, 0).len(), 30);
        // The second task, which was started before anything was under way, finds a large call and leaves.
        assert!(lane.next(BOUNDS, 0).is_empty());
        let (starts, _waiting) = push(&lane, 63);
        assert_eq!(starts, 0);
        let (starts, _full) = push(&lane, 10);
        assert_eq!((starts, lane.next(BOUNDS, 0).len()), (1, 64));
        assert_eq!(lane.next(BOUNDS, 30).len(), 0, "the other task comes back for the rest");
        assert_eq!(lane.next(BOUNDS, 64).len(), 9);
        assert!(lane.next(BOUNDS, 9).is_empty());
    }

    #[test]
    fn nobody_is_left_behind_whatever_the_order() {
        for seed in 0..2_000_u64 {
            let mut random = fastrand::Rng::with_seed(seed);
            let lane = Lane::default();
            let (mut tasks, mut calls, mut asked, mut sent) = (0, Vec::new(), 0, 0);
            let mut receivers = Vec::new();
            while asked < 300 || tasks > 0 || !calls.is_empty() {
                match random.u8(0..3) {
                    0 if asked < 300 => {
                        let count = random.usize(1..40);
                        let (starts, ends) = push(&lane, count);
                        (tasks, asked) = (tasks + starts, asked + count);
                        receivers.extend(ends);
                    }
                    1 if tasks > 0 => {
                        tasks -= 1;
                        let batch = lane.next(BOUNDS, 0).len();
                        (sent, _) = (sent + batch, (batch > 0).then(|| calls.push(batch)));
                    }
                    _ if !calls.is_empty() => {
                        let done = calls.swap_remove(random.usize(0..calls.len()));
                        let batch = lane.next(BOUNDS, done).len();
                        (sent, _) = (sent + batch, (batch > 0).then(|| calls.push(batch)));
                    }
                    _ => {}
                }
                assert!(tasks + calls.len() <= BOUNDS.calls, "seed {seed}");
            }
            assert_eq!(sent, asked, "seed {seed}");
        }
    }

    #[test]
    fn who_gave_up_is_not_sent() {
        let lane = Lane::default();
        let (_, mut receivers) = push(&lane, 3);
        receivers.pop();
        assert_eq!(lane.next(BOUNDS, 0).len(), 2);
    }
}
