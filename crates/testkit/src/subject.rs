//! What a law is tried on: one limit on one key, however it is kept.

use core::time::Duration;

use cupo_core::algorithm::ending_window::Edges;
use cupo_core::{Decision, Limit, Params, Rate, Resolution, State, Timestamp, Verdict};

/// One limit on one key that nobody else uses. Instants and spans are in ticks of the limit.
pub trait Subject {
    /// Asks for `cost` units at tick `now`, and is charged if admitted.
    fn ask(&mut self, now: u64, cost: u64) -> Decision<u64>;

    /// Forgets what has expired at tick `now`, where that can be asked for.
    fn forget_expired(&mut self, now: u64) {
        let _ = now;
    }

    /// Whether nothing is kept for the key; `None` where that cannot be seen.
    fn is_absent(&self) -> Option<bool> {
        None
    }
}

/// Makes fresh subjects of the same limit.
pub type Make<'a> = &'a dyn Fn() -> Box<dyn Subject + 'a>;

/// A limit and its state, asked in ticks through [`Params`].
#[derive(Debug, Clone)]
pub struct InTicks {
    limit: Limit,
    state: Option<State>,
}

impl InTicks {
    /// Nothing admitted yet.
    #[must_use]
    pub const fn new(limit: Limit) -> Self {
        Self { limit, state: None }
    }

    /// The state.
    #[must_use]
    pub const fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }
}

impl Subject for InTicks {
    fn ask(&mut self, now: u64, cost: u64) -> Decision<u64> {
        let params = self.limit.params();
        let (decision, change) = params.decide(self.state.as_ref(), now, cost);
        params.apply(&mut self.state, change);
        decision
    }

    fn forget_expired(&mut self, now: u64) {
        self.state.take_if(|state| now >= self.limit.params().expires_at(state));
    }

    fn is_absent(&self) -> Option<bool> {
        Some(self.state.is_none())
    }
}

/// A limit and its state, asked in time through [`Limit`], somewhere inside each tick.
#[derive(Debug, Clone)]
pub struct InTime {
    limit: Limit,
    state: Option<State>,
    late: u64,
}

impl InTime {
    /// Nothing admitted yet; every request comes `late` microseconds after its tick began, or as late as a tick is long.
    #[must_use]
    pub fn new(limit: Limit, late: u64) -> Self {
        Self { limit, state: None, late: late % limit.resolution().micros_per_tick() }
    }

    fn instant(&self, tick: u64) -> Timestamp {
        instant(&self.limit, tick).after(Duration::from_micros(self.late))
    }
}

impl Subject for InTime {
    fn ask(&mut self, now: u64, cost: u64) -> Decision<u64> {
        let now = self.instant(now);
        let (decision, change) = self.limit.decide(self.state.as_ref(), now, cost);
        self.limit.apply(&mut self.state, change);
        in_ticks(&self.limit, &decision)
    }

    fn forget_expired(&mut self, now: u64) {
        let now = self.instant(now);
        self.state.take_if(|state| now >= self.limit.expires_at(state));
    }

    fn is_absent(&self) -> Option<bool> {
        Some(self.state.is_none())
    }
}

/// The limit that has these numbers, in the first resolution that leads to them.
///
/// # Panics
/// Where no limit has them.
#[must_use]
pub fn limit_of(params: &Params) -> Limit {
    let limit = |resolution: Resolution| {
        let span = |ticks| resolution.span(ticks);
        let limit = match *params {
            Params::FixedWindow(p) => Limit::fixed_window(p.count, span(p.window)),
            Params::EndingWindow(p) => match p.edges {
                Edges::FirstRequest { window } => Limit::fixed_window_from_first(p.count, span(window)),
                Edges::Calendar(calendar) => Limit::fixed_window_of(p.count, calendar),
            },
            Params::SlidingWindowLog(p) => Limit::sliding_window_log(p.count, span(p.window)),
            Params::SlidingWindowCounter(p) => Limit::sliding_window_counter(p.count, span(p.window)),
            Params::TokenBucket(p) => Limit::token_bucket(p.capacity, Rate::new(p.refill, span(p.period))),
            Params::LeakyBucket(p) => Limit::leaky_bucket(Rate::new(p.rate, span(p.period)), p.queue),
        };
        limit.ok().filter(|limit| limit.params() == params)
    };
    [Resolution::Micros, Resolution::Millis]
        .into_iter()
        .find_map(limit)
        .unwrap_or_else(|| panic!("no limit has {params:?}"))
}

/// The instant at which `tick` begins.
///
/// # Panics
/// Where that is outside the range of instants.
#[must_use]
pub fn instant(limit: &Limit, tick: u64) -> Timestamp {
    let at = limit.resolution().instant(tick);
    assert_eq!(limit.resolution().tick(at), tick, "outside the range of instants");
    at
}

/// A decision with its spans in ticks.
///
/// # Panics
/// Where a span is not a whole number of ticks.
#[must_use]
pub fn in_ticks(limit: &Limit, decision: &Decision) -> Decision<u64> {
    let ticks = |span| limit.resolution().ticks(span).expect("a whole number of ticks");
    Decision {
        verdict: match decision.verdict {
            Verdict::Admit => Verdict::Admit,
            Verdict::Deny { retry_after } => Verdict::Deny { retry_after: ticks(retry_after) },
            Verdict::Impossible => Verdict::Impossible,
        },
        limit: decision.limit,
        remaining: decision.remaining,
        reset_after: ticks(decision.reset_after),
        delay: ticks(decision.delay),
    }
}
