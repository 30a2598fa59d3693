//! A TCP proxy that breaks connections as told.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::wait::pass;

/// What is done to the bytes that pass. Every fault but [`None`](Fault::None) holds for all connections, until it is
/// replaced by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Every piece of a reply comes so much later.
    Delay(Duration),
    /// Requests reach the server, replies are swallowed; connections stay open.
    SwallowReplies,
    /// Nothing reaches anybody; connections stay open, and new ones are accepted.
    BlackHole,
    /// Connections are closed, and so are new ones.
    Cut,
    /// Each connection is closed once so many more bytes of replies have passed: in the middle of one.
    CutAfter(usize),
    /// The client's side is told that no more replies come, while its requests still pass.
    HalfClose,
    /// At most so many bytes of replies per second.
    Throttle(u32),
}

#[derive(Debug)]
struct Shared {
    fault: Mutex<Fault>,
    /// Goes up with every change of fault, so that a connection sees that its count begins anew.
    changes: AtomicUsize,
    ended: AtomicBool,
    connections: AtomicUsize,
    upstream: SocketAddr,
}

/// A proxy on a free port of 127.0.0.1, which ends with its value.
#[derive(Debug)]
pub struct FaultProxy {
    shared: Arc<Shared>,
    port: u16,
}

/// How soon a change of fault is noticed where nothing moves.
const GLANCE: Duration = Duration::from_millis(10);

impl FaultProxy {
    /// A proxy before a port of 127.0.0.1, without a fault.
    ///
    /// # Panics
    /// Where no port is free.
    #[must_use]
    pub fn start(upstream: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            fault: Mutex::new(Fault::None),
            changes: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            upstream: SocketAddr::from(([127, 0, 0, 1], upstream)),
        });
        let for_thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if for_thread.ended.load(Ordering::Acquire) {
                    return;
                }
                if let Ok(client) = client {
                    // A client that cannot be served is closed; it will say so.
                    drop(serve(&for_thread, client));
                }
            }
        });
        Self { shared, port }
    }

    /// The port to connect to.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `redis://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// From now on this is done.
    pub fn set(&self, fault: Fault) {
        *self.shared.fault.lock() = fault;
        self.shared.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// How many connections were accepted so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Acquire)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.set(Fault::Cut);
        // Wakes the listener, so that it sees the end.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn serve(shared: &Arc<Shared>, client: TcpStream) -> Result<()> {
    shared.connections.fetch_add(1, Ordering::AcqRel);
    if *shared.fault.lock() == Fault::Cut {
        return Ok(());
    }
    let server = TcpStream::connect(shared.upstream)?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(GLANCE))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    }
    let ways = [(client.try_clone()?, server.try_clone()?, false), (server, client, true)];
    for (from, to, is_reply) in ways {
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            if pump(&shared, &from, &to, is_reply).is_err() || *shared.fault.lock() != Fault::HalfClose {
                // Either side may be gone already.
                drop(from.shutdown(Shutdown::Both));
                drop(to.shutdown(Shutdown::Both));
            }
        });
    }
    Ok(())
}

/// Passes bytes one way until that way ends.
fn pump(shared: &Shared, mut from: &TcpStream, mut to: &TcpStream, is_reply: bool) -> Result<()> {
    let (mut buffer, mut seen, mut passed) = ([0_u8; 16 << 10], 0, 0_usize);
    loop {
        let fault = *shared.fault.lock();
        let changes = shared.changes.load(Ordering::Acquire);
        if changes != seen {
            (seen, passed) = (changes, 0);
        }
        match fault {
            Fault::Cut => return Err(ErrorKind::ConnectionAborted.into()),
            Fault::HalfClose if is_reply => return to.shutdown(Shutdown::Write),
            Fault::BlackHole => {
                pass(GLANCE);
                continue;
            }
            _ => {}
        }
        let room = match fault {
            Fault::Throttle(rate) if is_reply => piece_of(rate).min(buffer.len()),
            _ => buffer.len(),
        };
        let read = match from.read(&mut buffer[..room]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(error) => return Err(error),
        };
        // What arrived before the fault was seen is subject to it too.
        let fault = *shared.fault.lock();
        let changes = shared.changes.load(Ordering::Acquire);
        if changes != seen {
            (seen, passed) = (changes, 0);
        }
        let mut piece = &buffer[..read];
        match fault {
            Fault::HalfClose if is_reply => return to.shutdown(Shutdown::Write),
            Fault::BlackHole | Fault::Cut => continue,
            Fault::SwallowReplies if is_reply => continue,
            Fault::Delay(span) if is_reply => pass(span),
            Fault::Throttle(rate) if is_reply => {
                // What was read before the fault may be more than one piece.
                for piece in piece.chunks(piece_of(rate)) {
                    pass(GLANCE);
                    to.write_all(piece)?;
                }
                continue;
            }
            Fault::CutAfter(limit) if is_reply => piece = &piece[..read.min(limit.saturating_sub(passed))],
            _ => {}
        }
        to.write_all(piece)?;
        passed += piece.len();
        if piece.len() < read {
            return Err(ErrorKind::ConnectionAborted.into());
        }
    }
}

/// Bytes that pass in one glance at so many a second.
fn piece_of(rate: u32) -> usize {
    usize::try_from(rate / 100).unwrap_or(usize::MAX).max(1)
}
