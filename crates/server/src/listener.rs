//! Listening sockets: one per address and worker, so that the kernel spreads connections and workers share nothing.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::TcpStream;

use crate::error::Error;
use crate::unix_socket::{self, SocketFile};

/// Connections that may wait to be accepted, per socket.
pub(crate) const BACKLOG: i32 = 1_024;

/// After this long without a byte the kernel asks whether the other end is still there.
const PROBE_AFTER: Duration = Duration::from_secs(60);

/// Sockets bound for a number of workers.
#[derive(Debug)]
pub struct Listeners {
    addresses: Vec<SocketAddr>,
    file: Option<SocketFile>,
    per_worker: Vec<Vec<Listener>>,
}

/// A socket of a worker.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listeners {
    /// Listens on every address, once per worker (`SO_REUSEPORT`). Port 0 takes a free port, the same for all workers. An address
    /// that anybody listens on is taken, also where that is another process which shares its port among workers as well: two
    /// gateways would each enforce the whole limit.
    ///
    /// # Errors
    ///
    /// [`Error::NoAddress`] if there is none, [`Error::Listen`] if one cannot be had.
    pub fn bind(addresses: &[SocketAddr], workers: NonZeroUsize) -> Result<Self, Error> {
        if addresses.is_empty() {
            return Err(Error::NoAddress);
        }
        let mut bound = Vec::with_capacity(addresses.len());
        let mut per_worker: Vec<Vec<Listener>> = (0..workers.get()).map(|_| Vec::new()).collect();
        for &address in addresses {
            let failed = |source| Error::Listen { address, source };
            let mut actual = address;
            let mut sharing = Sharing::Founds;
            for worker in &mut per_worker {
                let listener = listen(actual, sharing).map_err(failed)?;
                actual = listener.local_addr().map_err(failed)?;
                sharing = Sharing::Joins;
                worker.push(Listener::Tcp(listener));
            }
            bound.push(actual);
        }
        Ok(Self { addresses: bound, file: None, per_worker })
    }

    /// Listens on a Unix socket, which all workers share. Its file gets the permissions `mode`, takes the place of a socket that
    /// nobody listens on any more, and is removed at the end.
    ///
    /// # Errors
    ///
    /// [`Error::ListenUnix`] if it cannot be had: somebody listens there, or the file is no socket, for example.
    pub fn bind_unix(path: &Path, mode: u32, workers: NonZeroUsize) -> Result<Self, Error> {
        let failed = |source| Error::ListenUnix { path: path.into(), source };
        let (listener, file) = unix_socket::listen(path, mode).map_err(failed)?;
        let mut per_worker = Vec::with_capacity(workers.get());
        for _ in 0..workers.get() {
            per_worker.push(vec![Listener::Unix(listener.try_clone().map_err(failed)?)]);
        }
        Ok(Self { addresses: Vec::new(), file: Some(file), per_worker })
    }

    /// The addresses listened on, in the order given, with their real ports; none on a Unix socket.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// One set of sockets for each worker.
    pub(crate) fn into_workers(self) -> (Vec<Vec<Listener>>, Option<SocketFile>) {
        (self.per_worker, self.file)
    }
}

/// How a socket comes to share its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// It takes the port for itself, and lets others in from then on.
    Founds,
    /// It joins one that lets it in.
    Joins,
}

fn listen(address: SocketAddr, sharing: Sharing) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    #[cfg(unix)]
    socket.set_reuse_port(sharing == Sharing::Joins)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    #[cfg(unix)]
    socket.set_reuse_port(true)?;
    Ok(socket.into())
}

/// Sets what every TCP connection of the proxy wants: no delay, and probes that find a peer which is gone.
///
/// A failure is not one of the connection, so it is let be.
pub(crate) fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(PROBE_AFTER));
}
