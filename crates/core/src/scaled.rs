//! The same limit, larger: by a factor, or by a burst.

use core::time::Duration;

use crate::algorithm::Params;
use crate::algorithm::ending_window::Edges;
use crate::limit::{Limit, LimitError};
use crate::rate::Rate;

impl Limit {
    /// `times` such limits in one: units and rates multiplied, windows and periods as they are. A queue grows with the place
    /// in service, so that the quota is `times` as large, too. The opposite of [`share`](Self::share).
    ///
    /// # Errors
    /// [`LimitError`] where the product leaves the domain.
    pub fn times(&self, times: u64) -> Result<Self, LimitError> {
        let span = |ticks| self.resolution().span(ticks);
        let more = |units: u64| units.saturating_mul(times);
        match *self.params() {
            Params::FixedWindow(p) => Self::fixed_window(more(p.count), span(p.window)),
            Params::EndingWindow(p) => Self::ending_window(more(p.count), p.edges, span),
            Params::SlidingWindowLog(p) => Self::sliding_window_log(more(p.count), span(p.window)),
            Params::SlidingWindowCounter(p) => Self::sliding_window_counter(more(p.count), span(p.window)),
            Params::TokenBucket(p) => {
                Self::token_bucket(more(p.capacity), Rate::new(more(p.refill), span(p.period)))
            }
            Params::LeakyBucket(p) => Self::leaky_bucket(
                Rate::new(more(p.rate), span(p.period)),
                more(p.places()).saturating_sub(1),
            ),
        }
    }

    /// This window with room for `burst` more units: a limit of count + burst, of which everything holds that holds of any
    /// limit.
    ///
    /// # Errors
    /// [`LimitError`] for a bucket, whose burst is its capacity or its queue; for a window that holds nothing; and where the
    /// sum leaves the domain.
    pub fn with_burst(&self, burst: u64) -> Result<Self, LimitError> {
        let span = |ticks| self.resolution().span(ticks);
        let more = |count: u64| match count {
            0 if burst > 0 => Err(LimitError::BurstOnNothing { burst }),
            count => Ok(count.saturating_add(burst)),
        };
        match *self.params() {
            Params::FixedWindow(p) => Self::fixed_window(more(p.count)?, span(p.window)),
            Params::EndingWindow(p) => Self::ending_window(more(p.count)?, p.edges, span),
            Params::SlidingWindowLog(p) => Self::sliding_window_log(more(p.count)?, span(p.window)),
            Params::SlidingWindowCounter(p) => Self::sliding_window_counter(more(p.count)?, span(p.window)),
            Params::TokenBucket(_) | Params::LeakyBucket(_) => {
                Err(LimitError::BurstOfBucket { algorithm: self.algorithm() })
            }
        }
    }

    fn ending_window(count: u64, edges: Edges, span: impl Fn(u64) -> Duration) -> Result<Self, LimitError> {
        match edges {
            Edges::FirstRequest { window } => Self::fixed_window_from_first(count, span(window)),
            Edges::Calendar(calendar) => Self::fixed_window_of(count, calendar),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use crate::{Algorithm, Limit, LimitError, Rate};

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn ten_times_as_much_has_ten_times_the_quota_in_the_same_time() {
        let rate = Rate::new(6, MINUTE);
        let limits = [
            Limit::fixed_window(6, MINUTE),
            Limit::sliding_window_log(6, MINUTE),
            Limit::sliding_window_counter(6, MINUTE),
            Limit::token_bucket(6, rate),
            Limit::leaky_bucket(rate, 5),
        ];
        for limit in limits.map(Result::unwrap) {
            let ten = limit.times(10).unwrap();
            assert_eq!((ten.quota(), ten.window()), (60, MINUTE), "{ten}");
            assert_eq!(limit.times(1).unwrap(), limit);
            assert_eq!(ten.share(10).unwrap(), limit, "a share of it is what it was");
            assert_eq!(limit.times(0).unwrap().quota(), 0);
            assert!(matches!(limit.times(1 << 52), Err(LimitError::OutOfDomain { .. })), "{limit}");
            assert!(limit.times(u64::MAX).is_err());
        }
        let nothing = Limit::fixed_window(0, MINUTE).unwrap();
        assert_eq!(nothing.times(1_000).unwrap().quota(), 0, "nothing stays nothing");
    }

    #[test]
    fn a_burst_is_so_many_units_more_in_the_window() {
        for make in [Limit::fixed_window, Limit::sliding_window_log, Limit::sliding_window_counter] {
            let limit = make(100, MINUTE).unwrap();
            assert_eq!(limit.with_burst(10), make(110, MINUTE));
            assert_eq!(limit.with_burst(0), Ok(limit));
            assert!(matches!(limit.with_burst(u64::MAX), Err(LimitError::OutOfDomain { .. })));
            let nothing = make(0, MINUTE).unwrap();
            assert_eq!(nothing.with_burst(10), Err(LimitError::BurstOnNothing { burst: 10 }));
            assert_eq!(nothing.with_burst(0), Ok(nothing));
        }
        let rate = Rate::new(1, MINUTE);
        for (bucket, algorithm) in [
            (Limit::token_bucket(5, rate), Algorithm::TokenBucket),
            (Limit::leaky_bucket(rate, 5), Algorithm::LeakyBucket),
        ] {
            assert_eq!(bucket.unwrap().with_burst(1), Err(LimitError::BurstOfBucket { algorithm }));
        }
    }
}
