//! States that do not fit into a slot, by number.

use cupo_core::algorithm::sliding_window_log::{Entry, State as Log};
use cupo_core::{Change, Limit, State};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Heap {
    cells: Vec<Option<State>>,
    free: Vec<usize>,
    /// What the states themselves have on the heap.
    state_bytes: usize,
}

/// About what a new log takes: its cell and its first entries.
pub(crate) const NEW_LOG_BYTES: usize = size_of::<Option<State>>() + 4 * size_of::<Entry>();

impl Heap {
    /// Bytes allocated.
    pub(crate) const fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Option<State>>()
            + self.free.capacity() * size_of::<usize>()
            + self.state_bytes
    }

    /// The state with that number.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&State> {
        self.cells.get(number)?.as_ref()
    }

    /// Keeps a state and says under which number.
    pub(crate) fn insert(&mut self, state: State) -> usize {
        self.state_bytes += own_bytes(&state);
        if let Some(number) = self.free.pop()
            && let Some(cell) = self.cells.get_mut(number)
        {
            *cell = Some(state);
            return number;
        }
        if self.cells.len() == self.cells.capacity() {
            self.cells.reserve_exact(8 + self.cells.len() / 8);
        }
        self.cells.push(Some(state));
        self.cells.len() - 1
    }

    /// Drops the state with that number.
    pub(crate) fn remove(&mut self, number: usize) {
        if let Some(state) = self.cells.get_mut(number).and_then(Option::take) {
            self.state_bytes -= own_bytes(&state);
            self.free.push(number);
        }
    }

    /// Carries out `change` on a log. One that would have to grow to more than `most` entries, or past `spare` bytes, first
    /// makes room within itself; returns whether it had to.
    pub(crate) fn append(
        &mut self,
        number: usize,
        limit: &Limit,
        change: Change,
        spare: usize,
        most: usize,
    ) -> bool {
        let Some(cell) = self.cells.get_mut(number) else { return false };
        let before = cell.as_ref().map_or(0, own_bytes);
        let mut coarsened = false;
        if let Some(State::SlidingWindowLog(log)) = cell {
            let length = log.entries().len();
            let would_grow = length * size_of::<Entry>() >= log.heap_bytes();
            if length >= most || (would_grow && log.heap_bytes() > spare) {
                *log = coarser(log);
                coarsened = true;
            }
        }
        limit.apply(cell, change);
        // A log that was refunded to nothing keeps its cell.
        cell.get_or_insert_with(|| State::SlidingWindowLog(Log::default()));
        self.state_bytes = self.state_bytes - before + cell.as_ref().map_or(0, own_bytes);
        coarsened
    }

    /// Whether more than half of the cells are free, so that [`moved_to`](Self::moved_to) is worth it.
    pub(crate) const fn is_sparse(&self) -> bool {
        self.free.len() * 2 > self.cells.len()
    }

    /// Moves a state to another heap; its number there, or `None` where there was none.
    pub(crate) fn moved_to(&mut self, other: &mut Self, number: usize) -> Option<usize> {
        self.cells.get_mut(number).and_then(Option::take).map(|state| other.insert(state))
    }
}

/// The same log with two entries made one, at the later time of both: it never admits more than the exact log, it makes
/// some wait a little longer, and it needs half the memory.
fn coarser(log: &Log) -> Log {
    let mut pairs: Vec<Entry> = Vec::with_capacity(log.entries().len().div_ceil(2));
    for (i, entry) in log.entries().enumerate() {
        match pairs.last_mut() {
            Some(last) if i % 2 == 1 => *last = Entry { at: entry.at, cost: last.cost + entry.cost },
            _ => pairs.push(entry),
        }
    }
    Log::from_entries(pairs)
}

fn own_bytes(state: &State) -> usize {
    match state {
        State::SlidingWindowLog(log) => log.heap_bytes(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use cupo_core::{Limit, State, Timestamp};
    use proptest::prelude::{prop_assert, proptest};

    use super::{Heap, Log, coarser, own_bytes};

    proptest! {
        #[test]
        fn a_coarser_log_never_admits_what_the_exact_one_denies(
            gaps in proptest::collection::vec((0_u64..40, 1_u64..3), 1..60), later in 0_u64..200,
        ) {
            let limit = Limit::sliding_window_log(20, Duration::from_micros(100)).unwrap();
            let (mut exact, mut now) = (None, 1_000);
            for (gap, cost) in gaps {
                now += gap;
                let (_, change) = limit.decide(exact.as_ref(), Timestamp::from_micros(now), cost);
                limit.apply(&mut exact, change);
            }
            let Some(State::SlidingWindowLog(log)) = &exact else { return Ok(()) };
            let coarse = State::SlidingWindowLog(coarser(log));
            let now = Timestamp::from_micros(now + later);
            let left = |state: &State| limit.decide(Some(state), now, 0).0.remaining;
            let exact = State::SlidingWindowLog(log.clone());
            prop_assert!(left(&coarse) <= left(&exact));
            prop_assert!(limit.expires_at(&coarse) == limit.expires_at(&exact));
        }
    }

    #[test]
    fn bytes_are_counted_through_growth_and_removal() {
        let limit = Limit::sliding_window_log(100, Duration::from_secs(1)).unwrap();
        let mut heap = Heap::default();
        let number = heap.insert(State::SlidingWindowLog(Log::default()));
        for at in 0..100 {
            let (_, change) = limit.decide(heap.get(number), Timestamp::from_micros(at), 1);
            assert!(!heap.append(number, &limit, change, usize::MAX, usize::MAX));
            assert_eq!(heap.state_bytes, own_bytes(heap.get(number).unwrap()));
        }
        assert!(heap.state_bytes >= 1_600);
        heap.remove(number);
        heap.remove(number);
        assert_eq!((heap.state_bytes, heap.free.len()), (0, 1));
        assert_eq!(
            heap.insert(State::SlidingWindowLog(Log::default())),
            number,
            "a free number is used again"
        );
    }

    #[test]
    fn without_spare_bytes_a_log_stays_as_large_as_it_is() {
        let limit = Limit::sliding_window_log(1_000, Duration::from_secs(1)).unwrap();
        let mut heap = Heap::default();
        let number = heap.insert(State::SlidingWindowLog(Log::default()));
        for at in 0..1_000 {
            let (decision, change) = limit.decide(heap.get(number), Timestamp::from_micros(at), 1);
            assert!(decision.is_admitted(), "merging loses no units and invents none");
            heap.append(number, &limit, change, 100, usize::MAX);
            assert!(heap.state_bytes <= 256);
        }
        let (decision, _) = limit.decide(heap.get(number), Timestamp::from_micros(1_000), 1);
        assert!(!decision.is_admitted());
    }
}
