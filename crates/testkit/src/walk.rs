//! Histories: requests at ticks, and the moves that lead to the interesting ones.

use cupo_core::Params;
use cupo_core::algorithm::ending_window::Edges;

use crate::bound::longest_wait;
use crate::model::Model;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The tick that the caller's clock shows.
    pub now: u64,
    /// The units asked for; 0 is a peek.
    pub cost: u64,
}

/// How the clock moves before a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Not at all.
    Stay,
    /// Forwards by so many ticks.
    Ticks(u64),
    /// To the start of the window after so many more, and that many ticks off. For a bucket a window is the time of
    /// one unit.
    Edge(u64, i8),
    /// Until long after everything has expired: so many times the longest wait.
    Idle(u64),
    /// To the instant that the last denial named, and that many ticks off.
    Retry(i8),
    /// To the instant at which the last decision said that the whole quota is back, and that many ticks off.
    Reset(i8),
    /// Backwards by so many ticks.
    Back(u64),
    /// Backwards by a part (of 8) of the longest wait.
    BackPart(u64),
}

/// How many units a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    /// This many.
    Exactly(u64),
    /// The quota, and that many more.
    Quota(u64),
    /// A part (of 8) of the quota, rounded up.
    Part(u64),
    /// What the last decision said remains, and that many more.
    Remaining(u64),
    /// The same as the last request.
    Same,
}

/// Turns moves into steps, with the reference model for a guide.
#[derive(Debug, Clone)]
pub struct Walk {
    model: Model,
    now: u64,
    last: u64,
    retry: u64,
    reset: u64,
    remaining: u64,
    cost: u64,
}

impl Walk {
    /// A walk that starts at tick `start` and never goes beyond `last`.
    #[must_use]
    pub fn new(params: Params, start: u64, last: u64) -> Self {
        let remaining = Model::new(params).decide(start, 0).limit;
        let now = start.min(last);
        Self { model: Model::new(params), now, last, retry: now, reset: now, remaining, cost: 0 }
    }

    /// Goes one step and says where that was.
    pub fn go(&mut self, by: Move, units: Units) -> Step {
        let params = *self.model.params();
        let span = longest_wait(&params);
        let quota = self.model.decide(self.now, 0).limit;
        let off = |tick: u64, ticks: i8| tick.saturating_add_signed(i64::from(ticks));
        let now = match by {
            Move::Stay => self.now,
            Move::Ticks(ticks) => self.now.saturating_add(ticks),
            Move::Edge(windows, ticks) => off(edge(&params, self.now, windows), ticks),
            Move::Idle(times) => self.now.saturating_add(span.saturating_mul(times)),
            Move::Retry(ticks) => off(self.retry, ticks),
            Move::Reset(ticks) => off(self.reset, ticks),
            Move::Back(ticks) => self.now.saturating_sub(ticks),
            Move::BackPart(part) => self.now.saturating_sub(span / 8 * part),
        };
        self.now = now.min(self.last);
        let cost = match units {
            Units::Exactly(cost) => cost,
            Units::Quota(more) => quota.saturating_add(more),
            Units::Part(part) => u64::try_from(u128::from(quota) * u128::from(part)).unwrap().div_ceil(8),
            Units::Remaining(more) => self.remaining.saturating_add(more),
            Units::Same => self.cost,
        };
        let clock = self.model.clock(self.now);
        let decision = self.model.ask(self.now, cost);
        self.retry = decision.retry_after().map_or(self.retry, |wait| clock + wait);
        self.reset = clock + decision.reset_after;
        self.remaining = decision.remaining;
        self.cost = cost;
        Step { now: self.now, cost }
    }
}

/// The edge after so many others that come after `now`.
fn edge(params: &Params, now: u64, windows: u64) -> u64 {
    if let Params::EndingWindow(p) = params
        && let Edges::Calendar(calendar) = p.edges
    {
        return (0..=windows).fold(now, |at, _| calendar.window(at).1);
    }
    let window = window(params);
    (now / window + windows + 1).saturating_mul(window)
}

/// The distance of the edges that a walk looks for.
fn window(params: &Params) -> u64 {
    match params {
        Params::FixedWindow(p) => p.window,
        Params::EndingWindow(p) => p.longest(),
        Params::SlidingWindowLog(p) => p.window,
        Params::SlidingWindowCounter(p) => p.window,
        Params::TokenBucket(p) => p.period.div_ceil(p.refill.max(1)),
        Params::LeakyBucket(p) => p.period.div_ceil(p.rate.max(1)),
    }
}

/// The same steps with a clock that stands still where it stepped back.
#[must_use]
pub fn forwards(steps: &[Step]) -> Vec<Step> {
    let mut clock = 0;
    let forwards = |step: &Step| {
        clock = step.now.max(clock);
        Step { now: clock, cost: step.cost }
    };
    steps.iter().map(forwards).collect()
}
