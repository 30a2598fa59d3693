//! The most frequent of many things, in bounded memory: the counters of Misra and Gries, halved in one go when they are full.

use std::collections::HashMap;
use std::hash::Hash;

pub(super) struct Frequent<T> {
    counts: HashMap<T, u64>,
    capacity: usize,
    missed: u64,
}

impl<T: Clone + Eq + Hash + Ord> Frequent<T> {
    /// Counts up to `capacity` things exactly.
    pub(super) fn new(capacity: usize) -> Self {
        Self { counts: HashMap::new(), capacity, missed: 0 }
    }

    pub(super) fn add(&mut self, thing: &T) {
        if let Some(count) = self.counts.get_mut(thing) {
            *count = count.saturating_add(1);
            return;
        }
        if self.counts.len() >= self.capacity {
            self.halve();
        }
        self.counts.insert(thing.clone(), 1);
    }

    /// Takes the middle count from all and forgets those that have nothing left.
    fn halve(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let middle = counts.len() / 2;
        if middle == 0 {
            return;
        }
        let (_, &mut middle, _) = counts.select_nth_unstable(middle);
        self.missed = self.missed.saturating_add(middle);
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(middle);
            *count > 0
        });
    }

    /// By how much a count may be too low; of what is not there at all, too.
    pub(super) const fn missed(&self) -> u64 {
        self.missed
    }

    /// The most frequent, with their counts.
    pub(super) fn top(&self, number: usize) -> Vec<(&T, u64)> {
        let mut all: Vec<(&T, u64)> = self.counts.iter().map(|(thing, &count)| (thing, count)).collect();
        all.sort_unstable_by(|(thing, count), (other, others)| others.cmp(count).then(thing.cmp(other)));
        all.truncate(number);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Frequent;

    #[test]
    fn it_is_exact_while_there_is_room() {
        let mut frequent = Frequent::new(3);
        [3, 1, 2, 3, 2, 3].iter().for_each(|thing| frequent.add(thing));
        assert_eq!((frequent.top(2), frequent.missed()), (vec![(&3, 3), (&2, 2)], 0));
    }

    #[test]
    fn what_is_frequent_stays_among_more_than_there_is_room_for() {
        let mut frequent = Frequent::new(100);
        for number in 0..100_000_u32 {
            frequent.add(&if number % 10 == 0 { 7 } else { 1_000_000 + number });
            assert!(frequent.counts.len() <= 100);
        }
        let top = frequent.top(1);
        let (&thing, count) = top[0];
        assert_eq!(thing, 7);
        assert!(count <= 10_000 && count + frequent.missed() >= 10_000, "{count} and {}", frequent.missed());
        // No more than the textbook's bound: all that was counted, over half of the counters.
        assert!(frequent.missed() <= 100_000 / 50, "{}", frequent.missed());
    }
}
