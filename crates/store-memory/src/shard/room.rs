//! Room in a shard: growing, shrinking, reclaiming what is at rest, and what happens when the budget is spent.

use core::mem;

use cupo_core::{Algorithm, Limit, Timestamp};

use super::{Item, Place, Shard};
use crate::fingerprint::{Fingerprint, Seed};
use crate::heap::{Heap, NEW_LOG_BYTES};
use crate::slot::{Pressure, Slot};
use crate::table::{Table, most_keys, places_for, table_bytes};

/// Slots around a new key's place among which one is chosen that gives way.
const REACH: usize = 32;

/// Slots that each insertion sweeps: few while there is room, more when there is none.
const SWEEP: usize = 2;
const SWEEP_WHEN_FULL: usize = 16;

/// Places of the smallest table.
const FEWEST_PLACES: usize = 8;

impl Shard {
    /// Whether a new key of `limit`, and `fresh` others, need nobody's place.
    #[inline]
    pub(super) fn has_room(&self, limit: &Limit, fresh: usize) -> bool {
        let keys = self.keys.len() + fresh;
        keys < self.share.keys
            && (keys < most_keys(self.keys.places()) || self.can_grow())
            && (limit.algorithm() != Algorithm::SlidingWindowLog || self.spare_bytes() >= NEW_LOG_BYTES)
    }

    fn next_places(&self) -> usize {
        (self.keys.places() + self.keys.places() / 4).max(FEWEST_PLACES).min(self.share.places)
    }

    fn can_grow(&self) -> bool {
        let (now, next) = (self.keys.places(), self.next_places());
        next > now && table_bytes(next) - table_bytes(now) <= self.spare_bytes()
    }

    /// Bytes that logs may still take.
    pub(super) fn spare_bytes(&self) -> usize {
        let groups = self.groups.bytes().max(self.share.group_bytes());
        self.share.bytes.saturating_sub(self.keys.bytes() + groups + self.heap.bytes())
    }

    /// Grows the table if its places are used up; what is at rest does not move along.
    pub(super) fn make_room(&mut self, now: Timestamp) {
        if self.keys.len() < most_keys(self.keys.places()) || !self.can_grow() {
            return;
        }
        let now = seconds(now);
        let live = self.keys.len() - self.at_rest(now);
        let places = self.keys.places();
        // Reclaiming has to make much room, or the next walk comes too soon.
        let places = if live < places / 8 * 5 { places } else { self.next_places() };
        self.rebuild(places, now);
    }

    fn at_rest(&self, now: u64) -> usize {
        self.keys.slots().iter().filter(|slot| !slot.is_empty() && slot.is_at_rest(now)).count()
    }

    /// Moves what is not at rest into a table of that many places.
    fn rebuild(&mut self, places: usize, now: u64) {
        let before = self.keys.len();
        let mut old_heap = mem::take(&mut self.heap);
        let mut new_heap = Heap::default();
        let move_heap = old_heap.is_sparse();
        self.keys.rebuild(places, |slot| {
            let keep = !slot.is_at_rest(now);
            match slot.heap_number() {
                Some(number) if !keep => old_heap.remove(number),
                Some(number) if move_heap => move_state(slot, &mut old_heap, &mut new_heap, number),
                _ => {}
            }
            keep
        });
        self.heap = old_heap;
        if move_heap {
            for index in 0..self.groups.slots().len() {
                if let Some(slot) = self.groups.get_mut(index)
                    && let Some(number) = slot.heap_number()
                {
                    move_state(slot, &mut self.heap, &mut new_heap, number);
                }
            }
            self.heap = new_heap;
        }
        self.counts.reclaimed += (before - self.keys.len()) as u64;
        self.cursor = 0;
    }

    /// Reclaims what is at rest in the next few slots. A round of the table ends with giving back memory.
    pub(super) fn sweep_some(&mut self, now: Timestamp) {
        let now = seconds(now);
        let full = self.keys.len() >= self.share.keys.min(most_keys(self.share.places));
        for _ in 0..if full { SWEEP_WHEN_FULL } else { SWEEP } {
            let slot = self.keys.get(self.cursor);
            if !slot.is_empty() && slot.is_at_rest(now) {
                self.drop_key(self.cursor);
                self.counts.reclaimed += 1;
            } else {
                self.cursor += 1;
            }
        }
        if self.cursor >= self.keys.slots().len() {
            self.cursor = 0;
            self.shrink(self.keys.len(), now);
        }
    }

    /// Reclaims all that is at rest, and gives back memory.
    pub(crate) fn sweep(&mut self, now: Timestamp) {
        let now = seconds(now);
        let live = self.keys.len() - self.at_rest(now);
        if !self.shrink(live, now) && live < self.keys.len() {
            self.rebuild(self.keys.places(), now);
        }
        let (before, heap) = (self.groups.len(), &mut self.heap);
        let live = self.groups.slots().iter().filter(|s| !s.is_empty() && !s.is_at_rest(now)).count();
        if live < before {
            self.groups.rebuild(places_for(live), |slot| {
                let keep = !slot.is_at_rest(now);
                if let Some(number) = slot.heap_number().filter(|_| !keep) {
                    heap.remove(number);
                }
                keep
            });
            self.counts.reclaimed += (before - live) as u64;
        }
    }

    /// Makes the table smaller if `live` keys leave most of it unused; whether it did.
    fn shrink(&mut self, live: usize, now: u64) -> bool {
        let places = self.keys.places();
        let wanted = if live == 0 { 0 } else { places_for(live + live / 4).max(FEWEST_PLACES) };
        let shrinks = wanted < places && live < places / 5 * 2;
        if shrinks {
            self.rebuild(wanted, now);
        }
        shrinks
    }

    /// Where to decide a new key when the budget is spent: in place of another, or with a group.
    #[cold]
    #[inline(never)]
    pub(super) fn place_when_full(
        &self,
        item: &Item<'_>,
        now: Timestamp,
        seed: &Seed,
        taken: &[Fingerprint],
    ) -> Place {
        let on_heap =
            item.limit.algorithm() == Algorithm::SlidingWindowLog && self.spare_bytes() < NEW_LOG_BYTES;
        let gives_way = |slot: &Slot| {
            (slot.pressure() < Pressure::ACTIVE || slot.is_at_rest(seconds(now)))
                && (!on_heap || slot.heap_number().is_some())
                && !taken.iter().any(|key| slot.is_of(key))
        };
        match self.keys.weakest_near(&item.key, seconds(now), gives_way) {
            Some(victim) => Place::Instead(victim.key()),
            None => Place::Group(self.free_group(item, seed, taken)),
        }
    }

    /// The key's group, or another one if an item of the same check has it.
    fn free_group(&self, item: &Item<'_>, seed: &Seed, taken: &[Fingerprint]) -> Fingerprint {
        let mut group = seed.of_group(item.limit, self.group_of(&item.key));
        let mut extra = self.share.groups_per_limit;
        while taken.iter().any(|key| key.same_key(&group)) {
            group = seed.of_group(item.limit, extra);
            extra += 1;
        }
        group
    }

    /// Forgets a key to make room for another.
    pub(super) fn forget(&mut self, victim: &Fingerprint, now: Timestamp) {
        if let Ok(index) = self.keys.find(victim) {
            self.count_loss(self.keys.get(index), now);
            self.drop_key(index);
        }
    }

    /// Makes room for one more group. Only more limits at once than there is room for make one forget another.
    pub(super) fn make_room_for_group(&mut self, group: &Fingerprint, now: Timestamp) {
        let places = self.groups.places();
        if self.groups.len() < most_keys(places) {
            return;
        }
        let most = places_for(self.share.groups);
        if places < most {
            self.groups.rebuild((places + places / 4).max(FEWEST_PLACES).min(most), |_| true);
        } else if let Some(victim) = self.groups.weakest_near(group, seconds(now), |_| true)
            && let Ok(index) = self.groups.find(&victim.key())
        {
            self.count_loss(victim, now);
            if let Some(number) = victim.heap_number() {
                self.heap.remove(number);
            }
            self.groups.remove(index);
        }
    }

    fn count_loss(&mut self, slot: Slot, now: Timestamp) {
        if slot.is_at_rest(seconds(now)) {
            self.counts.reclaimed += 1;
        } else {
            self.counts.evicted_alive += 1;
        }
    }
}

impl Table {
    /// Of the keys near the place of `key` that may give way, the one that loses least: at rest, else pressed least, else
    /// soonest at rest.
    fn weakest_near(&self, key: &Fingerprint, now: u64, gives_way: impl Fn(&Slot) -> bool) -> Option<Slot> {
        let slots = self.slots();
        let start = self.home(key.order).min(slots.len().saturating_sub(REACH));
        let near = slots.iter().skip(start).take(REACH).filter(|slot| !slot.is_empty() && gives_way(slot));
        near.min_by_key(|slot| (!slot.is_at_rest(now), slot.pressure(), slot.rests_at())).copied()
    }
}

fn move_state(slot: &mut Slot, from: &mut Heap, to: &mut Heap, number: usize) {
    if let Some(number) = from.moved_to(to, number) {
        slot.renumber(number);
    }
}

/// Whole seconds, rounded down: never later than it is.
const fn seconds(now: Timestamp) -> u64 {
    now.as_micros() / 1_000_000
}
