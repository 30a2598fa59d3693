//! Charges that are settled: one call of a script for each slot, side by side.

use std::sync::Arc;

use cupo_core::{Key, Settlement, StoreError, Timestamp, Uncovered};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::codec::{Adjustment, Call, NOT_UNDERSTOOD, Reply};
use crate::store::{Inner, Place};

/// The settlements in one slot.
#[derive(Default)]
struct Part {
    slot: u16,
    adjustments: Vec<Adjustment>,
    keys: Vec<Key>,
    /// Where each stands among all.
    places: Vec<usize>,
}

/// Settles a part: the units that each of its charges took.
type Task = JoinHandle<Result<Vec<u64>, StoreError>>;

/// Settles charges, each by itself. Tasks of their own, so that it is carried out also when the caller is gone.
pub(crate) async fn settle(
    inner: &Arc<Inner>,
    settlements: &[Settlement],
    now: Timestamp,
) -> Result<Uncovered, StoreError> {
    let mut parts: Vec<Part> = Vec::new();
    for (place, settlement) in settlements.iter().enumerate() {
        let adjustment = Adjustment::of(settlement, &inner.naming);
        if adjustment.line.cost == 0 && adjustment.charge.cost == 0 {
            continue;
        }
        let slot = adjustment.line.name.slot;
        let known = parts.iter().position(|part| part.slot == slot);
        let at = known.unwrap_or_else(|| {
            parts.push(Part { slot, ..Part::default() });
            parts.len().saturating_sub(1)
        });
        if let Some(part) = parts.get_mut(at) {
            part.adjustments.push(adjustment);
            part.keys.push(settlement.key.clone());
            part.places.push(place);
        }
    }
    let mut uncovered: Uncovered = settlements.iter().map(Settlement::extra).collect();
    let mut tasks: Vec<(Vec<usize>, Task)> = Vec::new();
    for mut part in parts {
        let places = std::mem::take(&mut part.places);
        let inner = Arc::clone(inner);
        tasks.push((places, inner.runtime.clone().spawn(async move { part.settle(&inner, now).await })));
    }
    let mut failed = None;
    for (places, task) in tasks {
        // The runtime of the store is shutting down.
        match task.await.unwrap_or(Err(StoreError::Unavailable)) {
            Ok(charged) => {
                for (place, charged) in places.into_iter().zip(charged) {
                    uncovered
                        .get_mut(place)
                        .into_iter()
                        .for_each(|left| *left = left.saturating_sub(charged));
                }
            }
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(uncovered), Err)
}

impl Part {
    /// The units that each of them charged.
    async fn settle(self, inner: &Inner, now: Timestamp) -> Result<Vec<u64>, StoreError> {
        let _place = Place::take(inner)?;
        let charged = inner.adjust(self.slot, &self.adjustments, now).await?;
        if let Some(cache) = &inner.cache {
            self.keys.iter().for_each(|key| cache.forget(key));
        }
        Ok(charged)
    }
}

impl Inner {
    /// Settles charges whose keys lie in one slot: the units that each of them charged. What cannot be given back stays charged,
    /// which errs towards denial.
    pub(crate) async fn adjust(
        &self,
        slot: u16,
        adjustments: &[Adjustment],
        now: Timestamp,
    ) -> Result<Vec<u64>, StoreError> {
        let all = adjustments.iter().enumerate().collect();
        let mut charged = vec![0; adjustments.len()];
        let (unplaced, at) = self.adjust_around(now, slot, all, now, &mut charged).await?;
        // The clocks of this node and of the server are further apart than the windows of a calendar are long.
        if !unplaced.is_empty()
            && !self.adjust_around(at, slot, unplaced, now, &mut charged).await?.0.is_empty()
        {
            return Err(NOT_UNDERSTOOD);
        }
        Ok(charged)
    }

    /// One call. Those that it did not settle since their windows lie elsewhere, and the instant of the server.
    async fn adjust_around<'a>(
        &self,
        around: Timestamp,
        slot: u16,
        adjustments: Vec<(usize, &'a Adjustment)>,
        now: Timestamp,
        charged: &mut [u64],
    ) -> Result<(Vec<(usize, &'a Adjustment)>, Timestamp), StoreError> {
        if let Some(error) = self.topology.refuses(slot) {
            return Err(error);
        }
        let list = adjustments.iter().map(|(_, adjustment)| *adjustment);
        let call = Call::settle(list, around, self.caller_clock(now));
        let until = Instant::now() + self.settings.deadline;
        let value = self.topology.call(slot, &self.scripts.settle, &call, until).await?;
        let mut reply = Reply::read_settled(value, adjustments.len())?;
        if reply.unreadable > 0 {
            self.report_unreadable(reply.unreadable);
        }
        let mut unplaced = Vec::new();
        for (place, adjustment) in adjustments {
            match reply.take_settled(adjustment)? {
                Some(units) => charged.get_mut(place).into_iter().for_each(|charged| *charged = units),
                None => unplaced.push((place, adjustment)),
            }
        }
        Ok((unplaced, reply.at()))
    }
}
