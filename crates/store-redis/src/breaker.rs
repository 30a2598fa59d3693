//! Leaves a server alone that fails again and again.

use core::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::settings::BreakerSettings;

/// Closed: all may ask. Open: nobody may, until the rest is over. Then one may try; its success closes, its failure opens again.
#[derive(Debug)]
pub(crate) struct Breaker {
    settings: BreakerSettings,
    /// The longest that a trial is waited for.
    trial: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
}

impl Breaker {
    pub(crate) fn new(settings: BreakerSettings, trial: Duration) -> Self {
        Self { settings, trial, state: Mutex::new(State::Closed { failures: 0 }) }
    }

    /// Whether a check may be sent now.
    pub(crate) fn allows(&self) -> bool {
        let mut state = self.state.lock();
        match *state {
            State::Closed { .. } => true,
            State::Open { until } => {
                let now = Instant::now();
                if now < until {
                    return false;
                }
                // This one tries. If nothing is heard of it, another may when it should have been answered.
                *state = State::Open { until: now + self.trial };
                true
            }
        }
    }

    /// A call was answered.
    pub(crate) fn succeeded(&self) {
        let mut state = self.state.lock();
        if *state != (State::Closed { failures: 0 }) {
            *state = State::Closed { failures: 0 };
        }
    }

    /// A call failed. Whether that opened the breaker.
    pub(crate) fn failed(&self) -> bool {
        let mut state = self.state.lock();
        let open = State::Open { until: Instant::now() + self.settings.rest };
        let was_closed = matches!(*state, State::Closed { .. });
        *state = match *state {
            State::Closed { failures } if failures.saturating_add(1) < self.settings.failures => {
                State::Closed { failures: failures.saturating_add(1) }
            }
            _ => open,
        };
        was_closed && *state == open
    }

    /// A fresh connection is there: the next check may try at once.
    pub(crate) fn may_try(&self) {
        let mut state = self.state.lock();
        if let State::Open { until } = &mut *state {
            *until = Instant::now();
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(*self.state.lock(), State::Open { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::{Breaker, BreakerSettings};
    use core::time::Duration;

    const REST: Duration = Duration::from_millis(250);
    const TRIAL: Duration = Duration::from_millis(50);

    fn breaker() -> Breaker {
        Breaker::new(BreakerSettings { failures: 3, rest: REST }, TRIAL)
    }

    #[tokio::test(start_paused = true)]
    async fn only_failures_in_a_row_open_it() {
        let breaker = breaker();
        for _ in 0..5 {
            assert!(!breaker.failed());
            assert!(!breaker.failed());
            assert!(breaker.allows());
            breaker.succeeded();
        }
        assert!(!breaker.failed());
        assert!(!breaker.failed());
        assert!(breaker.failed());
        assert!(!breaker.allows() && breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_rest_one_tries_and_decides() {
        let breaker = breaker();
        for _ in 0..3 {
            breaker.failed();
        }
        tokio::time::advance(REST - Duration::from_millis(1)).await;
        assert!(!breaker.allows());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(breaker.allows());
        assert!(!breaker.allows(), "one at a time");
        assert!(!breaker.failed(), "it was open already");
        tokio::time::advance(TRIAL).await;
        assert!(!breaker.allows(), "the failed trial begins another rest");
        tokio::time::advance(REST).await;
        assert!(breaker.allows());
        breaker.succeeded();
        assert!(breaker.allows() && breaker.allows() && !breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_that_is_never_heard_of_blocks_nobody_for_long() {
        let breaker = breaker();
        for _ in 0..3 {
            breaker.failed();
        }
        tokio::time::advance(REST).await;
        assert!(breaker.allows());
        tokio::time::advance(TRIAL).await;
        assert!(breaker.allows());
    }

    #[tokio::test(start_paused = true)]
    async fn a_fresh_connection_is_tried_at_once() {
        let breaker = breaker();
        for _ in 0..3 {
            breaker.failed();
        }
        breaker.may_try();
        assert!(breaker.allows());
        assert!(!breaker.allows());
    }
}
