//! Room in a shard: growing, shrinking, reclaiming what is at rest, and what happens when the budget is spent.

use cupo_core::{Algorithm, Limit, Timestamp};

use super::{Item, Place, Shard};
use crate::fingerprint::{Fingerprint, Seed};
use crate::heap::{Heap, NEW_LOG_BYTES};
use crate::slot::{Pressure, Slot};
use crate::stats::Stats;
use crate::table::{most_keys, places_for, table_bytes};

/// Keys at the hand of the clock among which one is chosen that gives way. A number of keys and not of slots: where more
/// keys lie, more are looked at, so that the table stays evenly filled.
const REACH: usize = 32;

/// Slots that each insertion sweeps.
const SWEEP: usize = 4;

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
        let Self { keys, heap, horizon, counts, .. } = self;
        keys.rebuild(places, |slot| keep(slot, now, heap, horizon, counts));
        self.hand = 0;
        self.pack_heap();
    }

    /// Gives back the cells of the heap if most of them are free.
    fn pack_heap(&mut self) {
        if !self.heap.is_sparse() {
            return;
        }
        let mut packed = Heap::default();
        for slot in self.keys.slots_mut().iter_mut().chain(self.groups.slots_mut()) {
            if let Some(number) =
                slot.heap_number().and_then(|number| self.heap.moved_to(&mut packed, number))
            {
                slot.renumber(number);
            }
        }
        self.heap = packed;
    }

    /// Reclaims what is at rest in the next few slots. A round of the table ends with giving back memory.
    pub(super) fn sweep_some(&mut self, now: Timestamp) {
        let now = seconds(now);
        for _ in 0..SWEEP {
            let slot = self.keys.get(self.hand);
            if !slot.is_empty() && slot.is_at_rest(now) {
                self.count_loss(slot, now);
                self.drop_key(self.hand);
            } else {
                self.hand += 1;
            }
        }
        if self.hand >= self.keys.slots().len() {
            self.hand = 0;
            self.shrink(self.keys.len(), now);
        }
    }

    /// The slots of the next keys at the hand, and where the hand is when it has passed them. At the end of the table they
    /// are the last keys of it: among only a few, one would have to go that elsewhere could stay.
    fn at_hand(&self) -> (&[Slot], usize) {
        let slots = self.keys.slots();
        let rest = slots.get(self.hand..).unwrap_or_default();
        if let Some((last, _)) = nth_key(rest.iter().enumerate(), REACH) {
            let end = self.hand + last + 1;
            return (slots.get(self.hand..end).unwrap_or_default(), end);
        }
        let start = nth_key(slots.iter().enumerate().rev(), REACH).map_or(0, |(first, _)| first);
        (slots.get(start..).unwrap_or_default(), slots.len())
    }

    /// Moves the hand past the keys that it was at.
    pub(super) fn move_hand(&mut self) {
        let (_, end) = self.at_hand();
        self.hand = if end >= self.keys.slots().len() { 0 } else { end };
    }

    /// Reclaims all that is at rest, and gives back memory.
    pub(crate) fn sweep(&mut self, now: Timestamp) {
        let now = seconds(now);
        let live = self.keys.len() - self.at_rest(now);
        if !self.shrink(live, now) && live < self.keys.len() {
            self.rebuild(self.keys.places(), now);
        }
        let live = self.groups.slots().iter().filter(|s| !s.is_empty() && !s.is_at_rest(now)).count();
        if live < self.groups.len() {
            let Self { groups, heap, horizon, counts, .. } = self;
            groups.rebuild(places_for(live), |slot| keep(slot, now, heap, horizon, counts));
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
        match weakest(self.at_hand().0, seconds(now), gives_way) {
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
        self.move_hand();
        if let Ok(index) = self.keys.find(victim) {
            self.count_loss(self.keys.get(index), seconds(now));
            self.drop_key(index);
        }
    }

    /// Makes room for one more group. Only more limits at once than there is room for make one forget another.
    pub(super) fn make_room_for_group(&mut self, now: Timestamp) {
        let places = self.groups.places();
        if self.groups.len() < most_keys(places) {
            return;
        }
        let most = places_for(self.share.groups);
        if places < most {
            self.groups.rebuild((places + places / 4).max(FEWEST_PLACES).min(most), |_| true);
        } else if let Some(victim) = weakest(self.groups.slots(), seconds(now), |_| true)
            && let Ok(index) = self.groups.find(&victim.key())
        {
            self.count_loss(victim, seconds(now));
            if let Some(number) = victim.heap_number() {
                self.heap.remove(number);
            }
            self.groups.remove(index);
        }
    }

    fn count_loss(&mut self, slot: Slot, now: u64) {
        if slot.is_at_rest(now) {
            note_reclaimed(&slot, &mut self.horizon, &mut self.counts);
        } else {
            self.counts.evicted_alive += 1;
        }
    }
}

/// Whether a slot moves along to another table; what it has in the heap goes with it otherwise.
fn keep(slot: &Slot, now: u64, heap: &mut Heap, horizon: &mut u64, counts: &mut Stats) -> bool {
    if !slot.is_at_rest(now) {
        return true;
    }
    if let Some(number) = slot.heap_number() {
        heap.remove(number);
    }
    note_reclaimed(slot, horizon, counts);
    false
}

fn note_reclaimed(slot: &Slot, horizon: &mut u64, counts: &mut Stats) {
    counts.reclaimed += 1;
    *horizon = slot.rests_at().saturating_sub(1).max(*horizon);
}

/// The slot of the `n`th key, counted from 1.
fn nth_key<'a>(slots: impl Iterator<Item = (usize, &'a Slot)>, n: usize) -> Option<(usize, &'a Slot)> {
    slots.filter(|(_, slot)| !slot.is_empty()).nth(n - 1)
}

/// Of the keys that may give way, the one that loses least: at rest, else pressed least, else soonest at rest.
fn weakest(slots: &[Slot], now: u64, gives_way: impl Fn(&Slot) -> bool) -> Option<Slot> {
    let keys = slots.iter().filter(|slot| !slot.is_empty() && gives_way(slot));
    keys.min_by_key(|slot| (!slot.is_at_rest(now), slot.pressure(), slot.rests_at())).copied()
}

/// Whole seconds, rounded down: never later than it is.
const fn seconds(now: Timestamp) -> u64 {
    now.as_micros() / 1_000_000
}
