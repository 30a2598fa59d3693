//! A naive reference model: a list of past requests, the definition of the algorithm, and nothing clever.
//!
//! An algorithm is defined by one question, `fits`: given everything that was admitted, does a request of this cost
//! have room at this tick? It is answered in [`definition`] from the whole list. All else follows from it by
//! searching: `remaining` is the largest cost that fits, `retry_after` the smallest wait after which the request fits,
//! `reset_after` the smallest wait after which the whole quota fits, and a request is impossible if it does not fit a
//! limit that nothing was ever admitted by.
//!
//! Integers are `i128`: ticks, units and parameters are below 2^53 and costs below 2^64, so the largest product is
//! below 2^117 and a thousand of them can be added; a big-integer dependency would buy nothing. Overflow panics in the
//! profile that tests are built in.

pub mod definition;

use cupo_core::{Algorithm, Decision, Params, State, Verdict};

/// A request that was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The tick it was admitted at.
    pub at: i128,
    /// The units it took, above 0.
    pub cost: i128,
}

/// One limit, and everything that it admitted.
#[derive(Debug, Clone)]
pub struct Model {
    params: Params,
    history: Vec<Entry>,
    /// What the state remembers of the clock: the start of the last admission's window, or its tick.
    seen: Option<i128>,
}

impl Model {
    /// A limit that has admitted nothing yet.
    #[must_use]
    pub const fn new(params: Params) -> Self {
        Self { params, history: Vec::new(), seen: None }
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Everything that was admitted, in order.
    #[must_use]
    pub fn history(&self) -> &[Entry] {
        &self.history
    }

    /// The key's clock when the caller's shows `now`: it never runs backwards.
    #[must_use]
    pub fn clock(&self, now: u64) -> u64 {
        ticks(i128::from(now).max(self.seen.unwrap_or(0)))
    }

    /// The answer to a request of `cost` units at tick `now`, which is not recorded.
    #[must_use]
    pub fn decide(&self, now: u64, cost: u64) -> Decision<u64> {
        let at = i128::from(self.clock(now));
        let cost = i128::from(cost);
        let quota = definition::quota(&self.params);
        let fits = |history: &[Entry], wait: i128, cost: i128| {
            cost == 0 || definition::fits(&self.params, history, at + wait, cost)
        };
        let verdict = if fits(&self.history, 0, cost) {
            Verdict::Admit
        } else if fits(&[], 0, cost) {
            Verdict::Deny { retry_after: ticks(smallest(|wait| fits(&self.history, wait, cost))) }
        } else {
            Verdict::Impossible
        };
        let mut after = self.history.clone();
        if verdict.is_admit() && cost > 0 {
            after.push(Entry { at, cost });
        }
        let over = smallest(|units| !(units <= quota && fits(&after, 0, units)));
        Decision {
            verdict,
            limit: ticks(quota),
            remaining: ticks(over - 1),
            reset_after: ticks(smallest(|wait| fits(&after, wait, quota))),
            delay: match verdict {
                Verdict::Admit if cost > 0 => ticks(definition::delay(&self.params, &self.history, at)),
                _ => 0,
            },
        }
    }

    /// The answer to a request of `cost` units at tick `now`, which is recorded if it is admitted and is no peek.
    pub fn ask(&mut self, now: u64, cost: u64) -> Decision<u64> {
        let decision = self.decide(now, cost);
        if decision.is_admitted() && cost > 0 {
            let at = i128::from(self.clock(now));
            self.history.push(Entry { at, cost: i128::from(cost) });
            self.seen = Some(definition::remembered(&self.params, &self.history, at));
        }
        decision
    }

    /// Takes back the admitted request number `index` of the history at tick `now`, where nobody has queued behind it
    /// and its slot has not passed; whether it did. Only the leaky bucket gives slots.
    pub fn cancel(&mut self, now: u64, index: usize) -> bool {
        let Params::LeakyBucket(params) = &self.params else { return false };
        let at = i128::from(self.clock(now));
        if index + 1 != self.history.len() {
            return false;
        }
        let (entry, before) = self.history.split_last().unwrap();
        let slot = definition::next_slot(params, before).max(entry.at * i128::from(params.rate));
        if slot < at * i128::from(params.rate) {
            return false;
        }
        self.history.pop();
        self.seen = Some(at);
        true
    }

    /// The state that sums the history up, by the documents of its fields; `None` if nothing was admitted.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        self.seen.map(|seen| definition::state(&self.params, &self.history, seen))
    }

    /// The algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.params.algorithm()
    }
}

/// The smallest number from 0 for which `holds`, which must stay true once it is: by doubling and halving, and for
/// small answers verified by counting.
fn smallest(holds: impl Fn(i128) -> bool) -> i128 {
    if holds(0) {
        return 0;
    }
    let (mut fails, mut works) = (0, 1);
    while !holds(works) {
        (fails, works) = (works, works * 2);
        assert!(works < 1 << 66, "no number holds");
    }
    while works - fails > 1 {
        let middle = i128::midpoint(fails, works);
        *(if holds(middle) { &mut works } else { &mut fails }) = middle;
    }
    if works <= 16 {
        assert_eq!((0..).find(|&n| holds(n)), Some(works), "not monotone");
    }
    works
}

fn ticks(n: i128) -> u64 {
    u64::try_from(n).unwrap()
}
