//! Threads: each worker owns a single-threaded runtime, its listening sockets, its services and their upstream
//! connections, so that a request never leaves its thread.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::runtime::{self, LocalOptions};
use tokio::sync::watch;

use crate::edge::{BoxError, RequestBody};
use crate::error::Error;
use crate::listener::Listeners;
use crate::settings::ServerSettings;
use crate::unix_socket::SocketFile;
use crate::worker::Worker;

/// Starts serving on `listeners`, which must have been bound for the settings' number of workers.
///
/// `make` is called once on every worker's thread and returns the service of that worker, which need not be `Send`: what
/// workers share (an engine, a limiter) is captured in `make` behind an `Arc`. The service is cloned for every connection
/// and every request, so a clone must be cheap. Requests carry a [`PeerInfo`](crate::PeerInfo) extension. A service that
/// fails takes its connection down; one that answers with an error status does not.
///
/// # Errors
///
/// [`Error::Worker`] if a thread or its runtime cannot be started; those already started are shut down.
pub fn serve<M, S, B>(settings: ServerSettings, listeners: Listeners, make: M) -> Result<Running, Error>
where
    M: Fn(&Worker) -> S + Send + Sync + 'static,
    S: tower_service::Service<Request<RequestBody>, Response = Response<B>> + Clone + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<BoxError>,
{
    let (settings, make) = (Arc::new(settings), Arc::new(make));
    let (shutdown, signal) = watch::channel(false);
    let addresses = listeners.addresses().into();
    let (workers, file) = listeners.into_workers();
    let mut running = Running { addresses, file, shutdown, threads: Vec::new() };
    for (index, listeners) in workers.into_iter().enumerate() {
        let (settings, make, signal) = (Arc::clone(&settings), Arc::clone(&make), signal.clone());
        let (started, ready) = sync_channel(1);
        let thread = Builder::new().name(format!("cupo-worker-{index}")).spawn(move || {
            // A local runtime cannot move to another thread, so it is built on its own.
            match runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime.block_on(async move {
                    let worker = Worker::new(index, settings);
                    let service = make(&worker);
                    let _ = started.send(Ok(()));
                    worker.run(listeners, service, signal).await.map_err(Error::Worker)
                }),
                Err(error) => {
                    let _ = started.send(Err(error));
                    Ok(())
                }
            }
        });
        running.threads.push(thread.map_err(Error::Worker)?);
        let ended = |_| Err(std::io::Error::other("it ended at once"));
        ready.recv().unwrap_or_else(ended).map_err(Error::Worker)?;
    }
    Ok(running)
}

/// A server that is running. Dropping it shuts it down without waiting.
#[derive(Debug)]
pub struct Running {
    addresses: Box<[SocketAddr]>,
    /// Removed with this.
    file: Option<SocketFile>,
    shutdown: watch::Sender<bool>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Running {
    /// The addresses listened on; none on a Unix socket.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The path of the Unix socket listened on.
    #[must_use]
    pub fn socket_path(&self) -> Option<&Path> {
        self.file.as_ref().map(SocketFile::path)
    }

    /// A handle that can ask for a graceful shutdown from anywhere.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.shutdown.clone())
    }

    /// Asks for a graceful shutdown and returns at once: the health endpoint says 503; after the drain notice no
    /// connection is accepted, requests in flight are finished (HTTP/1 connections close, HTTP/2 ones get a GOAWAY) within
    /// the drain timeout, and then everything left is cut, tunnels included.
    pub fn stop(&self) {
        self.stopper().stop();
    }

    /// Blocks until every worker has ended.
    ///
    /// # Errors
    ///
    /// The first error of a worker.
    pub fn join(mut self) -> Result<(), Error> {
        let mut result = Ok(());
        for thread in std::mem::take(&mut self.threads) {
            let ended =
                thread.join().unwrap_or_else(|_| Err(Error::Worker(std::io::Error::other("it panicked"))));
            result = result.and(ended);
        }
        result
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Asks a server for a graceful shutdown; see [`Running::stop`].
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Asks once; asking again changes nothing.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}
