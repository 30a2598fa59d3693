//! Counts over time, in at most so many stretches of equal length, however long it is: when they do not suffice any more, they
//! are joined to longer ones.

use std::collections::VecDeque;

use super::balance::Balance;

/// What happened in one stretch.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) requests: u64,
    pub(super) policies: Box<[PolicyCell]>,
}

#[derive(Debug, Clone)]
pub(super) struct PolicyCell {
    pub(super) denied: u64,
    pub(super) by_rule: Box<[u64]>,
    pub(super) balances: Box<[Balance]>,
}

impl Cell {
    fn merge(&mut self, later: &Self) {
        self.requests = self.requests.saturating_add(later.requests);
        for (own, later) in self.policies.iter_mut().zip(&later.policies) {
            own.denied = own.denied.saturating_add(later.denied);
            for (own, later) in own.by_rule.iter_mut().zip(&later.by_rule) {
                *own = own.saturating_add(*later);
            }
            for (own, later) in own.balances.iter_mut().zip(&later.balances) {
                own.merge(*later);
            }
        }
    }
}

/// Stretches of one timeline at most, and of those of all policies together.
const FINEST: usize = 500;
const TOGETHER: usize = 800;

pub(super) struct Timeline {
    blank: Cell,
    most: usize,
    /// Microseconds of a stretch.
    width: u64,
    /// How many stretches lie between the epoch and the first.
    base: u64,
    cells: VecDeque<Cell>,
}

const MILLISECOND: u64 = 1_000;
const SECOND: u64 = 1_000 * MILLISECOND;
const DAY: u64 = 86_400 * SECOND;

/// Lengths that people have names for. Each is a multiple of the one before.
const WIDTHS: [u64; 18] = [
    MILLISECOND,
    5 * MILLISECOND,
    10 * MILLISECOND,
    50 * MILLISECOND,
    100 * MILLISECOND,
    500 * MILLISECOND,
    SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    60 * SECOND,
    300 * SECOND,
    600 * SECOND,
    1_800 * SECOND,
    3_600 * SECOND,
    10_800 * SECOND,
    43_200 * SECOND,
    DAY,
];

fn wider(width: u64) -> u64 {
    WIDTHS.into_iter().find(|&other| other > width).unwrap_or_else(|| width.saturating_mul(2))
}

impl Timeline {
    /// For policies with so many rules each, and so many keys whose balance is watched.
    pub(super) fn new(rules: &[usize], watches: usize) -> Self {
        let policies = rules.iter().map(|&rules| PolicyCell {
            denied: 0,
            by_rule: vec![0; rules].into(),
            balances: vec![Balance::default(); watches].into(),
        });
        let blank = Cell { requests: 0, policies: policies.collect() };
        // The page stays small with many policies, too.
        let most = TOGETHER.checked_div(rules.len()).unwrap_or(FINEST).min(FINEST);
        Self { blank, most, width: MILLISECOND, base: 0, cells: VecDeque::new() }
    }

    /// The stretch that an instant is in.
    pub(super) fn at(&mut self, micros: u64) -> &mut Cell {
        if self.cells.is_empty() {
            self.base = micros / self.width;
        }
        let mut at = micros / self.width;
        while self.needed(at) > u64::try_from(self.most).unwrap_or(u64::MAX) {
            self.widen();
            at = micros / self.width;
        }
        while at < self.base {
            self.cells.push_front(self.blank.clone());
            self.base = self.base.saturating_sub(1);
        }
        let index = usize::try_from(at.saturating_sub(self.base)).unwrap_or(usize::MAX);
        while self.cells.len() <= index {
            self.cells.push_back(self.blank.clone());
        }
        // The index is in bounds: so many have just been added.
        &mut self.cells[index]
    }

    /// How many stretches there have to be for this one to be among them.
    fn needed(&self, at: u64) -> u64 {
        let length = u64::try_from(self.cells.len()).unwrap_or(u64::MAX).max(1);
        let last = self.base.saturating_add(length).saturating_sub(1).max(at);
        last.saturating_sub(self.base.min(at)).saturating_add(1)
    }

    fn widen(&mut self) {
        let width = wider(self.width);
        let factor = width.checked_div(self.width).unwrap_or(2);
        let mut joined: VecDeque<Cell> = VecDeque::new();
        let mut current = None;
        for (cell, number) in self.cells.drain(..).zip(self.base..) {
            let into = number.checked_div(factor);
            match joined.back_mut() {
                Some(last) if current == into => last.merge(&cell),
                _ => joined.push_back(cell),
            }
            current = into;
        }
        (self.width, self.base, self.cells) = (width, self.base.checked_div(factor).unwrap_or(0), joined);
    }

    /// Microseconds of a stretch.
    pub(super) const fn width(&self) -> u64 {
        self.width
    }

    /// When the first stretch begins, in microseconds since the epoch.
    pub(super) const fn start(&self) -> u64 {
        self.base.saturating_mul(self.width)
    }

    pub(super) const fn cells(&self) -> &VecDeque<Cell> {
        &self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::{Timeline, WIDTHS, wider};

    #[test]
    fn each_width_is_a_multiple_of_the_one_before() {
        assert!(WIDTHS.windows(2).all(|pair| pair[1] > pair[0] && pair[1] % pair[0] == 0));
        assert_eq!(wider(wider(86_400_000_000)), 4 * 86_400_000_000);
    }

    /// Instants near and far, forwards and backwards: nothing is lost, and all is where it belongs.
    #[test]
    fn everything_is_counted_where_it_belongs() {
        let mut random = 1_u64;
        for spread in [1, 1_000, 60_000_000, 86_400_000_000, 1 << 51] {
            let mut timeline = Timeline::new(&[2], 1);
            let mut instants = Vec::new();
            for _ in 0..2_000 {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let instant = 1_795_986_000_000_000 + (random >> 13) % spread;
                timeline.at(instant).requests += 1;
                instants.push(instant);
                assert!(timeline.cells().len() <= 500);
            }
            for (cell, number) in timeline.cells().iter().zip(0..) {
                let from = timeline.start() + number * timeline.width();
                let within =
                    instants.iter().filter(|&&i| (from..from + timeline.width()).contains(&i)).count();
                assert_eq!(cell.requests, u64::try_from(within).unwrap());
            }
            assert_eq!(timeline.cells().iter().map(|cell| cell.requests).sum::<u64>(), 2_000);
        }
    }
}
