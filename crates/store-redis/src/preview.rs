//! What a check would answer: the same script, of which nothing is written.

use std::sync::Arc;

use cupo_core::{Check, Decision, Decisions, Executed, Preview, StoreError, Timestamp};
use tokio::time::Instant;

use crate::codec::{Call, Line, Lines, NOT_UNDERSTOOD, Reply};
use crate::spread::{join_places, peek, split};
use crate::store::{Inner, Place};

impl Inner {
    /// Previews a check; on a cluster slot by slot, so that other requests may come between.
    pub(crate) async fn preview(
        self: &Arc<Self>,
        check: &Check,
        now: Timestamp,
    ) -> Result<Preview, StoreError> {
        let _place = Place::take(self)?;
        let until = Instant::now() + self.settings.deadline;
        let lines: Lines = check.items().iter().map(|item| Line::new(item, &self.naming)).collect();
        let (mut at, mut balances, mut decisions) = (Timestamp::EPOCH, Vec::new(), Vec::new());
        for part in split(lines) {
            let [peeked, checked] = self.preview_slot(part.slot, part.lines, now, until).await?;
            at = at.max(checked.at);
            balances.extend(part.places.iter().copied().zip(peeked.decisions));
            decisions.extend(part.places.iter().copied().zip(checked.decisions));
        }
        let balances = join_places(balances);
        let mut decisions: Decisions = join_places(decisions);
        if !decisions.iter().all(Decision::is_admitted) {
            let others = decisions.iter_mut().zip(&balances).filter(|(decision, _)| decision.is_admitted());
            others.for_each(|(decision, balance)| *decision = *balance);
        }
        Ok(Preview { at, balances, decisions })
    }

    /// A peek and the check, in one call.
    async fn preview_slot(
        &self,
        slot: u16,
        lines: Lines,
        now: Timestamp,
        until: Instant,
    ) -> Result<[Executed; 2], StoreError> {
        let checks = [peek(&lines), lines];
        let items = checks.iter().map(|lines| lines.len()).fold(0, usize::saturating_add);
        let mut around = now;
        // Twice, where the clocks are so far apart that the windows of a calendar lie elsewhere.
        for _ in 0..2 {
            if let Some(error) = self.topology.refuses(slot) {
                return Err(error);
            }
            let call = Call::check(checks.iter(), around, self.caller_clock(now));
            let value = self.topology.call(slot, &self.scripts.preview, &call, until).await?;
            let mut reply = Reply::read(value, items)?;
            let [first, second] = &checks;
            if let (Some(peeked), Some(checked)) = (reply.take(first)?, reply.take(second)?) {
                return Ok([peeked, checked]);
            }
            around = reply.at();
        }
        Err(NOT_UNDERSTOOD)
    }
}
