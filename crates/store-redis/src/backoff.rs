//! Waits between attempts to connect.

use core::time::Duration;

const FIRST: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_secs(1);

/// Doubling waits with jitter, so that replicas that lost the same server do not come back in step.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// The next wait: between half of the step and the whole.
    pub(crate) fn next(&mut self) -> Duration {
        let step = FIRST.saturating_mul(1_u32.checked_shl(self.attempts).unwrap_or(u32::MAX)).min(LONGEST);
        self.attempts = self.attempts.saturating_add(1).min(16);
        let micros = u64::try_from(step.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(fastrand::u64(micros / 2..=micros))
    }

    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, Duration};

    #[test]
    fn waits_double_up_to_a_second_and_begin_anew() {
        let mut backoff = Backoff::default();
        for step in [25, 50, 100, 200, 400, 800, 1_000, 1_000, 1_000] {
            let step = Duration::from_millis(step);
            let wait = backoff.next();
            assert!((step / 2..=step).contains(&wait), "{wait:?} of {step:?}");
        }
        for _ in 0..100 {
            assert!(backoff.next() <= Duration::from_secs(1));
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(25));
    }
}
