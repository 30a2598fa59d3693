//! Sliding window log: at most L units in any interval of W ticks, exactly.
//!
//! Remembers every admitted request of the last W ticks; an entry of age exactly W is gone. Admits when the live cost
//! plus `cost` is at most L. Requests of the same tick share an entry, so a log holds at most `min(L, W)` of them, 16
//! bytes each in a buffer that doubles as it grows. Time is O(expired + 1) for an admission and O(entries that must expire) for the wait of a denial.

use std::collections::VecDeque;

use super::decision;
use crate::decision::{Decision, Verdict};

/// The numbers of a sliding window log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Params {
    /// L: units per window.
    pub count: u64,
    /// W: the window's length in ticks, above 0.
    pub window: u64,
}

/// Units admitted at one tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The tick.
    pub at: u64,
    /// The units; 0 only of an entry that was given back.
    pub cost: u64,
}

/// The admitted requests, oldest first, and the sum of their costs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct State {
    entries: VecDeque<Entry>,
    total: u64,
}

impl State {
    /// A log of these entries, which must be in order of time.
    #[must_use]
    pub fn from_entries(entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries: VecDeque<Entry> = entries.into_iter().collect();
        let total = entries.iter().fold(0, |sum: u64, e| sum.saturating_add(e.cost));
        Self { entries, total }
    }

    /// The entries, oldest first; some may have expired.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry> + '_ {
        self.entries.iter().copied()
    }

    /// Bytes of heap memory in use.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.entries.capacity().saturating_mul(size_of::<Entry>())
    }

    /// Takes units that were charged at a tick out of the log again; nothing where they have left it.
    ///
    /// An entry inside the log stays, worth nothing, until it expires: taking it out would cost O(count).
    pub fn refund(&mut self, entry: Entry) {
        let index = self.entries.partition_point(|e| e.at < entry.at);
        let Some(found) = self.entries.get_mut(index).filter(|found| found.at == entry.at) else { return };
        let given = entry.cost.min(found.cost);
        found.cost = found.cost.saturating_sub(given);
        self.total = self.total.saturating_sub(given);
        while self.entries.back().is_some_and(|newest| newest.cost == 0) {
            self.entries.pop_back();
        }
    }

    /// Takes `units` out of the newest entries.
    pub fn take_newest(&mut self, mut units: u64) {
        while let Some(newest) = self.entries.back_mut() {
            let taken = units.min(newest.cost);
            units = units.saturating_sub(taken);
            newest.cost = newest.cost.saturating_sub(taken);
            self.total = self.total.saturating_sub(taken);
            if newest.cost > 0 {
                return;
            }
            self.entries.pop_back();
        }
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Drops what has expired at the entry's tick and adds the entry.
    pub fn append(&mut self, params: &Params, entry: Entry) {
        while let Some(oldest) = self.entries.front().copied() {
            if oldest.at.saturating_add(params.window) > entry.at {
                break;
            }
            self.entries.pop_front();
            self.total = self.total.saturating_sub(oldest.cost);
        }
        match self.entries.back_mut() {
            Some(newest) if newest.at == entry.at => newest.cost = newest.cost.saturating_add(entry.cost),
            _ => self.entries.push_back(entry),
        }
        self.total = self.total.saturating_add(entry.cost);
        // A burst must not pin its memory for ever.
        if self.entries.capacity() > 16 && self.entries.len() < self.entries.capacity() / 4 {
            self.entries.shrink_to(self.entries.len().saturating_mul(2));
        }
    }
}

/// Decides a request of `cost` units at tick `now`; the entry to append, or `None` where nothing changes.
#[must_use]
pub fn decide(params: &Params, state: Option<&State>, now: u64, cost: u64) -> (Decision<u64>, Option<Entry>) {
    let Params { count: limit, window } = *params;
    let newest = state.and_then(|s| s.entries.back()).map(|e| e.at);
    let now = newest.map_or(now, |seen| now.max(seen));
    let leaves_in = |e: &Entry| e.at.saturating_add(window).saturating_sub(now);

    let (mut live, mut expired) = (0, 0);
    if let Some(state) = state {
        live = state.total;
        for entry in state.entries.iter().take_while(|e| leaves_in(e) == 0) {
            live = live.saturating_sub(entry.cost);
            expired = usize::saturating_add(expired, 1);
        }
    }
    let after = live.saturating_add(cost);
    let verdict = if cost == 0 || after <= limit {
        Verdict::Admit
    } else if cost > limit {
        Verdict::Impossible
    } else {
        let mut must_leave = live.saturating_sub(limit.saturating_sub(cost));
        let mut retry_after = window;
        for entry in state.into_iter().flat_map(|s| s.entries.iter().skip(expired)) {
            retry_after = leaves_in(entry);
            must_leave = must_leave.saturating_sub(entry.cost);
            if must_leave == 0 {
                break;
            }
        }
        Verdict::Deny { retry_after }
    };
    let append = (verdict.is_admit() && cost > 0).then_some(Entry { at: now, cost });
    let (charged, reset_after) = match append {
        Some(_) => (after, window),
        None if live == 0 => (0, 0),
        None => (live, newest.unwrap_or(now).saturating_add(window).saturating_sub(now)),
    };
    (decision(verdict, limit, limit.saturating_sub(charged), reset_after), append)
}

/// How much of the newest entries has to go so that `units` are given back at tick `now`, whoever used them: what would have
/// counted longest.
#[must_use]
pub fn grant(params: &Params, state: &State, now: u64, units: u64) -> u64 {
    let Params { count: limit, window } = *params;
    let now = state.entries.back().map_or(now, |newest| now.max(newest.at));
    let expired = state.entries.iter().take_while(|e| e.at.saturating_add(window) <= now);
    let live = expired.fold(state.total, |live, entry| live.saturating_sub(entry.cost));
    if units == 0 {
        return 0;
    }
    live.saturating_sub(live.min(limit).saturating_sub(units))
}

/// The tick at which the newest entry leaves: from then on the state decides like no state.
#[must_use]
pub fn expires_at(params: &Params, state: &State) -> u64 {
    state.entries.back().map_or(0, |newest| newest.at.saturating_add(params.window))
}
