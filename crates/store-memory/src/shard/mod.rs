//! A shard: some of the keys, under one lock. A check is planned, which changes nothing, and then committed or not.

mod carry;
mod grant;
mod room;

use core::time::Duration;

use cupo_core::algorithm::sliding_window_log;
use cupo_core::{Change, Charge, Decision, Limit, State, Timestamp, Verdict};

use crate::budget::Share;
use crate::fingerprint::{Fingerprint, Seed};
use crate::heap::Heap;
use crate::slot::{Held, Pressure, Slot};
use crate::stats::Stats;
use crate::table::Table;

/// The longest that a clock is held, in microseconds: an hour.
const LONGEST_HOLD: u64 = 3_600_000_000;

/// Entries that the log of an overflow group holds at most.
const GROUP_LOG: usize = 16;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Shard {
    keys: Table,
    /// The slot of `keys` that the sweep looks at next, and where the search for a key that gives way begins.
    hand: usize,
    heap: Heap,
    /// The second up to which every state that was reclaimed is at rest: before it, absent may not mean unused.
    horizon: u64,
    share: Share,
    /// The overflow groups, in a table of their own.
    groups: Table,
    /// Only the counts that are not sizes.
    counts: Stats,
}

/// An item of a check, its key hashed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) key: Fingerprint,
    pub(crate) limit: &'a Limit,
    pub(crate) cost: u64,
}

/// Where the state of an item is, or will be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// In the slot with this index, as long as nothing is inserted or removed.
    Key(usize),
    /// Nowhere yet, and there is room.
    Fresh,
    /// Nowhere yet, and this key is forgotten for it.
    Instead(Fingerprint),
    /// With this overflow group.
    Group(Fingerprint),
}

/// What a check would do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) place: Place,
    pub(crate) decision: Decision,
    change: Change,
}

/// What the other items of the same check have planned, so that no two plans use one thing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Others<'a> {
    /// Keys that are asked for, and keys and groups that are in a plan.
    pub(crate) taken: &'a [Fingerprint],
    /// Keys that are to be inserted into this shard.
    pub(crate) fresh: usize,
}

impl Shard {
    /// An empty shard.
    pub(crate) fn new(share: Share) -> Self {
        let (keys, groups, heap) = (Table::default(), Table::default(), Heap::default());
        Self { keys, hand: 0, heap, horizon: 0, share, groups, counts: Stats::default() }
    }

    /// What the shard tells about itself, given the bytes of its surroundings.
    pub(crate) fn stats(&self, header: usize) -> Stats {
        let bytes = header + self.keys.bytes() + self.groups.bytes() + self.heap.bytes();
        Stats { keys: self.keys.len(), groups: self.groups.len(), bytes, ..self.counts }
    }

    /// The instant at which to decide what comes at `now`. A step back behind what was reclaimed would let a key count anew,
    /// so the clock then stands still until it has caught up; but not for longer than [`LONGEST_HOLD`], for it must have
    /// been wrong before.
    #[inline]
    pub(crate) fn instant(&self, now: Timestamp) -> Timestamp {
        let horizon = self.horizon.saturating_mul(1_000_000);
        if now.as_micros() < horizon && horizon - now.as_micros() <= LONGEST_HOLD {
            return Timestamp::from_micros(horizon);
        }
        now
    }

    /// Decides a check of one item.
    #[inline]
    pub(crate) fn decide(&mut self, item: &Item<'_>, now: Timestamp, seed: &Seed) -> Decision {
        // The short way of what happens nearly always: the key is there, and so is its state in the slot.
        if let Ok(index) = self.keys.find(&item.key)
            && let Some(slot) = self.keys.get_mut(index)
            && let Some(Held::Inline(state)) = slot.held(item.limit.resolution())
        {
            let (decision, change) = item.limit.decide(Some(&state), now, item.cost);
            if put(slot, item.limit, &change, Some(&decision)) {
                slot.press(Pressure::of(&decision));
                return decision;
            }
            if matches!(change, Change::Keep) {
                slot.note(&decision);
                return decision;
            }
        }
        let plan = self.plan(item, now, seed, Others::default());
        if plan.decision.is_admitted() {
            self.commit(item, &plan, now);
        } else {
            self.note_denial(&plan);
        }
        plan.decision
    }

    /// Decides an item without changing anything.
    #[inline]
    pub(crate) fn plan(&self, item: &Item<'_>, now: Timestamp, seed: &Seed, others: Others<'_>) -> Plan {
        let place = match self.keys.find(&item.key) {
            Ok(index) => Place::Key(index),
            Err(_) if self.has_room(item.limit, others.fresh) => Place::Fresh,
            Err(_) => self.place_when_full(item, now, seed, others.taken),
        };
        let (decision, change) = self.decide_at(&place, item.limit, now, item.cost);
        Plan { place, decision, change }
    }

    /// The plan of an item whose check is not admitted: its balance as it is.
    pub(crate) fn plan_peek(&self, plan: &Plan, limit: &Limit, now: Timestamp) -> Plan {
        let (decision, change) = self.decide_at(&plan.place, limit, now, 0);
        Plan { place: plan.place, decision, change }
    }

    #[inline]
    fn decide_at(&self, place: &Place, limit: &Limit, now: Timestamp, cost: u64) -> (Decision, Change) {
        let slot = match place {
            Place::Key(index) => self.keys.get(*index),
            Place::Group(group) => match self.groups.find(group) {
                Ok(index) => self.groups.get(index),
                Err(_) => return limit.decide(None, now, cost),
            },
            Place::Fresh | Place::Instead(_) => return limit.decide(None, now, cost),
        };
        match slot.held(limit.resolution()) {
            Some(Held::Inline(state)) => limit.decide(Some(&state), now, cost),
            Some(Held::OnHeap(number)) => limit.decide(self.heap.get(number), now, cost),
            None => limit.decide(None, now, cost),
        }
    }

    /// Carries out a plan that nothing but other plans of the same check has come between.
    #[inline]
    pub(crate) fn commit(&mut self, item: &Item<'_>, plan: &Plan, now: Timestamp) {
        if let Place::Group(_) = plan.place
            && item.cost > 0
        {
            self.note_group();
        }
        if matches!(plan.change, Change::Keep) {
            return;
        }
        match plan.place {
            Place::Key(index) if self.keys.get(index).is_of(&item.key) => {
                let slot = self.written(self.keys.get(index), item.limit, plan, usize::MAX);
                self.keys.set(index, slot);
            }
            Place::Group(group) => self.commit_to_group(item, plan, &group, now),
            Place::Instead(victim) => {
                self.forget(&victim, now);
                self.commit_moved(item, plan, now);
            }
            Place::Key(_) | Place::Fresh => self.commit_moved(item, plan, now),
        }
    }

    /// Commits to a key that is absent, or no longer where it was planned.
    fn commit_moved(&mut self, item: &Item<'_>, plan: &Plan, now: Timestamp) {
        if let Ok(index) = self.keys.find(&item.key) {
            let slot = self.written(self.keys.get(index), item.limit, plan, usize::MAX);
            self.keys.set(index, slot);
            return;
        }
        self.make_room(now);
        let slot = self.written(Slot::of(&item.key), item.limit, plan, usize::MAX);
        self.keys.insert(slot);
        self.sweep_some(now);
    }

    fn commit_to_group(&mut self, item: &Item<'_>, plan: &Plan, group: &Fingerprint, now: Timestamp) {
        let index = if let Ok(index) = self.groups.find(group) {
            index
        } else {
            self.make_room_for_group(now);
            self.groups.insert(Slot::of(group))
        };
        let slot = self.written(self.groups.get(index), item.limit, plan, GROUP_LOG);
        self.groups.set(index, slot);
    }

    /// The slot after the plan's change, with `most` entries in a log.
    #[inline]
    fn written(&mut self, mut slot: Slot, limit: &Limit, plan: &Plan, most: usize) -> Slot {
        slot.press(Pressure::of(&plan.decision));
        self.change(&mut slot, limit, plan.change, most);
        slot
    }

    #[inline]
    fn change(&mut self, slot: &mut Slot, limit: &Limit, change: Change, most: usize) {
        if matches!(
            change,
            Change::SlidingWindowLog(_)
                | Change::SlidingWindowLogRefund(_)
                | Change::SlidingWindowLogGrant(_)
        ) {
            return self.append(slot, limit, change, most);
        }
        if let (Some(number), false) = (slot.heap_number(), matches!(change, Change::Keep)) {
            self.heap.remove(number);
        }
        if !put(slot, limit, &change, None) {
            let mut state = None;
            limit.apply(&mut state, change);
            if let Some(state) = state {
                slot.rest_at(limit.expires_at(&state));
                slot.hold_on_heap(self.heap.insert(state), limit.resolution());
            }
        }
    }

    #[inline(never)]
    fn append(&mut self, slot: &mut Slot, limit: &Limit, change: Change, most: usize) {
        let number = match slot.held(limit.resolution()) {
            Some(Held::OnHeap(n)) if matches!(self.heap.get(n), Some(State::SlidingWindowLog(_))) => n,
            _ => {
                if let Some(number) = slot.heap_number() {
                    self.heap.remove(number);
                }
                self.heap.insert(State::SlidingWindowLog(sliding_window_log::State::default()))
            }
        };
        slot.hold_on_heap(number, limit.resolution());
        if self.heap.append(number, limit, change, self.spare_bytes(), most) {
            self.counts.coarsened += 1;
        }
        if let Some(state) = self.heap.get(number) {
            slot.rest_at(limit.expires_at(state));
        }
    }

    /// Notes that a key was denied: it is under active limitation, and others may not displace it. No state changes.
    #[inline]
    pub(crate) fn note_denial(&mut self, plan: &Plan) {
        if !matches!(plan.decision.verdict, Verdict::Deny { .. }) {
            return;
        }
        let slot = match plan.place {
            Place::Key(index) => self.keys.get_mut(index),
            Place::Group(group) => {
                self.note_group();
                self.groups.find(&group).ok().and_then(|index| self.groups.get_mut(index))
            }
            Place::Fresh | Place::Instead(_) => None,
        };
        if let Some(slot) = slot {
            slot.note(&plan.decision);
        }
    }

    /// Notes a decision on a group. The next newcomer looks elsewhere.
    fn note_group(&mut self) {
        self.counts.grouped += 1;
        self.move_hand();
    }

    /// Gives back a charge, as far as it still counts.
    pub(crate) fn refund(&mut self, item: &Item<'_>, now: Timestamp, charge: Charge<Timestamp>, seed: &Seed) {
        if let Ok(index) = self.keys.find(&item.key) {
            let mut slot = self.keys.get(index);
            self.refund_in(&mut slot, item.limit, now, charge);
            self.keys.set(index, slot);
            return;
        }
        // It was decided on a group, or is gone.
        let group = seed.of_group(item.limit, self.group_of(&item.key));
        if let Ok(index) = self.groups.find(&group) {
            let mut slot = self.groups.get(index);
            self.refund_in(&mut slot, item.limit, now, charge);
            self.groups.set(index, slot);
        }
    }

    /// Charges what there is room for of the item's cost, as [`Limit::settle`] does; the units that found none.
    pub(crate) fn top_up(&mut self, item: &Item<'_>, now: Timestamp, seed: &Seed) -> u64 {
        let remaining =
            self.plan(&Item { cost: 0, ..*item }, now, seed, Others::default()).decision.remaining;
        let cost = item.cost.min(remaining);
        if cost > 0 && self.decide(&Item { cost, ..*item }, now, seed).is_admitted() {
            return item.cost - cost;
        }
        item.cost
    }

    fn refund_in(&mut self, slot: &mut Slot, limit: &Limit, now: Timestamp, charge: Charge<Timestamp>) {
        let change = match slot.held(limit.resolution()) {
            Some(Held::Inline(state)) => limit.refund(Some(&state), now, charge),
            Some(Held::OnHeap(number)) => limit.refund(self.heap.get(number), now, charge),
            None => return,
        };
        self.change(slot, limit, change, usize::MAX);
    }

    /// Forgets a key; whether it was there.
    pub(crate) fn reset(&mut self, key: &Fingerprint) -> bool {
        let Ok(index) = self.keys.find(key) else { return false };
        self.drop_key(index);
        true
    }

    /// The number of the group that this key would share.
    fn group_of(&self, key: &Fingerprint) -> u32 {
        key.spare % self.share.groups_per_limit
    }

    /// Removes the slot at `index` and what it has in the heap.
    fn drop_key(&mut self, index: usize) {
        if let Some(number) = self.keys.get(index).heap_number() {
            self.heap.remove(number);
        }
        self.keys.remove(index);
    }
}

/// Puts the state that `change` makes into the slot, if it is one that fits. `decision` is the one that made the change, if
/// one did.
#[inline]
fn put(slot: &mut Slot, limit: &Limit, change: &Change, decision: Option<&Decision>) -> bool {
    // A branch for each, so that each becomes the few stores that it is.
    match *change {
        Change::Keep
        | Change::SlidingWindowLog(_)
        | Change::SlidingWindowLogRefund(_)
        | Change::SlidingWindowLogGrant(_) => false,
        Change::FixedWindow(s) => put_state(slot, limit, &State::FixedWindow(s), None),
        Change::EndingWindow(s) => put_state(slot, limit, &State::EndingWindow(s), None),
        Change::SlidingWindowCounter(s) => put_state(slot, limit, &State::SlidingWindowCounter(s), None),
        Change::TokenBucket(s) => {
            put_state(slot, limit, &State::TokenBucket(s), decision.map(|d| (s.at, d.reset_after)))
        }
        Change::LeakyBucket(s) => {
            put_state(slot, limit, &State::LeakyBucket(s), decision.map(|d| (s.at, d.reset_after)))
        }
    }
}

/// `whole` says from what tick and after how long the limit is whole again, where that is when the state is at rest: it saves
/// a division.
#[inline(always)]
fn put_state(slot: &mut Slot, limit: &Limit, state: &State, whole: Option<(u64, Duration)>) -> bool {
    let fits = slot.hold(state, limit.resolution());
    if fits {
        let expires_at = match whole {
            Some((at, after)) => limit.resolution().instant(at).after(after),
            None => limit.expires_at(state),
        };
        debug_assert_eq!(expires_at, limit.expires_at(state));
        slot.rest_at(expires_at);
    }
    fits
}
