//! A hash table whose slots lie in the order of their keys' hashes.
//!
//! The place a key asks for is its hash scaled to the number of places, so that the order of the places is the order of the
//! hashes, and a key that finds its place taken lies as near behind it as that order allows (linear probing in the
//! manner of Robin Hood). A search ends at the first slot whose hash is past; a removal closes the gap, so there are no
//! tombstones; any number of places will do, so the table grows by a quarter and not by doubling; and growing is one walk
//! from front to back.

use crate::fingerprint::Fingerprint;
use crate::slot::{SLOT_BYTES, Slot};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The places, and some room behind the last of them for what is displaced from there.
    slots: Vec<Slot>,
    /// Places that keys ask for; the length of `slots` is larger.
    places: usize,
    /// Keys in the table.
    len: usize,
}

/// The share of the places that may be taken: seven eighths.
pub(crate) const fn most_keys(places: usize) -> usize {
    places - places.div_ceil(8)
}

/// The least number of places that holds `keys` keys.
pub(crate) const fn places_for(keys: usize) -> usize {
    keys.saturating_add(keys.div_ceil(7))
}

/// Slots behind the last place. Longer displacements are rare, and then some more are added.
pub(crate) const fn margin(places: usize) -> usize {
    let margin = 4 + places / 16;
    if margin > 64 { 64 } else { margin }
}

/// Bytes of a table with that many places.
pub(crate) const fn table_bytes(places: usize) -> usize {
    if places == 0 { 0 } else { (places + margin(places)) * SLOT_BYTES }
}

impl Table {
    /// Keys in the table.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Places of the table.
    pub(crate) const fn places(&self) -> usize {
        self.places
    }

    /// Bytes allocated.
    pub(crate) const fn bytes(&self) -> usize {
        self.slots.capacity() * SLOT_BYTES
    }

    /// The slots in order, empty ones included.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The slots in order, to change everything but their keys.
    pub(crate) fn slots_mut(&mut self) -> &mut [Slot] {
        &mut self.slots
    }

    /// The slot at `index`; an empty one where there is none.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Slot {
        self.slots.get(index).copied().unwrap_or(Slot::EMPTY)
    }

    /// The slot at `index`, to change everything but its key.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Slot> {
        self.slots.get_mut(index)
    }

    /// Replaces the slot at `index` by another of the same key.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, slot: Slot) {
        if let Some(held) = self.slots.get_mut(index) {
            *held = slot;
        }
    }

    /// The place that a key of this order asks for.
    #[inline]
    pub(crate) fn home(&self, order: u64) -> usize {
        home(order, self.places)
    }

    /// Where `key` is, or else where it would have to be inserted.
    #[inline]
    pub(crate) fn find(&self, key: &Fingerprint) -> Result<usize, usize> {
        let mut index = self.home(key.order);
        while let Some(slot) = self.slots.get(index) {
            if slot.order() <= key.order {
                if slot.order() < key.order {
                    break;
                }
                if slot.is_of(key) {
                    return Ok(index);
                }
            }
            index += 1;
        }
        Err(index)
    }

    /// Inserts a slot whose key is not in the table, and says where. Places must be left.
    pub(crate) fn insert(&mut self, slot: Slot) -> usize {
        let (Ok(index) | Err(index)) = self.find(&slot.key());
        let gap = self.slots.iter().skip(index).position(Slot::is_empty);
        let gap = gap.map_or(self.slots.len(), |offset| index + offset);
        if gap == self.slots.len() {
            self.slots.reserve_exact(16);
            self.slots.resize(gap + 16, Slot::EMPTY);
        }
        self.slots.copy_within(index..gap, index + 1);
        self.slots[index] = slot;
        self.len += 1;
        index
    }

    /// Empties the slot at `index`; those that were displaced by it move up.
    pub(crate) fn remove(&mut self, index: usize) {
        let end = self.slots.iter().enumerate().skip(index + 1);
        let mut end = end.skip_while(|(i, slot)| !slot.is_empty() && self.home(slot.order()) < *i);
        let end = end.next().map_or(self.slots.len(), |(i, _)| i);
        self.slots.copy_within(index + 1..end, index);
        self.slots[end - 1] = Slot::EMPTY;
        self.len -= 1;
    }

    /// Moves the slots that `keep` keeps, as changed by it, to a table of `places` places, which must hold them.
    pub(crate) fn rebuild(&mut self, places: usize, mut keep: impl FnMut(&mut Slot) -> bool) {
        let mut slots: Vec<Slot> = Vec::new();
        if places > 0 {
            slots.reserve_exact(places + margin(places));
        }
        let mut len = 0;
        for slot in &self.slots {
            let mut slot = *slot;
            if slot.is_empty() || !keep(&mut slot) {
                continue;
            }
            let home = home(slot.order(), places);
            if slots.len() < home {
                slots.resize(home, Slot::EMPTY);
            }
            slots.push(slot);
            len += 1;
        }
        let length = if places == 0 { 0 } else { places + margin(places) };
        slots.resize(length.max(slots.len()), Slot::EMPTY);
        *self = Self { slots, places, len };
    }
}

/// The order scaled to the places, the highest order first.
#[inline]
fn home(order: u64, places: usize) -> usize {
    let scaled = u128::from(!order) * (places as u128);
    usize::try_from(scaled >> 64).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
