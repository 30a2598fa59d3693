//! One server: a connection that a background task keeps, and calls on it.
//!
//! Nobody who calls ever connects, and nobody who connects holds a lock. While the first attempt is under way callers wait for it,
//! at most until their deadline; once an attempt has failed they are told so at once, until another succeeds.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

use cupo_core::{Refusal, StoreError};
use redis::Value;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::backoff::Backoff;
use crate::breaker::Breaker;
use crate::codec::{By, Call};
use crate::connect::{Login, Opener, hello};
use crate::error::ConnectionError;
use crate::fault::Fault;
use crate::find::Finder;
use crate::script::Script;
use crate::settings::{Address, RedisSettings};

/// Calls without an answer in a row after which a connection is given up.
const STRIKES: u32 = 2;
/// How often a connection is looked after that nobody complains about.
const ROUND: Duration = Duration::from_secs(2);
/// A connection that lived for less is followed by a wait.
const STABLE: Duration = Duration::from_secs(1);

/// A server.
#[derive(Debug)]
pub(crate) struct Node {
    shared: Arc<Shared>,
    keeper: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    finder: Finder,
    opener: Arc<Opener>,
    login: Login,
    patience: Duration,
    state: watch::Sender<Connection>,
    breaker: Breaker,
    strikes: AtomicU32,
    /// The youngest connection that is to be given up.
    condemned: AtomicU64,
    trouble: Notify,
}

/// The connection to a server.
#[derive(Debug, Clone)]
pub(crate) enum Connection {
    /// The first attempt, or the first after a loss, is under way.
    Connecting,
    /// It is there.
    Up(Live),
    /// The last attempt failed.
    Down(ConnectionError),
}

/// A connection that works as far as is known.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    id: u64,
    address: Address,
    connection: MultiplexedConnection,
}

impl Node {
    /// A server that is connected to in the background from now on.
    pub(crate) fn new(
        finder: Finder,
        opener: Arc<Opener>,
        login: Login,
        settings: &RedisSettings,
        runtime: &tokio::runtime::Handle,
    ) -> Self {
        let shared = Arc::new(Shared {
            finder,
            opener,
            login,
            patience: settings.deadline.max(Duration::from_millis(500)).min(settings.connect_timeout),
            state: watch::Sender::new(Connection::Connecting),
            breaker: Breaker::new(settings.breaker, settings.deadline.saturating_mul(2)),
            strikes: AtomicU32::new(0),
            condemned: AtomicU64::new(0),
            trouble: Notify::new(),
        });
        let keeper = runtime.spawn(keep(Arc::clone(&shared)));
        Self { shared, keeper }
    }

    /// Why a check need not be sent now, if so.
    pub(crate) fn refuses(&self) -> Option<StoreError> {
        if let Connection::Down(error) = &*self.shared.state.borrow() {
            return Some(error.store_error());
        }
        (!self.shared.breaker.allows()).then_some(StoreError::Resting)
    }

    pub(crate) fn connection(&self) -> Connection {
        self.shared.state.borrow().clone()
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.shared.breaker.is_open()
    }

    /// The connection, as soon as there is one.
    pub(crate) async fn live(&self, until: Instant) -> Result<Live, Fault> {
        if let Connection::Up(live) = &*self.shared.state.borrow() {
            return Ok(live.clone());
        }
        let mut states = self.shared.state.subscribe();
        loop {
            match &*states.borrow_and_update() {
                Connection::Up(live) => return Ok(live.clone()),
                Connection::Down(error) => {
                    return Err(match error.store_error() {
                        StoreError::Refused(refusal) => Fault::Refused(refusal),
                        StoreError::Timeout => Fault::Timeout,
                        _ => Fault::Broken,
                    });
                }
                Connection::Connecting => {}
            }
            match timeout_at(until, states.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(Fault::Broken),
                Err(_) => return Err(Fault::Timeout),
            }
        }
    }

    /// Calls `script`. Where the server does not know it, nothing ran, and its text is sent on the same connection. Nothing is ever
    /// sent again that may have run.
    pub(crate) async fn call(
        &self,
        script: &Script,
        call: &Call,
        asking: bool,
        until: Instant,
    ) -> Result<Value, Fault> {
        let mut live = match self.live(until).await {
            Ok(live) => live,
            Err(fault) => {
                self.shared.breaker.failed();
                return Err(fault);
            }
        };
        let result = match live.send(&call.command(script, By::Hash), asking, until).await {
            Err(Fault::NoScript) => live.send(&call.command(script, By::Text), asking, until).await,
            result => result,
        };
        self.judge(&live, result.as_ref().err());
        result
    }

    /// Sends one command that is no script.
    pub(crate) async fn command(
        &self,
        command: &redis::Cmd,
        until: Instant,
    ) -> Result<(Value, Address), Fault> {
        let mut live = self.live(until).await?;
        let result = live.send(command, false, until).await;
        self.judge(&live, result.as_ref().err());
        result.map(|value| (value, live.address))
    }

    /// Whether a refusal means that the primary is to be looked for again. The nodes of a cluster are looked for by the cluster.
    fn is_elsewhere(&self, refusal: Refusal) -> bool {
        let may_move = !matches!(self.shared.finder, Finder::ClusterNode(_));
        may_move && matches!(refusal, Refusal::ReadOnly | Refusal::ClusterDown | Refusal::Unauthenticated)
    }

    /// Draws the conclusions from how a call went.
    fn judge(&self, live: &Live, fault: Option<&Fault>) {
        let Shared { breaker, strikes, .. } = &*self.shared;
        let (failed, condemn) = match fault {
            None | Some(Fault::Moved(_) | Fault::Ask(_) | Fault::TryAgain) => (false, false),
            Some(Fault::Timeout) => {
                (true, strikes.fetch_add(1, Ordering::Relaxed).saturating_add(1) >= STRIKES)
            }
            Some(Fault::Broken | Fault::NoScript) => (true, true),
            Some(Fault::Refused(refusal)) => (true, self.is_elsewhere(*refusal)),
        };
        if !matches!(fault, Some(Fault::Timeout)) {
            strikes.store(0, Ordering::Relaxed);
        }
        if condemn {
            self.shared.condemned.fetch_max(live.id, Ordering::Relaxed);
            self.shared.trouble.notify_one();
        }
        if !failed {
            breaker.succeeded();
        } else if breaker.failed() {
            tracing::warn!(server = %self.shared.finder.label(), ?fault, "the store fails repeatedly and is left alone for a moment");
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Live {
    async fn send(&mut self, command: &redis::Cmd, asking: bool, until: Instant) -> Result<Value, Fault> {
        let answer = async {
            if asking {
                let mut pair = redis::pipe();
                pair.cmd("ASKING").ignore().add_command(command.clone());
                let mut answers = self.connection.req_packed_commands(&pair, 1, 1).await?;
                return answers.pop().map_or(Ok(Value::Nil), top_error);
            }
            self.connection.req_packed_command(command).await.and_then(top_error)
        };
        match timeout_at(until, answer).await {
            Ok(answer) => answer.map_err(|error| {
                let fault = Fault::of(&error);
                if matches!(fault, Fault::Refused(Refusal::Protocol)) {
                    tracing::error!(server = %self.address, %error, "the store answers in a way that is not understood");
                }
                fault
            }),
            Err(_) => Err(Fault::Timeout),
        }
    }
}

/// An error as an error. The script's replies hold none further inside.
fn top_error(value: Value) -> redis::RedisResult<Value> {
    match value {
        Value::ServerError(error) => Err(error.into()),
        value => Ok(value),
    }
}

/// Connects, watches, and connects again, for ever.
async fn keep(shared: Arc<Shared>) {
    let mut backoff = Backoff::default();
    let mut id = 0_u64;
    loop {
        match shared.finder.connect(&shared.opener, &shared.login).await {
            Ok((connection, address)) => {
                id = id.saturating_add(1);
                tracing::info!(server = %address, "connected to the store");
                shared.strikes.store(0, Ordering::Relaxed);
                shared.state.send_replace(Connection::Up(Live {
                    id,
                    address: address.clone(),
                    connection: connection.clone(),
                }));
                shared.breaker.may_try();
                let since = Instant::now();
                let why = shared.watch(id, address, connection).await;
                tracing::warn!(server = %shared.finder.label(), why, "the connection to the store is given up");
                shared.state.send_replace(Connection::Connecting);
                if since.elapsed() >= STABLE {
                    backoff.reset();
                } else {
                    sleep(backoff.next()).await;
                }
            }
            Err(error) => {
                let is_news = !matches!(&*shared.state.borrow(), Connection::Down(old) if old.to_string() == error.to_string());
                if is_news {
                    tracing::warn!(server = %shared.finder.label(), %error, "cannot connect to the store");
                }
                shared.state.send_replace(Connection::Down(error));
                sleep(backoff.next()).await;
            }
        }
    }
}

impl Shared {
    /// Returns when the connection is of no more use, with the reason.
    async fn watch(&self, id: u64, address: Address, mut connection: MultiplexedConnection) -> &'static str {
        loop {
            tokio::select! {
                () = self.trouble.notified() => {
                    if self.condemned.load(Ordering::Relaxed) >= id {
                        return "calls on it failed";
                    }
                }
                () = sleep(ROUND) => match hello(&mut connection, self.patience).await {
                    Err(_) => return "it does not answer",
                    Ok(hello) if self.finder.accept(&hello).is_err() => return "the server changed its role",
                    Ok(_) => {
                        // Who cannot be asked changes nothing while the connection works.
                        if let Ok(now) = self.finder.find(&self.opener).await && now != address {
                            return "another server is the primary now";
                        }
                    }
                },
            }
        }
    }
}
