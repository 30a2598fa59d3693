//! The arrivals of every picture, and what a limit says to them. Time is in milliseconds since a window edge.

use core::time::Duration;

use cupo_core::{Limit, Timestamp};

/// Arrivals at even distances.
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    pub(crate) first: u64,
    pub(crate) every: u64,
    pub(crate) count: u64,
}

/// What arrives: every request has a cost of 1.
pub(crate) const PHASES: [Phase; 3] = [
    Phase { name: "burst across 10 s", first: 7_500, every: 500, count: 11 },
    Phase { name: "steady, 1 per second", first: 16_000, every: 1_000, count: 13 },
    Phase { name: "after idle", first: 36_000, every: 500, count: 6 },
];

/// The length of a picture, of a window, and of the step in which the balance is looked at.
pub(super) const END: u64 = 40_000;
pub(super) const WINDOW: u64 = 10_000;
const STEP: usize = 50;

/// A request and its decision.
pub(crate) struct Event {
    pub(crate) phase: usize,
    pub(crate) at: u64,
    pub(crate) admitted: bool,
    /// When an admitted request goes on: at once, or at its slot.
    pub(crate) released: u64,
}

/// What one limit says to the arrivals.
pub(crate) struct Scene {
    pub(crate) events: Vec<Event>,
    /// The balance whenever it changes: an instant and the units that remain.
    pub(super) balance: Vec<(u64, u64)>,
}

impl Scene {
    /// Asks `limit` about every arrival, and looks at the balance in between.
    pub(crate) fn play(limit: &Limit) -> Self {
        let instant = |ms: u64| Timestamp::EPOCH.after(Duration::from_millis(ms));
        let mut state = None;
        let mut scene = Self { events: Vec::new(), balance: Vec::new() };
        for now in (0..END).step_by(STEP) {
            let (peek, _) = limit.decide(state.as_ref(), instant(now), 0);
            scene.note(now, peek.remaining);
            for (phase, p) in PHASES.iter().enumerate() {
                if !(0..p.count).any(|i| p.first + i * p.every == now) {
                    continue;
                }
                let (decision, change) = limit.decide(state.as_ref(), instant(now), 1);
                limit.apply(&mut state, change);
                scene.note(now, decision.remaining);
                let released = instant(now).after(decision.delay).as_micros() / 1_000;
                scene.events.push(Event { phase, at: now, admitted: decision.is_admitted(), released });
            }
        }
        scene
    }

    fn note(&mut self, at: u64, remaining: u64) {
        if self.balance.last().is_none_or(|&(_, last)| last != remaining) {
            self.balance.push((at, remaining));
        }
    }

    /// Admitted requests of a phase.
    pub(crate) fn admitted(&self, phase: usize) -> usize {
        self.events.iter().filter(|e| e.phase == phase && e.admitted).count()
    }

    /// How many requests went on in the window of 10 s that ends at `now`, whenever that changes.
    pub(super) fn passed(&self) -> Vec<(u64, u64)> {
        let mut changes: Vec<(u64, u64)> = vec![(0, 0)];
        for now in (0..END).step_by(STEP) {
            let live = |e: &&Event| e.admitted && e.released <= now && now < e.released + WINDOW;
            let count = self.events.iter().filter(live).map(|_| 1).sum();
            if changes.last().is_none_or(|&(_, last)| last != count) {
                changes.push((now, count));
            }
        }
        changes
    }

    /// The most requests that went on in any window of 10 s.
    pub(crate) fn most_passed(&self) -> u64 {
        self.passed().iter().map(|&(_, count)| count).max().unwrap_or(0)
    }
}
