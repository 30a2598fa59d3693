//! The only place that may ask what time it is.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::time::Timestamp;

/// A source of the present instant. Share one by reference or by [`Arc`].
pub trait Clock: Send + Sync {
    /// The present instant. Never runs backwards as seen by one thread.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

/// The operating system's clock, made monotonic.
///
/// Wall-clock time is read once, at construction; from then on the monotonic clock carries it forward, so that a
/// step of the wall clock (NTP, an operator) moves no window. The price: windows that are aligned to the epoch
/// drift from wall time as far as the wall clock is corrected after the start. One read costs one `clock_gettime`.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    wall: Timestamp,
    monotonic: Instant,
}

impl SystemClock {
    /// A clock that starts at the present wall-clock time.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Self { wall: Timestamp::EPOCH.after(wall), monotonic: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.wall.after(self.monotonic.elapsed())
    }
}

/// A clock that stands still until it is told to move: for tests, simulations and replays.
///
/// Clones share the same hands.
///
/// ```
/// use core::time::Duration;
/// use cupo_core::{Clock, ManualClock, Timestamp};
///
/// let clock = ManualClock::at(Timestamp::from_micros(1_000_000));
/// clock.advance(Duration::from_millis(1_500));
/// assert_eq!(clock.now().as_micros(), 2_500_000);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(now.as_micros())))
    }

    /// Sets the hands to `now`, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_micros(), Ordering::SeqCst);
    }

    /// Moves the hands forwards by `span`.
    pub fn advance(&self, span: Duration) {
        self.set(self.now().after(span));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, SystemClock};

    #[test]
    fn the_system_clock_does_not_run_backwards() {
        let clock = SystemClock::new();
        let mut last = clock.now();
        for _ in 0..1_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
        assert!(last.as_micros() > 1_700_000_000_000_000, "the clock starts at wall time");
    }
}
