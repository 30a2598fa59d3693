//! Coarse timers: one ticking task for each worker instead of one timer for each request.
//!
//! A proxied request has half a dozen deadlines, and nearly none of them ever passes. Arming one here is two stores
//! into a slot that its connection already owns; the ticking task looks at all slots once per [`TICK`].

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

/// How often deadlines are looked at; a timeout is late by at most twice this, and never early.
pub(crate) const TICK: Duration = Duration::from_millis(25);

/// A deadline that never passes.
pub(crate) const NEVER: u64 = u64::MAX;

/// The worker's clock in milliseconds since its start, as of the latest tick.
///
/// Shared with sockets, which must be `Send`.
#[derive(Debug, Default)]
pub(crate) struct CoarseClock(AtomicU64);

impl CoarseClock {
    /// Milliseconds since the worker started, plus one: zero can stand for "not set".
    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed) + 1
    }
}

/// The instant `span` after `from`, rounded so that it never comes early.
pub(crate) fn after(from: u64, span: Duration) -> u64 {
    from.saturating_add(millis(span)).saturating_add(millis(TICK))
}

/// `span` in whole milliseconds, saturating.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(NEVER)
}

#[derive(Debug)]
struct Slot {
    deadline: u64,
    waker: Option<Waker>,
}

#[derive(Debug, Default)]
struct Slots {
    all: Vec<Slot>,
    free: Vec<usize>,
}

/// All timers of one worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timers {
    clock: Arc<CoarseClock>,
    slots: Rc<RefCell<Slots>>,
}

impl Timers {
    /// The clock that these timers go by.
    pub(crate) fn clock(&self) -> &Arc<CoarseClock> {
        &self.clock
    }

    /// A new timer, off.
    pub(crate) fn timer(&self) -> Timer {
        let mut slots = self.slots.borrow_mut();
        let slot = Slot { deadline: NEVER, waker: None };
        let index = if let Some(index) = slots.free.pop() {
            if let Some(old) = slots.all.get_mut(index) {
                *old = slot;
            }
            index
        } else {
            slots.all.push(slot);
            slots.all.len() - 1
        };
        Timer { timers: self.clone(), index }
    }

    /// Ticks until dropped.
    pub(crate) async fn run(self) {
        let start = tokio::time::Instant::now();
        loop {
            tokio::time::sleep(TICK).await;
            self.tick(millis(start.elapsed()));
        }
    }

    /// Moves the clock and wakes what is due.
    fn tick(&self, now: u64) {
        self.clock.0.store(now, Ordering::Relaxed);
        let now = self.clock.now();
        self.wake(|slot| slot.deadline <= now);
    }

    /// Wakes every task that waits for a timer, so that it looks at the world again.
    pub(crate) fn wake_all(&self) {
        self.wake(|_| true);
    }

    fn wake(&self, due: impl Fn(&Slot) -> bool) {
        let mut wakers = Vec::new();
        for slot in &mut self.slots.borrow_mut().all {
            if due(slot) {
                wakers.extend(slot.waker.take());
            }
        }
        // Outside the borrow: a waker may run anything.
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// One slot: a deadline and who to wake when it passes. Freed when dropped.
#[derive(Debug)]
pub(crate) struct Timer {
    timers: Timers,
    index: usize,
}

impl Timer {
    /// The current time of this timer's clock.
    pub(crate) fn now(&self) -> u64 {
        self.timers.clock.now()
    }

    /// Wakes the current task at `deadline`; true if that has already passed.
    pub(crate) fn arm(&self, deadline: u64, cx: &Context<'_>) -> bool {
        let old = {
            let mut slots = self.timers.slots.borrow_mut();
            let Some(slot) = slots.all.get_mut(self.index) else { return false };
            slot.deadline = deadline;
            match &slot.waker {
                Some(waker) if waker.will_wake(cx.waker()) => None,
                _ => slot.waker.replace(cx.waker().clone()),
            }
        };
        drop(old);
        deadline <= self.now()
    }

    /// Wakes nobody until armed again.
    pub(crate) fn off(&self) {
        let old = {
            let mut slots = self.timers.slots.borrow_mut();
            let Some(slot) = slots.all.get_mut(self.index) else { return };
            slot.deadline = NEVER;
            slot.waker.take()
        };
        drop(old);
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.off();
        self.timers.slots.borrow_mut().free.push(self.index);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_deadline_wakes_once_and_not_before() {
        let timers = Timers::default();
        let timer = timers.timer();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let cx = Context::from_waker(&waker);
        assert!(!timer.arm(100, &cx));
        timers.tick(50);
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        timers.tick(100);
        timers.tick(150);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(timer.arm(100, &cx));
    }

    #[test]
    fn a_freed_slot_is_used_again_and_is_off() {
        let timers = Timers::default();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let first = timers.timer();
        first.arm(10, &Context::from_waker(&waker));
        drop(first);
        let second = timers.timer();
        assert_eq!(timers.slots.borrow().all.len(), 1);
        timers.tick(100);
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        drop(second);
    }
}
