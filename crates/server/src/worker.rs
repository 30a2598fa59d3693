//! One worker: a thread's listeners, connections and shutdown.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout_at};

use crate::connection::{self, Protocols};
use crate::edge::{BoxError, RequestBody};
use crate::listener::{self, Listener};
use crate::peer::PeerInfo;
use crate::settings::ServerSettings;
use crate::stream::ClientStream;
use crate::timers::Timers;

/// How long accepting pauses when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The worker that a service runs on; belongs to one thread, and is cheap to clone.
#[derive(Debug, Clone)]
pub struct Worker(Rc<State>);

#[derive(Debug)]
struct State {
    index: usize,
    settings: Arc<ServerSettings>,
    timers: Timers,
    /// Taking no new work: the health endpoint says so.
    draining: Cell<bool>,
    /// Since when connections are being finished.
    drain_since: Cell<Option<u64>>,
    connections: Cell<usize>,
    ended: Notify,
}

impl Worker {
    pub(crate) fn new(index: usize, settings: Arc<ServerSettings>) -> Self {
        Self(Rc::new(State {
            index,
            settings,
            timers: Timers::default(),
            draining: Cell::new(false),
            drain_since: Cell::new(None),
            connections: Cell::new(0),
            ended: Notify::new(),
        }))
    }

    /// Its number, from zero.
    #[must_use]
    pub fn index(&self) -> usize {
        self.0.index
    }

    /// The settings of the server.
    #[must_use]
    pub fn settings(&self) -> &ServerSettings {
        &self.0.settings
    }

    /// Whether the server is going away.
    #[must_use]
    pub fn draining(&self) -> bool {
        self.0.draining.get()
    }

    /// Client connections now open, without those that became tunnels.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.0.connections.get()
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.0.timers
    }

    pub(crate) fn drain_since(&self) -> Option<u64> {
        self.0.drain_since.get()
    }

    /// Serves connections until told to shut down, then until they have ended or the drain timeout has passed. What is
    /// left then, and every tunnel, ends with the runtime.
    pub(crate) async fn run<S, B>(
        self,
        listeners: Vec<Listener>,
        service: S,
        mut shutdown: watch::Receiver<bool>,
    ) -> io::Result<()>
    where
        S: tower_service::Service<Request<RequestBody>, Response = Response<B>> + Clone + 'static,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + 'static,
        B::Error: Into<BoxError>,
    {
        drop(tokio::task::spawn_local(self.timers().clone().run()));
        let protocols = Protocols::new(self.settings());
        let mut accepting = Vec::with_capacity(listeners.len());
        for listener in listeners {
            let listener = Accepting::new(listener)?;
            let (worker, service, protocols) = (self.clone(), service.clone(), protocols.clone());
            let stop = shutdown.clone();
            accepting.push(tokio::task::spawn_local(worker.accept(listener, service, protocols, stop)));
        }
        // An error says that whoever could have told us is gone.
        let _ = shutdown.wait_for(|&stop| stop).await;
        self.0.draining.set(true);
        for listener in accepting {
            let _ = listener.await;
        }
        self.0.drain_since.set(Some(self.timers().clock().now()));
        self.timers().wake_all();
        let deadline = Instant::now() + self.settings().drain_timeout;
        while self.connections() > 0 {
            if timeout_at(deadline, self.0.ended.notified()).await.is_err() {
                tracing::warn!(
                    worker = self.index(),
                    connections = self.connections(),
                    "drain timeout: cutting"
                );
                break;
            }
        }
        Ok(())
    }

    async fn accept<S, B>(
        self,
        listener: Accepting,
        service: S,
        protocols: Protocols,
        mut shutdown: watch::Receiver<bool>,
    ) where
        S: tower_service::Service<Request<RequestBody>, Response = Response<B>> + Clone + 'static,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + 'static,
        B::Error: Into<BoxError>,
    {
        let notice = self.settings().drain_notice;
        let mut stop = std::pin::pin!(async move {
            let _ = shutdown.wait_for(|&stop| stop).await;
            sleep(notice).await;
        });
        loop {
            tokio::select! {
                biased;
                accepted = self.next(&listener) => match accepted {
                    Ok((stream, peer)) => {
                        let guard = Connected::new(self.clone());
                        let (service, worker, protocols) = (service.clone(), self.clone(), protocols.clone());
                        drop(tokio::task::spawn_local(async move {
                            connection::serve(stream, peer, service, worker, protocols).await;
                            drop(guard);
                        }));
                    }
                    Err(error) => self.refused(&error).await,
                },
                // Last, so that what already waits in the queue is served and not reset.
                () = &mut stop => return,
            }
        }
    }

    /// The next connection, as soon as there is room for one.
    async fn next(&self, listener: &Accepting) -> io::Result<(ClientStream, PeerInfo)> {
        while self.connections() >= self.settings().max_connections {
            self.0.ended.notified().await;
        }
        listener.accept().await
    }

    /// Waits out a shortage; an error of the connection that was to be accepted is no reason to wait.
    async fn refused(&self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            tracing::warn!(%error, "cannot accept connections");
            sleep(ACCEPT_PAUSE).await;
        }
    }
}

/// A listening socket on its worker.
enum Accepting {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Accepting {
    fn new(listener: Listener) -> io::Result<Self> {
        Ok(match listener {
            Listener::Tcp(listener) => Self::Tcp(TcpListener::from_std(listener)?),
            Listener::Unix(listener) => Self::Unix(UnixListener::from_std(listener)?),
        })
    }

    async fn accept(&self) -> io::Result<(ClientStream, PeerInfo)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, addr) = listener.accept().await?;
                listener::tune(&stream);
                Ok((ClientStream::Tcp(stream), PeerInfo::new(addr)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((ClientStream::Unix(stream), PeerInfo::unix()))
            }
        }
    }
}

/// Counts a connection until dropped.
struct Connected(Worker);

impl Connected {
    fn new(worker: Worker) -> Self {
        worker.0.connections.set(worker.connections() + 1);
        Self(worker)
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        let state = &self.0.0;
        state.connections.set(state.connections.get().saturating_sub(1));
        state.ended.notify_one();
    }
}
