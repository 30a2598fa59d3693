//! Moving what is counted under one key to another.

use cupo_core::{CheckItem, StoreError, Timestamp};
use tokio::time::Instant;

use crate::codec::{Call, Line, NOT_UNDERSTOOD, Reply};
use crate::store::Inner;

impl Inner {
    /// As [`Store::carry`](cupo_core::Store::carry) describes. Keys that count by the same parts lie in one slot, whatever their rule
    /// and limit; those that do not are no two limits of one rule.
    pub(crate) async fn carry(
        &self,
        from: &CheckItem,
        to: &CheckItem,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if from.limit.algorithm() != to.limit.algorithm() || from.key == to.key {
            return Ok(());
        }
        let [old, new] = [from, to].map(|item| Line::new(item, &self.naming));
        let slot = new.name.slot;
        if old.name.slot != slot {
            return Ok(());
        }
        if let Some(error) = self.topology.refuses(slot) {
            return Err(error);
        }
        let until = Instant::now() + self.settings.deadline;
        let mut around = now;
        // Once more around the server's instant, where the clocks are further apart than a calendar's windows are long.
        for _ in 0..2 {
            let call = Call::carry(&old, &new, around, self.caller_clock(now));
            let value = self.topology.call(slot, &self.scripts.carry, &call, until).await?;
            let (reply, done) = Reply::carried(value)?;
            if reply.unreadable > 0 {
                self.report_unreadable(reply.unreadable);
            }
            if done {
                if let Some(cache) = &self.cache {
                    cache.forget(&from.key);
                    cache.forget(&to.key);
                }
                return Ok(());
            }
            around = reply.at();
        }
        Err(NOT_UNDERSTOOD)
    }
}
