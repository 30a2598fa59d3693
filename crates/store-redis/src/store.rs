//! The store: the way of a check to the servers and back.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use cupo_core::{
    Algorithm, Charge, Check, CheckItem, Executed, Key, Preview, Settlement, Store, StoreError, Timestamp,
    Uncovered,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::codec::{Adjustment, Call, Line, Lines, NOT_UNDERSTOOD, Reply};
use crate::denial_cache::DenialCache;
use crate::error::RedisError;
use crate::lane::{Answer, Bounds, Job, Lane};
use crate::name::Naming;
use crate::node::Connection;
use crate::script::Scripts;
use crate::settings::{Deployment, RedisSettings, StoreClock};
use crate::settle;
use crate::stats::{Counters, RedisStats, count};
use crate::topology::{self, Topology};

/// The Redis or Valkey store. See the [crate](crate) for what it guarantees.
///
/// Clones share the same connections.
#[derive(Clone)]
pub struct RedisStore {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) settings: RedisSettings,
    pub(crate) naming: Naming,
    pub(crate) scripts: Scripts,
    pub(crate) topology: Arc<Topology>,
    lanes: Box<[Lane]>,
    waiters: AtomicUsize,
    pub(crate) cache: Option<DenialCache>,
    counters: Counters,
    pub(crate) runtime: Handle,
}

/// How well the store can reach its servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisHealth {
    /// Servers that the store has a connection to.
    pub connected: usize,
    /// Servers that the store has none to.
    pub disconnected: usize,
    /// Servers that failed repeatedly and are left alone for a moment.
    pub resting: usize,
}

impl RedisStore {
    /// A store that connects in the background: it can be made while its servers are down, and checks wait for the first attempt to
    /// connect no longer than their deadline. Make it inside of a tokio runtime, where its background tasks live.
    ///
    /// # Errors
    /// [`RedisError`] where the settings are wrong or there is no runtime.
    pub fn new(settings: RedisSettings) -> Result<Self, RedisError> {
        settings.validate()?;
        let runtime = Handle::try_current().map_err(|_| RedisError::NoRuntime)?;
        let topology = Arc::new(Topology::new(&settings, &runtime)?);
        Ok(Self { inner: Arc::new(Inner::new(settings, topology, runtime)) })
    }

    /// A store under another key prefix on the same connections, with its own bound on waiters, counters and cache.
    ///
    /// # Errors
    /// [`RedisError::Prefix`] where the prefix does not fit.
    pub fn with_prefix(&self, prefix: impl Into<String>) -> Result<Self, RedisError> {
        let settings = RedisSettings { prefix: prefix.into(), ..self.inner.settings.clone() };
        settings.validate()?;
        let (topology, runtime) = (Arc::clone(&self.inner.topology), self.inner.runtime.clone());
        Ok(Self { inner: Arc::new(Inner::new(settings, topology, runtime)) })
    }

    /// Tries to connect with `settings`, once and in the foreground, and returns the address of the server that answered.
    ///
    /// # Errors
    /// [`RedisError`] says what is wrong, and with which server.
    pub async fn try_connection(settings: &RedisSettings) -> Result<String, RedisError> {
        topology::try_connection(settings).await
    }

    /// Forgets what is counted under `key`; whether there was anything. The other replicas may deny from memory for a second more.
    ///
    /// # Errors
    /// [`StoreError`] where the store could not be reached.
    pub async fn reset(&self, key: &Key) -> Result<bool, StoreError> {
        let inner = &self.inner;
        let name = inner.naming.name(key);
        let mut command = redis::cmd("DEL");
        command.arg(&name.bytes[..]);
        let until = Instant::now() + inner.settings.deadline;
        let removed = inner.topology.command(name.slot, &command, until).await;
        if let Some(cache) = &inner.cache {
            cache.forget(key);
        }
        Ok(removed? == redis::Value::Int(1))
    }

    /// Forgets what the cache of denials holds for `key`, for example because its limit was changed.
    pub fn forget_denial(&self, key: &Key) {
        if let Some(cache) = &self.inner.cache {
            cache.forget(key);
        }
    }

    /// What the store tells about itself.
    #[must_use]
    pub fn stats(&self) -> RedisStats {
        self.inner.counters.snapshot()
    }

    /// How well the store can reach its servers now.
    #[must_use]
    pub fn health(&self) -> RedisHealth {
        let servers = self.inner.topology.servers();
        let connected = servers.iter().filter(|(c, _)| matches!(c, Connection::Up(_))).count();
        let resting = servers.iter().filter(|(_, resting)| *resting).count();
        RedisHealth { connected, disconnected: servers.len().saturating_sub(connected), resting }
    }
}

impl core::fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RedisStore")
            .field("deployment", &self.inner.settings.deployment)
            .field("health", &self.health())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl Store for RedisStore {
    async fn check(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        let inner = &self.inner;
        if check.items().is_empty() {
            return Ok(Executed { at: now, decisions: Default::default() });
        }
        if let Some(executed) = inner.cache.as_ref().and_then(|cache| cache.answer(check)) {
            count(&inner.counters.cached_denials, 1);
            return Ok(executed);
        }
        count(&inner.counters.asked, 1);
        let answer = inner.execute(check, now).await.inspect_err(|error| {
            let timed_out = matches!(error, StoreError::Timeout);
            count(if timed_out { &inner.counters.timeouts } else { &inner.counters.failures }, 1);
        })?;
        if let Some(cache) = &inner.cache {
            cache.learn(check, &answer);
        }
        Ok(answer.executed)
    }

    async fn preview(&self, check: &Check, now: Timestamp) -> Result<Preview, StoreError> {
        if check.items().is_empty() {
            return Ok(Preview { at: now, balances: Default::default(), decisions: Default::default() });
        }
        self.inner.preview(check, now).await
    }

    async fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) -> Result<(), StoreError> {
        if item.limit.algorithm() != Algorithm::LeakyBucket {
            return Ok(());
        }
        let inner = &self.inner;
        let line = Line::new(item, &inner.naming);
        let charge = Charge { at: now, end, cost: line.cost };
        let slot = line.name.slot;
        inner.adjust(slot, &[Adjustment::refund(line, charge)], now).await?;
        if let Some(cache) = &inner.cache {
            cache.forget(&item.key);
        }
        Ok(())
    }

    async fn carry(&self, from: &CheckItem, to: &CheckItem, now: Timestamp) -> Result<(), StoreError> {
        self.inner.carry(from, to, now).await
    }

    async fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Result<Uncovered, StoreError> {
        settle::settle(&self.inner, settlements, now).await
    }
}

impl Inner {
    fn new(settings: RedisSettings, topology: Arc<Topology>, runtime: Handle) -> Self {
        let caches = settings.denial_cache && settings.clock == StoreClock::Server;
        Self {
            naming: Naming::new(&settings.prefix, matches!(settings.deployment, Deployment::Cluster(_))),
            scripts: Scripts::new(settings.clock),
            lanes: (0..topology.slots()).map(|_| Lane::default()).collect(),
            topology,
            waiters: AtomicUsize::new(0),
            cache: caches.then(DenialCache::new),
            counters: Counters::default(),
            settings,
            runtime,
        }
    }

    fn bounds(&self) -> Bounds {
        let batch_max = match self.settings.clock {
            StoreClock::Server => self.settings.batch_max,
            // Each check brings an instant of its own.
            StoreClock::Caller => 1,
        };
        Bounds { batch_max, calls: self.settings.calls_in_flight }
    }

    pub(crate) fn caller_clock(&self, now: Timestamp) -> Option<Timestamp> {
        (self.settings.clock == StoreClock::Caller).then_some(now)
    }

    async fn execute(self: &Arc<Self>, check: &Check, now: Timestamp) -> Result<Answer, StoreError> {
        let _place = Place::take(self)?;
        let until = Instant::now() + self.settings.deadline;
        let lines: Lines = check.items().iter().map(|item| Line::new(item, &self.naming)).collect();
        let slot = lines.first().map_or(0, |line| line.name.slot);
        if lines.iter().all(|line| line.name.slot == slot) {
            return self.ask(slot, lines, now, until).await;
        }
        // A task of its own, so that a caller who gives up leaves no part of the check charged.
        let (reply, receiver) = oneshot::channel();
        self.runtime.spawn(crate::spread::execute(Arc::clone(self), lines, now, until, reply));
        receiver.await.unwrap_or(Err(StoreError::Unavailable))
    }

    /// Asks for a check whose keys lie in one slot.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        slot: u16,
        lines: Lines,
        now: Timestamp,
        until: Instant,
    ) -> Result<Answer, StoreError> {
        if let Some(error) = self.topology.refuses(slot) {
            return Err(error);
        }
        let Some(lane) = self.lanes.get(usize::from(slot)) else { return Err(StoreError::Unavailable) };
        let (reply, receiver) = oneshot::channel();
        let job = Job { lines, now, reply };
        if lane.push(job, self.bounds()) {
            self.runtime.spawn(work(Arc::clone(self), slot));
        }
        match timeout_at(until, receiver).await {
            Ok(Ok(answer)) => answer,
            // The runtime of the store is shutting down.
            Ok(Err(_)) => Err(StoreError::Unavailable),
            Err(_) => Err(StoreError::Timeout),
        }
    }

    /// One call for all of `batch`; and another one, around the instant that the first was told, for checks with a calendar whose
    /// present window was not sent, because the clocks of this node and of the server are further apart than its windows are long.
    async fn call(&self, slot: u16, batch: Vec<Job>) {
        let around = batch.first().map_or(Timestamp::EPOCH, |job| job.now);
        let (unplaced, at) = self.call_around(around, slot, batch).await;
        if unplaced.is_empty() {
            return;
        }
        for job in self.call_around(at, slot, unplaced).await.0 {
            let _ = job.reply.send(Err(NOT_UNDERSTOOD));
        }
    }

    /// One call for all of `batch`. The jobs that it did not decide since their windows lie elsewhere, and the instant of the server.
    async fn call_around(&self, around: Timestamp, slot: u16, batch: Vec<Job>) -> (Vec<Job>, Timestamp) {
        count(&self.counters.calls, 1);
        count(&self.counters.called_checks, u64::try_from(batch.len()).unwrap_or(u64::MAX));
        let items = batch.iter().map(|job| job.lines.len()).fold(0, usize::saturating_add);
        let now = batch.first().and_then(|job| self.caller_clock(job.now));
        let call = Call::check(batch.iter().map(|job| &job.lines), around, now);
        let sent = Instant::now();
        let result =
            self.topology.call(slot, &self.scripts.check, &call, sent + self.settings.deadline).await;
        let received = Instant::now();
        let mut reply = match result.and_then(|value| Reply::read(value, items)) {
            Ok(reply) => reply,
            Err(error) => {
                for job in batch {
                    let _ = job.reply.send(Err(error.clone()));
                }
                return (Vec::new(), around);
            }
        };
        if reply.unreadable > 0 {
            self.report_unreadable(reply.unreadable);
        }
        let mut unplaced = Vec::new();
        for job in batch {
            let answer = match reply.take(&job.lines) {
                Ok(Some(executed)) => Ok(Answer { executed, sent, received }),
                Ok(None) => {
                    unplaced.push(job);
                    continue;
                }
                Err(error) => Err(error),
            };
            let _ = job.reply.send(answer);
        }
        (unplaced, reply.at())
    }

    /// Says so in the log, but rarely: a state that is only looked at stays as it is.
    pub(crate) fn report_unreadable(&self, states: u64) {
        let before = count(&self.counters.unreadable_states, states);
        let total = before.saturating_add(states);
        if before.checked_ilog2() != total.checked_ilog2() {
            tracing::warn!(
                total,
                "states in the store cannot be read and count as absent: other data under our prefix?"
            );
        }
    }
}

/// Works on a lane until nobody waits in it.
async fn work(inner: Arc<Inner>, slot: u16) {
    let Some(lane) = inner.lanes.get(usize::from(slot)) else { return };
    let mut done = 0;
    loop {
        let batch = lane.next(inner.bounds(), done);
        if batch.is_empty() {
            return;
        }
        done = batch.len();
        inner.call(slot, batch).await;
    }
}

/// A place among those who wait; given back when the caller has its answer or gives up.
pub(crate) struct Place<'a>(&'a Inner);

impl<'a> Place<'a> {
    pub(crate) fn take(inner: &'a Inner) -> Result<Self, StoreError> {
        let place = Self(inner);
        if inner.waiters.fetch_add(1, Ordering::Relaxed) >= inner.settings.max_waiters {
            return Err(StoreError::Overloaded);
        }
        Ok(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}
