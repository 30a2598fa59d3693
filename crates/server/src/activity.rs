//! What one client connection is doing, as far as its deadlines go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::settings::ClientTimeouts;
use crate::timers::{CoarseClock, NEVER, after};

/// How long a connection without a request may linger once the server drains, in milliseconds: long enough for a
/// request that was already on its way.
const DRAIN_GRACE_MS: u64 = 1_000;

/// Written by the socket and by the requests of a connection, read by its task. All of them run on one thread; the
/// atomics (relaxed, so plain loads and stores) are there because an upgraded socket must be `Send`.
#[derive(Debug)]
pub(crate) struct Activity {
    clock: Arc<CoarseClock>,
    /// When the first byte of the request head came that is still incomplete; 0 if none has.
    head_since: AtomicU64,
    /// When the connection last became idle.
    idle_since: AtomicU64,
    /// Since when the client has not taken what was written; 0 if it has.
    blocked_since: AtomicU64,
    /// When a response body was last asked for its next frame.
    asked: AtomicU64,
    /// Response bodies with a frame handed out whose next frame was not asked for yet.
    unasked: AtomicU32,
    /// Requests whose response has not ended.
    in_flight: AtomicU32,
    /// Requests so far; saturates at one.
    served: AtomicU32,
}

impl Activity {
    pub(crate) fn new(clock: &Arc<CoarseClock>) -> Self {
        let now = clock.now();
        Self {
            clock: Arc::clone(clock),
            head_since: AtomicU64::new(0),
            idle_since: AtomicU64::new(now),
            blocked_since: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            unasked: AtomicU32::new(0),
            in_flight: AtomicU32::new(0),
            served: AtomicU32::new(0),
        }
    }

    /// Bytes came from the client.
    pub(crate) fn read(&self) {
        if self.in_flight.load(Ordering::Relaxed) == 0 && self.head_since.load(Ordering::Relaxed) == 0 {
            self.head_since.store(self.clock.now(), Ordering::Relaxed);
        }
    }

    /// The client took bytes.
    pub(crate) fn written(&self) {
        self.blocked_since.store(0, Ordering::Relaxed);
    }

    /// The client does not take bytes.
    pub(crate) fn blocked(&self) {
        if self.blocked_since.load(Ordering::Relaxed) == 0 {
            self.blocked_since.store(self.clock.now(), Ordering::Relaxed);
        }
    }

    /// A request head is complete; the request lasts until the returned guard is dropped.
    pub(crate) fn request(self: &Arc<Self>) -> InFlight {
        self.head_since.store(0, Ordering::Relaxed);
        self.served.store(1, Ordering::Relaxed);
        self.in_flight.store(self.in_flight.load(Ordering::Relaxed).saturating_add(1), Ordering::Relaxed);
        InFlight { activity: Arc::clone(self), unasked: false }
    }

    /// Whether there has been a request.
    pub(crate) fn served(&self) -> bool {
        self.served.load(Ordering::Relaxed) > 0
    }

    /// When the connection must be cut unless something happens before, in the clock's milliseconds.
    ///
    /// HTTP/2 connections interleave requests, so bytes say nothing about a head: `multiplexed` ones without a
    /// request are idle, whatever they send.
    pub(crate) fn deadline(
        &self,
        timeouts: &ClientTimeouts,
        multiplexed: bool,
        drain_since: Option<u64>,
    ) -> u64 {
        let mut deadline = match self.blocked_since.load(Ordering::Relaxed) {
            0 => NEVER,
            since => after(since, timeouts.stall),
        };
        if self.unasked.load(Ordering::Relaxed) > 0 {
            deadline = deadline.min(after(self.asked.load(Ordering::Relaxed), timeouts.stall));
        }
        if self.in_flight.load(Ordering::Relaxed) == 0 {
            let idle_since = self.idle_since.load(Ordering::Relaxed);
            deadline = deadline.min(match self.head_since.load(Ordering::Relaxed) {
                since if since > 0 && !multiplexed => after(since, timeouts.request_head),
                _ if self.served() => after(idle_since, timeouts.keep_alive),
                _ => after(idle_since, timeouts.request_head),
            });
            if let Some(since) = drain_since {
                deadline = deadline.min(since.saturating_add(DRAIN_GRACE_MS));
            }
        }
        deadline
    }
}

/// A request in flight, until dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    activity: Arc<Activity>,
    unasked: bool,
}

impl InFlight {
    /// The response body gave a frame: from now on the client is expected to take it.
    pub(crate) fn gave(&mut self) {
        self.activity.asked.store(self.activity.clock.now(), Ordering::Relaxed);
        self.set_unasked(true);
    }

    /// The response body was asked for a frame and has none yet.
    pub(crate) fn waits(&mut self) {
        self.set_unasked(false);
    }

    fn set_unasked(&mut self, unasked: bool) {
        if self.unasked != unasked {
            self.unasked = unasked;
            let count = &self.activity.unasked;
            let now = count.load(Ordering::Relaxed);
            count.store(if unasked { now + 1 } else { now.saturating_sub(1) }, Ordering::Relaxed);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.set_unasked(false);
        let activity = &self.activity;
        let left = activity.in_flight.load(Ordering::Relaxed).saturating_sub(1);
        activity.in_flight.store(left, Ordering::Relaxed);
        if left == 0 {
            activity.idle_since.store(activity.clock.now(), Ordering::Relaxed);
        }
    }
}
