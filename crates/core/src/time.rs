//! Instants and the tick they are counted in.

use core::fmt;
use core::time::Duration;

use crate::number::MAX_INSTANT;

/// An instant: microseconds since the Unix epoch, at most 2^52 − 1 (the year 2112).
///
/// Constructors saturate at that bound, so that a broken clock cannot push a decision out of the number domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Self = Self(0);

    /// The instant `micros` microseconds after the Unix epoch, saturating at 2^52 − 1.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(if micros > MAX_INSTANT { MAX_INSTANT } else { micros })
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded up: a client that waits until then has waited long enough.
    #[must_use]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// This instant moved on by `span`, saturating.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

/// The tick that a limit counts in. The finest that keeps the limit inside the number domain is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// One tick is a microsecond.
    Micros,
    /// One tick is a millisecond.
    Millis,
}

impl Resolution {
    /// Microseconds in one tick.
    #[must_use]
    pub const fn micros_per_tick(self) -> u64 {
        match self {
            Self::Micros => 1,
            Self::Millis => 1_000,
        }
    }

    /// The tick that `now` lies in.
    #[must_use]
    pub const fn tick(self, now: Timestamp) -> u64 {
        match self {
            Self::Micros => now.0,
            Self::Millis => now.0 / 1_000,
        }
    }

    /// The instant at which `tick` begins.
    #[must_use]
    pub const fn instant(self, tick: u64) -> Timestamp {
        Timestamp::from_micros(tick.saturating_mul(self.micros_per_tick()))
    }

    /// The length of `ticks` ticks.
    #[must_use]
    pub const fn span(self, ticks: u64) -> Duration {
        Duration::from_micros(ticks.saturating_mul(self.micros_per_tick()))
    }

    /// `span` in ticks, or `None` where it is not a whole number of them.
    #[must_use]
    pub fn ticks(self, span: Duration) -> Option<u64> {
        let nanos_per_tick = u128::from(self.micros_per_tick()).saturating_mul(1_000);
        let nanos = span.as_nanos();
        if nanos.checked_rem(nanos_per_tick)? != 0 {
            return None;
        }
        u64::try_from(nanos.checked_div(nanos_per_tick)?).ok()
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Micros => "microsecond",
            Self::Millis => "millisecond",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Resolution, Timestamp};

    #[test]
    fn a_span_that_is_not_whole_ticks_is_refused() {
        assert_eq!(Resolution::Millis.ticks(Duration::from_micros(1_500)), None);
        assert_eq!(Resolution::Micros.ticks(Duration::from_micros(1_500)), Some(1_500));
        assert_eq!(Resolution::Micros.ticks(Duration::from_nanos(1_500)), None);
    }

    #[test]
    fn instants_saturate_and_seconds_round_up() {
        assert_eq!(Timestamp::from_micros(u64::MAX).as_micros(), (1 << 52) - 1);
        assert_eq!(Timestamp::from_micros(1).as_secs_ceil(), 1);
        assert_eq!(Timestamp::EPOCH.as_secs_ceil(), 0);
        assert_eq!(Timestamp::from_micros(7).after(Duration::MAX).as_micros(), (1 << 52) - 1);
    }
}
