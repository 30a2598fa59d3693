//! Moving what is counted under one key to another.

use cupo_core::{Limit, Timestamp};

use super::{Item, Others, Shard};
use crate::fingerprint::{Fingerprint, Seed};
use crate::slot::Held;

impl Shard {
    /// Removes a key of which something still counts, and says how many units. A key that shares a group has nothing of its own.
    pub(crate) fn take(&mut self, key: &Fingerprint, limit: &Limit, now: Timestamp) -> Option<u64> {
        let index = self.keys.find(key).ok()?;
        let used = match self.keys.get(index).held(limit.resolution())? {
            Held::Inline(state) => limit.used(Some(&state), now),
            Held::OnHeap(number) => limit.used(self.heap.get(number), now),
        };
        (used > 0).then(|| self.drop_key(index))?;
        Some(used)
    }

    /// Charges an item so many units, as far as there is room.
    pub(crate) fn charge(&mut self, item: &Item<'_>, units: u64, now: Timestamp, seed: &Seed) {
        let room = self.plan(item, now, seed, Others::default()).decision.remaining;
        let item = Item { cost: units.min(room), ..*item };
        let plan = self.plan(&item, now, seed, Others::default());
        self.commit(&item, &plan, now);
    }
}
