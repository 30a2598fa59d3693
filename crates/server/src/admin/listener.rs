//! The listener, its thread and its connections.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::Admin;
use super::auth::Link;
use super::router::answer;
use super::tls;
use crate::error::Error;
use crate::unix_socket::{self, SocketFile};

/// Connections at once: administrators are few.
const MOST_CONNECTIONS: usize = 64;

/// How long a client may take for a head, or rest between requests; and for a handshake.
const HEAD_TIME: Duration = Duration::from_secs(10);
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// How long a connection may last in all, so that none holds its place for ever.
const CONNECTION_TIME: Duration = Duration::from_secs(600);

/// How long accepting pauses when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long requests in flight may take at the end.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// A socket that administrators reach.
#[derive(Debug)]
pub struct AdminListener {
    socket: Socket,
    address: Option<SocketAddr>,
    file: Option<SocketFile>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl AdminListener {
    /// Listens on `address`; port 0 takes a free one.
    ///
    /// # Errors
    /// [`Error::Listen`] if it cannot be had.
    pub fn bind(address: SocketAddr) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address, source };
        let socket = TcpListener::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { socket: Socket::Tcp(socket), address: Some(address), file: None })
    }

    /// Listens on a Unix socket, whose file gets the permissions `mode`, takes the place of a socket that nobody listens on any
    /// more, and is removed at the end.
    ///
    /// # Errors
    /// [`Error::ListenUnix`] if it cannot be had.
    pub fn bind_unix(path: &Path, mode: u32) -> Result<Self, Error> {
        let failed = |source| Error::ListenUnix { path: path.into(), source };
        let (socket, file) = unix_socket::listen(path, mode).map_err(failed)?;
        Ok(Self { socket: Socket::Unix(socket), address: None, file: Some(file) })
    }

    /// The address listened on; none of a Unix socket.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    pub(super) fn start(self, admin: Arc<Admin>) -> Result<RunningAdmin, Error> {
        let (shutdown, signal) = watch::channel(false);
        let (started, ready) = sync_channel(1);
        let socket = self.socket;
        let thread = Builder::new().name("cupo-admin".to_owned()).spawn(move || {
            let runtime = match runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(started.send(Err(error))),
            };
            runtime.block_on(async move {
                match socket {
                    Socket::Tcp(socket) => match tokio::net::TcpListener::from_std(socket) {
                        Ok(socket) => {
                            let _ = started.send(Ok(()));
                            let accept = async || socket.accept().await.map(|(stream, _)| stream);
                            accept_all(accept, false, admin, signal).await;
                        }
                        Err(error) => drop(started.send(Err(error))),
                    },
                    Socket::Unix(socket) => match tokio::net::UnixListener::from_std(socket) {
                        Ok(socket) => {
                            let _ = started.send(Ok(()));
                            let accept = async || socket.accept().await.map(|(stream, _)| stream);
                            accept_all(accept, true, admin, signal).await;
                        }
                        Err(error) => drop(started.send(Err(error))),
                    },
                }
            });
        });
        let thread = thread.map_err(Error::Worker)?;
        let ended = |_| Err(io::Error::other("it ended at once"));
        ready.recv().unwrap_or_else(ended).map_err(Error::Worker)?;
        Ok(RunningAdmin { address: self.address, file: self.file, shutdown, thread: Some(thread) })
    }
}

/// An admin API that is running. Dropping it shuts it down without waiting.
#[derive(Debug)]
pub struct RunningAdmin {
    address: Option<SocketAddr>,
    /// Removed with this.
    file: Option<SocketFile>,
    shutdown: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl RunningAdmin {
    /// The address listened on; none of a Unix socket.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The path of the Unix socket listened on.
    #[must_use]
    pub fn socket_path(&self) -> Option<&Path> {
        self.file.as_ref().map(SocketFile::path)
    }

    /// Finishes what is in flight, within a few seconds, and ends.
    pub fn stop(mut self) {
        self.shutdown.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // Its panics are its own.
            let _ = thread.join();
        }
    }
}

impl Drop for RunningAdmin {
    fn drop(&mut self) {
        self.shutdown.send_replace(true);
    }
}

async fn accept_all<S>(
    accept: impl AsyncFn() -> io::Result<S>,
    unix: bool,
    admin: Arc<Admin>,
    mut signal: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = tokio::select! {
            _ = signal.changed() => break,
            accepted = accept() => match accepted {
                Ok(stream) => stream,
                Err(error) => {
                    tracing::debug!(%error, "an administrator could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        let (admin, signal) = (Arc::clone(&admin), signal.clone());
        tokio::spawn(async move {
            let _ = timeout(CONNECTION_TIME, greet(stream, unix, admin, signal)).await;
            drop(place);
        });
    }
    let all = u32::try_from(MOST_CONNECTIONS).unwrap_or(u32::MAX);
    let _ = timeout(DRAIN_TIME, places.acquire_many(all)).await;
}

async fn greet<S>(stream: S, unix: bool, admin: Arc<Admin>, signal: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(tls) = &admin.settings.tls else {
        return serve(stream, Link { unix, subject: None }, admin, signal).await;
    };
    match timeout(HANDSHAKE_TIME, tls.acceptor.accept(stream)).await {
        Ok(Ok(stream)) => {
            let subject = tls::subject(stream.get_ref().1);
            serve(stream, Link { unix, subject }, admin, signal).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "an administrator was not let in"),
        Err(_) => tracing::debug!("an administrator took too long to say hello"),
    }
}

async fn serve<S>(stream: S, link: Link, admin: Arc<Admin>, mut signal: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let (admin, link) = (Arc::clone(&admin), link.clone());
        async move { Ok::<_, Infallible>(answer(admin, link, request).await.map(Full::new)) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = signal.wait_for(|stopped| *stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
