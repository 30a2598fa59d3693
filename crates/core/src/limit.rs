//! A limit: an algorithm with its numbers, inside the number domain.

use core::fmt;
use core::time::Duration;

use thiserror::Error;

use crate::algorithm::{
    Algorithm, Change, Charge, Params, State, ending_window, fixed_window, leaky_bucket,
    sliding_window_counter, sliding_window_log, token_bucket,
};
use crate::calendar::Calendar;
use crate::decision::Decision;
use crate::number::{DOMAIN, MAX_SPAN, ceil_div, floor_div, gcd, modulo, product, sum};
use crate::rate::{DisplayDuration, Rate};
use crate::time::{Resolution, Timestamp};

/// An algorithm with its numbers. The constructors are the only gate: a `Limit` that exists stays inside the number
/// domain for every instant and cost.
///
/// ```
/// use core::time::Duration;
/// use cupo_core::{Limit, Rate, Timestamp};
///
/// let limit = Limit::token_bucket(5, Rate::new(2, Duration::from_secs(1)))?;
/// let (decision, _change) = limit.decide(None, Timestamp::EPOCH, 1);
/// assert!(decision.is_admitted());
/// assert_eq!(decision.remaining, 4);
/// # Ok::<(), cupo_core::LimitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    params: Params,
    resolution: Resolution,
}

/// Why numbers make no limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The window or the period of a rate is zero.
    #[error("{algorithm}: a window or period of zero holds no limit; write a length above zero")]
    ZeroPeriod {
        /// The algorithm that was asked for.
        algorithm: Algorithm,
    },
    /// A bucket with room for tokens that never gets any.
    #[error(
        "{algorithm}: capacity {capacity} with a refill of 0 never fills again; write a refill of at least 1, or capacity 0 to block everything"
    )]
    NeverRefills {
        /// The algorithm that was asked for.
        algorithm: Algorithm,
        /// The capacity that was asked for.
        capacity: u64,
    },
    /// A burst on a window that holds nothing.
    #[error(
        "a burst of {burst} on a count of 0 would open what a limit of 0 closes; write a count of at least 1, or drop the burst"
    )]
    BurstOnNothing {
        /// The burst that was asked for.
        burst: u64,
    },
    /// A burst of a bucket.
    #[error(
        "{algorithm}: a burst adds to the count of a window; the burst of a bucket is its capacity or its queue"
    )]
    BurstOfBucket {
        /// The algorithm that was asked for.
        algorithm: Algorithm,
    },
    /// The numbers are too large to be exact, in microseconds and in milliseconds.
    #[error("{algorithm}: {units} units over {} cannot be counted exactly: their product has to stay below 2^53 ({bound}) in whole milliseconds; lower the units or shorten the time", DisplayDuration(*.period))]
    OutOfDomain {
        /// The algorithm that was asked for.
        algorithm: Algorithm,
        /// The larger of the numbers of units.
        units: u64,
        /// The window or period.
        period: Duration,
        /// The bound, 2^53.
        bound: u64,
    },
}

impl Limit {
    /// How often one address may ask the status endpoint, unless said otherwise: 60 per minute.
    pub(crate) const STATUS: Self = Self {
        params: Params::SlidingWindowCounter(sliding_window_counter::Params {
            count: 60,
            window: 60_000_000,
        }),
        resolution: Resolution::Micros,
    };

    /// At most `count` units in each `window` aligned to the Unix epoch.
    ///
    /// # Errors
    /// [`LimitError`] where the window is zero or the numbers leave the domain.
    pub fn fixed_window(count: u64, window: Duration) -> Result<Self, LimitError> {
        Self::gate(Algorithm::FixedWindow, count, window, |window| {
            (count < DOMAIN).then_some(Params::FixedWindow(fixed_window::Params { count, window }))
        })
    }

    /// At most `count` units in each window of `calendar`. A limit is a plain value, so the calendar has to live as long as the
    /// program: make each once, and leak it.
    ///
    /// # Errors
    /// [`LimitError`] where the numbers leave the domain.
    pub fn fixed_window_of(count: u64, calendar: &'static Calendar) -> Result<Self, LimitError> {
        let longest = Duration::from_micros(calendar.longest());
        Self::gate(Algorithm::FixedWindow, count, longest, |_| {
            let edges = ending_window::Edges::Calendar(calendar);
            (count < DOMAIN).then_some(Params::EndingWindow(ending_window::Params { count, edges }))
        })
    }

    /// At most `count` units in each `window`, which begins with the first request that is admitted while none is open.
    ///
    /// # Errors
    /// [`LimitError`] where the window is zero or the numbers leave the domain.
    pub fn fixed_window_from_first(count: u64, window: Duration) -> Result<Self, LimitError> {
        Self::gate(Algorithm::FixedWindow, count, window, |window| {
            let edges = ending_window::Edges::FirstRequest { window };
            (count < DOMAIN).then_some(Params::EndingWindow(ending_window::Params { count, edges }))
        })
    }

    /// At most `count` units in any interval of length `window`, exactly.
    ///
    /// # Errors
    /// [`LimitError`] where the window is zero or the numbers leave the domain.
    pub fn sliding_window_log(count: u64, window: Duration) -> Result<Self, LimitError> {
        Self::gate(Algorithm::SlidingWindowLog, count, window, |window| {
            (count < DOMAIN).then_some(Params::SlidingWindowLog(sliding_window_log::Params { count, window }))
        })
    }

    /// At most about `count` units in any interval of length `window`, in constant space. The default.
    ///
    /// # Errors
    /// [`LimitError`] where the window is zero or the numbers leave the domain.
    pub fn sliding_window_counter(count: u64, window: Duration) -> Result<Self, LimitError> {
        Self::gate(Algorithm::SlidingWindowCounter, count, window, |window| {
            product(count.checked_add(1)?, window)?;
            Some(Params::SlidingWindowCounter(sliding_window_counter::Params { count, window }))
        })
    }

    /// A burst of `capacity` units, refilled continuously at `refill`.
    ///
    /// # Errors
    /// [`LimitError`] where the period is zero, nothing refills, or the numbers leave the domain.
    pub fn token_bucket(capacity: u64, refill: Rate) -> Result<Self, LimitError> {
        let algorithm = Algorithm::TokenBucket;
        if refill.count == 0 && capacity > 0 {
            return Err(LimitError::NeverRefills { algorithm, capacity });
        }
        Self::gate(algorithm, capacity.max(refill.count), refill.period, |period| {
            let (refill, period) = lowest_terms(refill.count, period);
            let full = product(capacity, period)?;
            sum(product(full, 2)?, refill)?;
            spans(full, refill)?;
            Some(Params::TokenBucket(token_bucket::Params { capacity, refill, period }))
        })
    }

    /// Evenly spaced at `rate`, with at most `queue` units waiting.
    ///
    /// # Errors
    /// [`LimitError`] where the period is zero or the numbers leave the domain.
    pub fn leaky_bucket(rate: Rate, queue: u64) -> Result<Self, LimitError> {
        Self::gate(Algorithm::LeakyBucket, queue.saturating_add(1).max(rate.count), rate.period, |period| {
            let (rate, period) = lowest_terms(rate.count, period);
            let full = product(queue.checked_add(1)?, period)?;
            sum(product(full, 2)?, rate)?;
            spans(full, rate)?;
            Some(Params::LeakyBucket(leaky_bucket::Params { rate, period, queue }))
        })
    }

    /// One of `replicas` equal shares of this limit: units and rates divided, rounded down, but at least one unit of a
    /// limit that has any. Shares therefore add up to at most the limit, or to `replicas` units where that is more.
    ///
    /// # Errors
    /// [`LimitError`] where the slower rate leaves the domain.
    pub fn share(&self, replicas: u32) -> Result<Self, LimitError> {
        let n = u64::from(replicas.max(1));
        let part = |units: u64| floor_div(units, n).max(units.min(1));
        let span = |ticks| self.resolution.span(ticks);
        let slower = |count, period: u64| Rate::new(count, span(period.saturating_mul(n)));
        match self.params {
            Params::FixedWindow(p) => Self::fixed_window(part(p.count), span(p.window)),
            Params::EndingWindow(p) => match p.edges {
                ending_window::Edges::FirstRequest { window } => {
                    Self::fixed_window_from_first(part(p.count), span(window))
                }
                ending_window::Edges::Calendar(calendar) => Self::fixed_window_of(part(p.count), calendar),
            },
            Params::SlidingWindowLog(p) => Self::sliding_window_log(part(p.count), span(p.window)),
            Params::SlidingWindowCounter(p) => Self::sliding_window_counter(part(p.count), span(p.window)),
            Params::TokenBucket(p) => Self::token_bucket(part(p.capacity), slower(p.refill, p.period)),
            Params::LeakyBucket(p) => Self::leaky_bucket(
                slower(p.rate, p.period),
                part(p.queue.saturating_add(1)).saturating_sub(1),
            ),
        }
    }

    /// The parameters in the finest tick that holds them.
    fn gate(
        algorithm: Algorithm,
        units: u64,
        period: Duration,
        params: impl Fn(u64) -> Option<Params>,
    ) -> Result<Self, LimitError> {
        if period.is_zero() {
            return Err(LimitError::ZeroPeriod { algorithm });
        }
        [Resolution::Micros, Resolution::Millis]
            .into_iter()
            .find_map(|resolution| {
                let ticks = resolution.ticks(period).filter(|&t| t > 0 && t <= MAX_SPAN)?;
                Some(Self { params: params(ticks)?, resolution })
            })
            .ok_or(LimitError::OutOfDomain { algorithm, units, period, bound: DOMAIN })
    }

    /// The same window counter in milliseconds. `None` for all else: what a window can be counted in does not depend on its count
    /// elsewhere, and buckets are counted in parts of their rates.
    pub(crate) fn in_millis(&self) -> Option<Self> {
        let Params::SlidingWindowCounter(p) = self.params else { return None };
        let window = Resolution::Millis.ticks(self.resolution.span(p.window))?;
        let params = Params::SlidingWindowCounter(sliding_window_counter::Params { window, ..p });
        Some(Self { params, resolution: Resolution::Millis })
    }

    /// The algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.params.algorithm()
    }

    /// The numbers, in ticks of [`resolution`](Self::resolution).
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The tick that the numbers are counted in.
    #[must_use]
    pub const fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// The most units that the limit can hold: what `X-RateLimit-Limit` shows, and the highest cost that is not
    /// [`Impossible`](crate::Verdict::Impossible).
    #[must_use]
    pub const fn quota(&self) -> u64 {
        match &self.params {
            Params::FixedWindow(p) => p.count,
            Params::EndingWindow(p) => p.count,
            Params::SlidingWindowLog(p) => p.count,
            Params::SlidingWindowCounter(p) => p.count,
            Params::TokenBucket(p) => p.capacity,
            Params::LeakyBucket(p) => p.places(),
        }
    }

    /// The time over which the quota is granted: the window, of a calendar the longest, or the time in which an empty bucket
    /// becomes whole.
    #[must_use]
    pub const fn window(&self) -> Duration {
        let ticks = match &self.params {
            Params::FixedWindow(p) => p.window,
            Params::EndingWindow(p) => p.longest(),
            Params::SlidingWindowLog(p) => p.window,
            Params::SlidingWindowCounter(p) => p.window,
            Params::TokenBucket(p) => ceil_div(p.capacity.saturating_mul(p.period), p.refill),
            Params::LeakyBucket(p) => ceil_div(p.places().saturating_mul(p.period), p.rate),
        };
        self.resolution.span(ticks)
    }

    /// The longest time in which anything that was counted still counts: the window, twice for a sliding window counter, of a
    /// calendar the longest; the time in which an empty bucket becomes whole. Nobody ever waits for longer.
    #[must_use]
    pub const fn memory(&self) -> Duration {
        match &self.params {
            Params::SlidingWindowCounter(p) => self.resolution.span(p.window.saturating_mul(2)),
            _ => self.window(),
        }
    }

    /// The time over which the quota is granted at `now`: [`window`](Self::window), and of a calendar the length of the window
    /// that `now` lies in.
    #[must_use]
    pub fn window_at(&self, now: Timestamp) -> Duration {
        match &self.params {
            Params::EndingWindow(ending_window::Params {
                edges: ending_window::Edges::Calendar(calendar),
                ..
            }) => {
                let (start, end) = calendar.window(self.resolution.tick(now));
                self.resolution.span(end.saturating_sub(start))
            }
            _ => self.window(),
        }
    }

    /// Decides a request of `cost` units at `now`. A `state` of another algorithm counts as absent.
    #[must_use]
    pub fn decide(&self, state: Option<&State>, now: Timestamp, cost: u64) -> (Decision, Change) {
        let (decision, change) = self.params.decide(state, self.resolution.tick(now), cost);
        (self.in_time(decision), change)
    }

    /// Gives back a charge at `now`, as far as it still counts: never more than was charged, and nothing that time has given
    /// back already.
    ///
    /// A window that has passed gets nothing back, a bucket what has not arrived since, and a leaky bucket the
    /// slot of a delayed request whose slot has not come, where nobody has queued behind it. Over any interval, what was
    /// charged and not given back stays within the algorithm's bound. [`Change::Keep`] where nothing is left to give back.
    #[must_use]
    pub fn refund(&self, state: Option<&State>, now: Timestamp, charge: Charge<Timestamp>) -> Change {
        let tick = |at| self.resolution.tick(at);
        let charge = Charge { at: tick(charge.at), end: tick(charge.end), cost: charge.cost };
        self.params.refund(state, tick(now), charge)
    }

    /// Gives `units` back at `now`, whoever used them, as an administrator does: what remains rises by exactly as many, or by all
    /// that is used where that is less, and at no later instant is less left than without it. [`Change::Keep`] where nothing is
    /// used.
    #[must_use]
    pub fn grant(&self, state: Option<&State>, now: Timestamp, units: u64) -> Change {
        self.params.grant(state, self.resolution.tick(now), units)
    }

    /// Takes back the slot of a delayed request that was cancelled at `now`: [`refund`](Self::refund) of a leaky bucket, and
    /// nothing of the other algorithms, which do not delay.
    #[must_use]
    pub fn cancel(&self, state: Option<&State>, now: Timestamp, cost: u64, end: Timestamp) -> Change {
        if self.algorithm() != Algorithm::LeakyBucket {
            return Change::Keep;
        }
        self.refund(state, now, Charge { at: now, end, cost })
    }

    /// The instant from which on `state` decides like no state at all.
    #[must_use]
    pub fn expires_at(&self, state: &State) -> Timestamp {
        self.resolution.instant(self.params.expires_at(state))
    }

    /// Carries out `change` on the state of a key.
    pub fn apply(&self, state: &mut Option<State>, change: Change) {
        self.params.apply(state, change);
    }

    fn in_time(&self, ticks: Decision<u64>) -> Decision {
        let span = |t| self.resolution.span(t);
        Decision {
            verdict: ticks.verdict.map(span),
            limit: ticks.limit,
            remaining: ticks.remaining,
            reset_after: span(ticks.reset_after),
            delay: span(ticks.delay),
        }
    }
}

/// A fraction in lowest terms, which reaches furthest inside the domain.
fn lowest_terms(count: u64, period: u64) -> (u64, u64) {
    let divisor = gcd(count, period);
    (floor_div(count, divisor), floor_div(period, divisor))
}

/// The time in which `rate` parts per tick make up `parts`, if it is inside the domain.
fn spans(parts: u64, rate: u64) -> Option<u64> {
    Some(ceil_div(parts, rate)).filter(|&t| t <= MAX_SPAN)
}

impl fmt::Display for Limit {
    /// The limit in one line, such as `token_bucket, capacity 20, refill 10 per 1s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = |t| DisplayDuration(self.resolution.span(t));
        write!(f, "{}, ", self.algorithm())?;
        match &self.params {
            Params::FixedWindow(p) => write!(f, "{} per {}", p.count, span(p.window)),
            Params::EndingWindow(p) => match p.edges {
                ending_window::Edges::FirstRequest { window } => {
                    write!(f, "{} per {} from the first request", p.count, span(window))
                }
                ending_window::Edges::Calendar(calendar) => write!(f, "{} per {}", p.count, calendar.name()),
            },
            Params::SlidingWindowLog(p) => write!(f, "{} per {}", p.count, span(p.window)),
            Params::SlidingWindowCounter(p) => write!(f, "{} per {}", p.count, span(p.window)),
            Params::TokenBucket(p) => {
                write!(f, "capacity {}, refill {}", p.capacity, self.rate(p.refill, p.period))
            }
            Params::LeakyBucket(p) => write!(f, "rate {}, queue {}", self.rate(p.rate, p.period), p.queue),
        }
    }
}

impl Limit {
    /// The rate at which a bucket refills or runs out, as people say it; `None` of windows.
    #[must_use]
    pub fn lasting_rate(&self) -> Option<Rate> {
        match &self.params {
            Params::TokenBucket(p) => Some(self.rate(p.refill, p.period)),
            Params::LeakyBucket(p) => Some(self.rate(p.rate, p.period)),
            _ => None,
        }
    }

    /// A rate in lowest terms as people say it: per second, minute, hour or day, whichever is the first that holds whole
    /// periods.
    fn rate(&self, count: u64, period: u64) -> Rate {
        const UNITS: [Duration; 4] = [
            Duration::from_secs(1),
            Duration::from_secs(60),
            Duration::from_secs(3_600),
            Duration::from_secs(86_400),
        ];
        let said = UNITS.into_iter().find_map(|unit| {
            let ticks = self.resolution.ticks(unit).filter(|&t| modulo(t, period) == 0)?;
            Some(Rate::new(count.checked_mul(floor_div(ticks, period))?, unit))
        });
        said.unwrap_or_else(|| Rate::new(count, self.resolution.span(period)))
    }
}

#[cfg(test)]
#[path = "limit_tests.rs"]
mod tests;
