//! A cluster: a node per server, and a background task that keeps the layout.
//!
//! The client library has a cluster client of its own. It is not used, because it sends a command again whose connection broke or whose
//! answer did not come, and a check must not be counted twice. Here only what certainly did not run is sent again.

use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;

use cupo_core::StoreError;
use parking_lot::RwLock;
use redis::Value;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use super::layout;
use crate::codec::Call;
use crate::connect::{Login, Opener};
use crate::error::ConnectionError;
use crate::fault::Fault;
use crate::find::Finder;
use crate::name::SLOTS;
use crate::node::Node;
use crate::script::Script;
use crate::settings::{Address, RedisSettings};

/// Redirections that one call follows.
const HOPS: u32 = 5;
/// The wait before a call whose keys are on their way is sent again.
const ON_THE_WAY: Duration = Duration::from_millis(2);
/// How often the layout is asked for at most, and how often if nobody complains.
const CALM: Duration = Duration::from_millis(100);
const ROUND: Duration = Duration::from_secs(5);

/// A cluster.
#[derive(Debug)]
pub(crate) struct Cluster {
    shared: Arc<Shared>,
    keeper: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    seeds: Vec<Address>,
    opener: Arc<Opener>,
    login: Login,
    settings: RedisSettings,
    runtime: Handle,
    map: RwLock<Map>,
    /// Whether there is a layout yet; an error while none could be had.
    known: watch::Sender<Result<bool, ConnectionError>>,
    stale: Notify,
}

#[derive(Debug, Default)]
struct Map {
    nodes: HashMap<Address, Arc<Node>>,
    /// The address of the owner of each slot, by index into `owners`.
    slots: Vec<Option<Address>>,
}

/// Something that can be sent to the owner of a slot.
enum Request<'a> {
    Script(&'a Script, &'a Call),
    Command(&'a redis::Cmd),
}

impl Cluster {
    pub(super) fn new(
        seeds: Vec<Address>,
        opener: Arc<Opener>,
        login: Login,
        settings: &RedisSettings,
        runtime: &Handle,
    ) -> Self {
        let map = Map { nodes: HashMap::new(), slots: vec![None; usize::from(SLOTS)] };
        let shared = Arc::new(Shared {
            seeds,
            opener,
            login,
            settings: settings.clone(),
            runtime: runtime.clone(),
            map: RwLock::new(map),
            known: watch::Sender::new(Ok(false)),
            stale: Notify::new(),
        });
        let keeper = runtime.spawn(keep(Arc::clone(&shared)));
        Self { shared, keeper }
    }

    pub(super) fn refuses(&self, slot: u16) -> Option<StoreError> {
        if let Err(error) = &*self.shared.known.borrow() {
            return Some(error.store_error());
        }
        let (node, _) = self.shared.owner(slot)?;
        let refusal = node.refuses();
        if refusal.is_some() {
            self.shared.stale.notify_one();
        }
        refusal
    }

    pub(super) fn nodes(&self) -> Vec<Arc<Node>> {
        self.shared.map.read().nodes.values().cloned().collect()
    }

    pub(super) async fn call(
        &self,
        slot: u16,
        script: &Script,
        call: &Call,
        until: Instant,
    ) -> Result<Value, StoreError> {
        self.send(slot, &Request::Script(script, call), until).await
    }

    pub(super) async fn command(
        &self,
        slot: u16,
        command: &redis::Cmd,
        until: Instant,
    ) -> Result<Value, StoreError> {
        self.send(slot, &Request::Command(command), until).await
    }

    async fn send(&self, slot: u16, request: &Request<'_>, until: Instant) -> Result<Value, StoreError> {
        let (mut node, mut address) = self.owner(slot, until).await?;
        let mut asking = false;
        let mut hops = 0_u32;
        loop {
            let result = match request {
                Request::Script(script, call) => node.call(script, call, asking, until).await,
                Request::Command(command) => node.command(command, until).await.map(|(value, _)| value),
            };
            let fault = match result {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            let next = match &fault {
                Fault::Moved(to) | Fault::Ask(to) => layout::redirected(to, &address),
                Fault::TryAgain => Some(address.clone()),
                Fault::Timeout | Fault::Broken | Fault::Refused(_) | Fault::NoScript => {
                    self.shared.stale.notify_one();
                    None
                }
            };
            hops = hops.saturating_add(1);
            let Some(next) = next.filter(|_| hops <= HOPS && Instant::now() < until) else {
                return Err(fault.store_error());
            };
            match fault {
                Fault::TryAgain => {
                    // Waiting for keys is no redirection.
                    hops = hops.saturating_sub(1);
                    sleep(ON_THE_WAY).await;
                }
                Fault::Moved(_) => {
                    self.shared.assign(slot, next.clone());
                    self.shared.stale.notify_one();
                    asking = false;
                }
                _ => asking = true,
            }
            node = self.shared.node(&next);
            address = next;
        }
    }

    /// The owner of a slot, as soon as the layout is known.
    async fn owner(&self, slot: u16, until: Instant) -> Result<(Arc<Node>, Address), StoreError> {
        let mut known = self.shared.known.subscribe();
        loop {
            let now = known.borrow_and_update().clone();
            match now {
                Err(error) => return Err(error.store_error()),
                Ok(true) => {
                    return self.shared.owner(slot).ok_or_else(|| {
                        self.shared.stale.notify_one();
                        StoreError::Refused(cupo_core::Refusal::ClusterDown)
                    });
                }
                Ok(false) => {}
            }
            match timeout_at(until, known.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(StoreError::Unavailable),
                Err(_) => return Err(StoreError::Timeout),
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Shared {
    fn owner(&self, slot: u16) -> Option<(Arc<Node>, Address)> {
        let map = self.map.read();
        let address = map.slots.get(usize::from(slot))?.as_ref()?;
        Some((Arc::clone(map.nodes.get(address)?), address.clone()))
    }

    fn assign(&self, slot: u16, address: Address) {
        self.node(&address);
        if let Some(owner) = self.map.write().slots.get_mut(usize::from(slot)) {
            *owner = Some(address);
        }
    }

    /// The node at `address`, which is connected to from now on.
    fn node(&self, address: &Address) -> Arc<Node> {
        if let Some(node) = self.map.read().nodes.get(address) {
            return Arc::clone(node);
        }
        let fresh = || {
            Arc::new(Node::new(
                Finder::ClusterNode(address.clone()),
                Arc::clone(&self.opener),
                self.login.clone(),
                &self.settings,
                &self.runtime,
            ))
        };
        Arc::clone(self.map.write().nodes.entry(address.clone()).or_insert_with(fresh))
    }

    fn adopt(&self, ranges: &[layout::Range]) {
        for range in ranges {
            self.node(&range.primary);
        }
        let mut map = self.map.write();
        for owner in &mut map.slots {
            *owner = None;
        }
        for range in ranges {
            for slot in range.first..=range.last {
                if let Some(owner) = map.slots.get_mut(usize::from(slot)) {
                    *owner = Some(range.primary.clone());
                }
            }
        }
        map.nodes.retain(|address, _| ranges.iter().any(|range| range.primary == *address));
    }

    /// Asks for the layout: nodes that are connected first, then the addresses that were given.
    async fn refresh(&self) -> Result<(), ConnectionError> {
        let nodes: Vec<(Address, Arc<Node>)> =
            self.map.read().nodes.iter().map(|(address, node)| (address.clone(), Arc::clone(node))).collect();
        let mut command = redis::cmd("CLUSTER");
        command.arg("SLOTS");
        let patience = self.settings.deadline.max(Duration::from_millis(200));
        for (address, node) in nodes {
            if !matches!(node.connection(), crate::node::Connection::Up(_)) {
                continue;
            }
            let Ok((reply, _)) = node.command(&command, Instant::now() + patience).await else { continue };
            if let Ok(ranges) = layout::read(&reply, &address)
                && !ranges.is_empty()
            {
                self.adopt(&ranges);
                return Ok(());
            }
        }
        let mut failure = ConnectionError::NoLayout(self.seeds.len());
        for seed in &self.seeds {
            let finder = Finder::ClusterNode(seed.clone());
            let (mut connection, address) = match finder.connect(&self.opener, &self.login).await {
                Ok(found) => found,
                Err(error) => {
                    failure = error;
                    continue;
                }
            };
            let within = self.opener.within();
            match tokio::time::timeout(within, command.query_async::<Value>(&mut connection)).await {
                Err(_) => failure = ConnectionError::Silent(within),
                Ok(Err(error)) => failure = crate::fault::connection_error(error, within),
                Ok(Ok(reply)) => match layout::read(&reply, &address) {
                    Ok(ranges) if ranges.is_empty() => {}
                    Ok(ranges) => {
                        self.adopt(&ranges);
                        return Ok(());
                    }
                    Err(error) => failure = error,
                },
            }
        }
        Err(failure)
    }
}

/// Keeps the layout fresh.
async fn keep(shared: Arc<Shared>) {
    let mut backoff = crate::backoff::Backoff::default();
    loop {
        match shared.refresh().await {
            Ok(()) => {
                backoff.reset();
                if !matches!(*shared.known.borrow(), Ok(true)) {
                    let _ = shared.known.send_replace(Ok(true));
                }
                sleep(CALM).await;
                tokio::select! {
                    () = shared.stale.notified() => {}
                    () = sleep(ROUND) => {}
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot learn the layout of the cluster");
                // An old layout is better than none: its nodes say themselves what they can do.
                if !matches!(*shared.known.borrow(), Ok(true)) {
                    let _ = shared.known.send_replace(Err(error));
                }
                sleep(backoff.next()).await;
            }
        }
    }
}
