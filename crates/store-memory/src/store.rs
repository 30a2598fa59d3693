//! The store: shards, and checks over several of them.

use cupo_core::{
    Algorithm, BlockBook, Charge, Check, CheckItem, Decision, Decisions, Executed, Fallback, Granted, Key,
    Limit, Preview, Settlement, Store, StoreError, Timestamp, Uncovered,
};
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use crate::budget::{MemoryStoreError, Wanted, divide};
use crate::fingerprint::{Fingerprint, Seed};
use crate::shard::{Item, Others, Place, Plan, Shard};
use crate::stats::Stats;

/// The embedded default store. See the [crate](crate) for what it guarantees.
///
/// ```
/// use core::time::Duration;
/// use cupo_core::{Clock, Limit, SystemClock};
/// use cupo_store_memory::MemoryStore;
///
/// let (clock, store) = (SystemClock::new(), MemoryStore::new());
/// let limit = Limit::sliding_window_counter(2, Duration::from_secs(60))?;
/// assert!(store.decide(b"ada", &limit, 1, clock.now()).is_admitted());
/// assert!(store.decide(b"ada", &limit, 1, clock.now()).is_admitted());
/// assert!(!store.decide(b"ada", &limit, 1, clock.now()).is_admitted());
/// # Ok::<(), cupo_core::LimitError>(())
/// ```
pub struct MemoryStore {
    seed: Seed,
    shards: Box<[Padded]>,
    pub(crate) blocks: Mutex<BlockBook>,
}

/// A shard on cache lines of its own: neighbours do not slow each other down.
#[repr(align(128))]
struct Padded(Mutex<Shard>);

/// Builds a [`MemoryStore`] with a budget of its own.
///
/// ```
/// use cupo_store_memory::MemoryStore;
///
/// let store = MemoryStore::builder().max_bytes(256 << 20).build()?;
/// assert_eq!(store.stats().keys, 0);
/// # Ok::<(), cupo_store_memory::MemoryStoreError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryStoreBuilder {
    wanted: Wanted,
    seed: Option<(u64, u64)>,
}

impl MemoryStoreBuilder {
    /// The most bytes that the store may allocate, all in all; 64 MiB if neither this nor `max_keys` is said.
    ///
    /// At least half of it is for keys (32 bytes each and an eighth to a third of unused places, about 1.3 million in
    /// 64 MiB); sliding logs use what the keys leave, and never less than an eighth. While a shard grows, its old table is
    /// there as well: one shard's share more.
    #[must_use]
    pub const fn max_bytes(mut self, bytes: usize) -> Self {
        self.wanted.bytes = Some(bytes);
        self
    }

    /// The most keys that the store may hold. Unless `max_bytes` says otherwise it may allocate 128 bytes for each, and
    /// 64 MiB, which only sliding logs ever need.
    ///
    /// Every shard holds its equal part of them, so that the fullest is full a little before all are.
    #[must_use]
    pub const fn max_keys(mut self, keys: usize) -> Self {
        self.wanted.keys = Some(keys);
        self
    }

    /// The number of shards, a power of two. By default sixteen per core, more for a large store so that each stays small
    /// (growing one stops the others' use of it for about a millisecond), fewer for a small one.
    #[must_use]
    pub const fn shards(mut self, shards: usize) -> Self {
        self.wanted.shards = Some(shards);
        self
    }

    /// The secret that places keys, for tests that need to be repeatable. By default it is random, and in production it has
    /// to be: who knows it can choose keys that get in each other's way.
    #[must_use]
    pub const fn seed(mut self, a: u64, b: u64) -> Self {
        self.seed = Some((a, b));
        self
    }

    /// The store.
    ///
    /// # Errors
    /// [`MemoryStoreError`] where the budget holds no store.
    pub fn build(self) -> Result<MemoryStore, MemoryStoreError> {
        let cores = std::thread::available_parallelism().map_or(4, usize::from);
        let (shards, share) = divide(self.wanted, cores, size_of::<Padded>())?;
        Ok(MemoryStore {
            seed: self.seed.map_or_else(Seed::random, |(a, b)| Seed::from_words(a, b)),
            shards: (0..shards).map(|_| Padded(Mutex::new(Shard::new(share)))).collect(),
            blocks: Mutex::default(),
        })
    }
}

impl MemoryStore {
    /// A store with the default budget of 64 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a store with another budget.
    #[must_use]
    pub fn builder() -> MemoryStoreBuilder {
        MemoryStoreBuilder::default()
    }

    /// Executes a check at `now`, all or nothing.
    #[must_use]
    pub fn execute(&self, check: &Check, now: Timestamp) -> Executed {
        match check.items() {
            [] => Executed { at: now, decisions: Decisions::new() },
            [item] => {
                let mut decisions = Decisions::new();
                let (at, decision) = self.decide_one(item.key.as_bytes(), &item.limit, item.cost, now);
                decisions.push(decision);
                Executed { at, decisions }
            }
            items => self.execute_many(items, now, None),
        }
    }

    /// Decides a check of one item, without the list around it. `key` is what [`Key::as_bytes`] gives; whoever asks the
    /// store in this way only may as well use bytes of their own.
    #[inline]
    #[must_use]
    pub fn decide(&self, key: &[u8], limit: &Limit, cost: u64, now: Timestamp) -> Decision {
        self.decide_one(key, limit, cost, now).1
    }

    #[inline]
    fn decide_one(&self, key: &[u8], limit: &Limit, cost: u64, now: Timestamp) -> (Timestamp, Decision) {
        let key = self.seed.of_key(key);
        let mut shard = self.lock(&key);
        let at = shard.instant(now);
        (at, shard.decide(&Item { key, limit, cost }, at, &self.seed))
    }

    /// What [`execute`](Self::execute) would answer at `now`, and the balances as they are. Changes nothing.
    #[must_use]
    pub fn preview(&self, check: &Check, now: Timestamp) -> Preview {
        let mut balances = Decisions::new();
        let Executed { at, decisions } = self.execute_many(check.items(), now, Some(&mut balances));
        Preview { at, balances, decisions }
    }

    /// Where `balances` are asked for they are told, and nothing is charged.
    fn execute_many(
        &self,
        items: &[CheckItem],
        now: Timestamp,
        balances: Option<&mut Decisions>,
    ) -> Executed {
        let items: SmallVec<[Item<'_>; 4]> = items
            .iter()
            .map(|i| Item { key: self.seed.of_key(i.key.as_bytes()), limit: &i.limit, cost: i.cost })
            .collect();
        // Always in the same order, so that no two checks ever wait for each other.
        let mut indices: SmallVec<[usize; 4]> = items.iter().map(|item| self.shard_of(&item.key)).collect();
        indices.sort_unstable();
        indices.dedup();
        let mut shards: SmallVec<[MutexGuard<'_, Shard>; 4]> =
            indices.iter().filter_map(|&index| self.shards.get(index)).map(|s| s.0.lock()).collect();
        let now = shards.iter().fold(now, |at, shard| at.max(shard.instant(now)));
        let of = |item: &Item<'_>| indices.binary_search(&self.shard_of(&item.key)).unwrap_or(0);

        let mut taken: SmallVec<[Fingerprint; 8]> = items.iter().map(|item| item.key).collect();
        let mut fresh: SmallVec<[usize; 4]> = SmallVec::from_elem(0, shards.len());
        let mut plans: SmallVec<[Plan; 4]> = SmallVec::new();
        for item in &items {
            let others = Others { taken: &taken, fresh: fresh[of(item)] };
            let plan = shards[of(item)].plan(item, now, &self.seed, others);
            match plan.place {
                Place::Fresh => fresh[of(item)] += 1,
                Place::Instead(key) | Place::Group(key) => taken.push(key),
                Place::Key(_) => {}
            }
            plans.push(plan);
        }
        let is_admitted = plans.iter().all(|plan| plan.decision.is_admitted());
        if let Some(balances) = balances {
            for (item, plan) in items.iter().zip(&mut plans) {
                let peek = shards[of(item)].plan_peek(plan, item.limit, now);
                balances.push(peek.decision);
                if !is_admitted && plan.decision.is_admitted() {
                    *plan = peek;
                }
            }
        } else if is_admitted {
            for (item, plan) in items.iter().zip(&plans) {
                shards[of(item)].commit(item, plan, now);
            }
        } else {
            for (item, plan) in items.iter().zip(&mut plans) {
                if plan.decision.is_admitted() {
                    *plan = shards[of(item)].plan_peek(plan, item.limit, now);
                } else {
                    shards[of(item)].note_denial(plan);
                }
            }
        }
        Executed { at: now, decisions: plans.iter().map(|plan| plan.decision).collect() }
    }

    /// Takes back the slot of a delayed request, as [`Store::cancel`] describes.
    pub fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) {
        if item.limit.algorithm() == Algorithm::LeakyBucket {
            self.refund(&item.key, &item.limit, now, Charge { at: now, end, cost: item.cost });
        }
    }

    /// Gives back a charge, as far as [`Limit::refund`] says that it still counts.
    pub fn refund(&self, key: &Key, limit: &Limit, now: Timestamp, charge: Charge<Timestamp>) {
        let key = self.seed.of_key(key.as_bytes());
        let mut shard = self.lock(&key);
        let now = shard.instant(now);
        shard.refund(&Item { key, limit, cost: charge.cost }, now, charge, &self.seed);
    }

    /// Moves what is counted under one key to another, as [`Store::carry`] describes.
    pub fn carry(&self, from: &CheckItem, to: &CheckItem, now: Timestamp) {
        if from.limit.algorithm() != to.limit.algorithm() || from.key == to.key {
            return;
        }
        let [old, new] = [from, to].map(|item| self.seed.of_key(item.key.as_bytes()));
        let (one, other) = (self.shard_of(&old), self.shard_of(&new));
        let item = Item { key: new, limit: &to.limit, cost: 0 };
        if one == other {
            let mut shard = self.shards[one].0.lock();
            let now = shard.instant(now);
            if let Some(used) = shard.take(&old, &from.limit, now) {
                shard.charge(&item, used, now, &self.seed);
            }
            return;
        }
        // In the order of the indices, as checks take them.
        let (mut first, mut second) =
            (self.shards[one.min(other)].0.lock(), self.shards[one.max(other)].0.lock());
        let now = first.instant(now).max(second.instant(now));
        let (source, target) =
            if one < other { (&mut first, &mut second) } else { (&mut second, &mut first) };
        if let Some(used) = source.take(&old, &from.limit, now) {
            target.charge(&item, used, now, &self.seed);
        }
    }

    /// Settles charges, each by itself, as [`Store::settle`] describes.
    #[must_use]
    pub fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Uncovered {
        let settle = |settlement: &Settlement| {
            let Settlement { key, limit, .. } = settlement;
            if let Some(charge) = settlement.refund() {
                self.refund(key, limit, now, charge);
                return 0;
            }
            let key = self.seed.of_key(key.as_bytes());
            let mut shard = self.lock(&key);
            let now = shard.instant(now);
            shard.top_up(&Item { key, limit, cost: settlement.extra() }, now, &self.seed)
        };
        settlements.iter().map(settle).collect()
    }

    /// Gives the units of `item`'s cost back, as [`Limit::grant`] has it.
    pub fn grant(&self, item: &CheckItem, now: Timestamp) -> Granted {
        let key = self.seed.of_key(item.key.as_bytes());
        let mut shard = self.lock(&key);
        let at = shard.instant(now);
        let (before, after) = shard.grant(&Item { key, limit: &item.limit, cost: item.cost }, at, &self.seed);
        Granted { at, before, after }
    }

    /// Forgets what is counted under `key`; whether there was anything.
    pub fn reset(&self, key: &Key) -> bool {
        let key = self.seed.of_key(key.as_bytes());
        self.lock(&key).reset(&key)
    }

    /// Reclaims all states that are at rest at `now` and gives back the memory of a flood that is over. Locks one shard at a
    /// time. Insertions do the same bit by bit; a call every minute or so covers the store that gets none.
    pub fn sweep(&self, now: Timestamp) {
        for shard in &self.shards {
            shard.0.lock().sweep(now);
        }
    }

    /// What the store tells about itself; each shard at a slightly different instant.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shards
            .iter()
            .map(|shard| shard.0.lock().stats(size_of::<Padded>()))
            .fold(Stats::default(), Stats::plus)
    }

    /// The number of shards.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    #[inline]
    fn shard_of(&self, key: &Fingerprint) -> usize {
        // The number of shards is a power of two; the mask takes the low bits, the place in the table needs the high ones.
        usize::try_from(key.order & (self.shards.len() as u64).wrapping_sub(1)).unwrap_or(0)
    }

    #[inline]
    fn lock(&self, key: &Fingerprint) -> MutexGuard<'_, Shard> {
        self.shards[self.shard_of(key)].0.lock()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        let wanted = Wanted::default();
        let cores = std::thread::available_parallelism().map_or(4, usize::from);
        // The default budget is one that divides; were it not, one shard would hold it.
        let (shards, share) = divide(wanted, cores, size_of::<Padded>()).unwrap_or_default();
        let shards = (0..shards.max(1)).map(|_| Padded(Mutex::new(Shard::new(share)))).collect();
        Self { seed: Seed::random(), shards, blocks: Mutex::default() }
    }
}

impl core::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MemoryStore").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl Fallback for MemoryStore {
    fn execute(&self, check: &Check, now: Timestamp) -> Executed {
        Self::execute(self, check, now)
    }

    fn preview(&self, check: &Check, now: Timestamp) -> Preview {
        Self::preview(self, check, now)
    }

    fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) {
        Self::cancel(self, item, now, end);
    }

    fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Uncovered {
        Self::settle(self, settlements, now)
    }
}

impl Store for MemoryStore {
    async fn check(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        Ok(self.execute(check, now))
    }

    async fn preview(&self, check: &Check, now: Timestamp) -> Result<Preview, StoreError> {
        Ok(Self::preview(self, check, now))
    }

    async fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) -> Result<(), StoreError> {
        Self::cancel(self, item, now, end);
        Ok(())
    }

    async fn carry(&self, from: &CheckItem, to: &CheckItem, now: Timestamp) -> Result<(), StoreError> {
        Self::carry(self, from, to, now);
        Ok(())
    }

    async fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Result<Uncovered, StoreError> {
        Ok(Self::settle(self, settlements, now))
    }
}
