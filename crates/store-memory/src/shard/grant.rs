//! Giving units back by hand.

use cupo_core::{Limit, Timestamp};

use super::{Item, Shard};
use crate::fingerprint::Seed;
use crate::slot::{Held, Slot};

impl Shard {
    /// Gives the units of `item`'s cost back, as [`Limit::grant`] has it; what remained before, and what remains now. A key that
    /// is decided on a group gets them there.
    pub(crate) fn grant(&mut self, item: &Item<'_>, now: Timestamp, seed: &Seed) -> (u64, u64) {
        let peek = Item { cost: 0, ..*item };
        let before = self.decide(&peek, now, seed).remaining;
        if let Ok(index) = self.keys.find(&item.key) {
            let mut slot = self.keys.get(index);
            self.grant_in(&mut slot, item.limit, now, item.cost);
            self.keys.set(index, slot);
        } else {
            let group = seed.of_group(item.limit, self.group_of(&item.key));
            if let Ok(index) = self.groups.find(&group) {
                let mut slot = self.groups.get(index);
                self.grant_in(&mut slot, item.limit, now, item.cost);
                self.groups.set(index, slot);
            }
        }
        (before, self.decide(&peek, now, seed).remaining)
    }

    fn grant_in(&mut self, slot: &mut Slot, limit: &Limit, now: Timestamp, units: u64) {
        let change = match slot.held(limit.resolution()) {
            Some(Held::Inline(state)) => limit.grant(Some(&state), now, units),
            Some(Held::OnHeap(number)) => limit.grant(self.heap.get(number), now, units),
            None => return,
        };
        self.change(slot, limit, change, usize::MAX);
    }
}
