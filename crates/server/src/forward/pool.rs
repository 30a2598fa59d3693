//! HTTP/1.1 connections to the upstream. They belong to one worker's thread, so taking and returning one is a push and a
//! pop, and the task that uses one polls its socket itself.

use std::cell::RefCell;
use std::io;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::failure::Failure;
use super::settings::ForwardSettings;
use crate::listener::tune;
use crate::timers::{Timer, Timers, after};

/// Read at once when a head is expected.
const HEAD_READ: usize = 8 * 1024;
/// Read at once when a long body is.
const BODY_READ: usize = 64 * 1024;
/// Buffers of idle connections keep no more memory than this.
const IDLE_BUFFER: usize = 16 * 1024;
/// How often idle connections are looked at.
const SWEEP: Duration = Duration::from_secs(1);

/// A connection with its buffers and its timer; before it is connected, only those.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: Option<TcpStream>,
    /// What was read and not yet used.
    pub(super) input: BytesMut,
    /// What is to be written.
    pub(super) output: Vec<u8>,
    pub(super) timer: Timer,
    /// Whether it has served a request before.
    pub(super) reused: bool,
    idle_since: u64,
}

impl Link {
    fn new(timers: &Timers) -> Self {
        Self {
            stream: None,
            input: BytesMut::new(),
            output: Vec::with_capacity(1024),
            timer: timers.timer(),
            reused: false,
            idle_since: 0,
        }
    }

    /// Reads into `input`; zero at the end of the stream.
    pub(super) fn poll_fill(&mut self, cx: &mut Context<'_>, body: bool) -> Poll<io::Result<usize>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Ok(0)) };
        if self.input.capacity() - self.input.len() < HEAD_READ / 4 {
            self.input.reserve(if body { BODY_READ } else { HEAD_READ });
        }
        pin!(stream.read_buf(&mut self.input)).poll(cx)
    }

    /// Whether an idle connection is still silent and open.
    fn usable(&self) -> bool {
        let Some(stream) = &self.stream else { return false };
        // No system call unless something happened on the socket: an end, or words without being asked.
        matches!(stream.try_read(&mut [0; 1]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// The idle connections of a worker, the most recently used last.
#[derive(Debug)]
pub(super) struct Pool {
    idle: RefCell<Vec<Link>>,
    timers: Timers,
    keep_alive: Duration,
    max: usize,
}

impl Pool {
    /// An empty pool, which a task of the current worker sweeps until it is dropped.
    pub(super) fn new(timers: Timers, settings: &ForwardSettings) -> Rc<Self> {
        let pool = Rc::new(Self {
            idle: RefCell::default(),
            timers,
            keep_alive: settings.timeouts.keep_alive,
            max: settings.max_idle_connections,
        });
        drop(tokio::task::spawn_local(sweep(Rc::downgrade(&pool))));
        pool
    }

    /// The connection that was used last, or an unconnected link.
    pub(super) fn take(&self) -> Link {
        let now = self.timers.clock().now();
        let mut idle = self.idle.borrow_mut();
        while let Some(link) = idle.pop() {
            if now < after(link.idle_since, self.keep_alive) && link.usable() {
                return link;
            }
        }
        drop(idle);
        Link::new(&self.timers)
    }

    /// An unconnected link.
    pub(super) fn fresh(&self) -> Link {
        Link::new(&self.timers)
    }

    /// Keeps a connection whose exchange has ended cleanly.
    pub(super) fn put(&self, mut link: Link) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() >= self.max || link.stream.is_none() || !link.input.is_empty() {
            return;
        }
        link.timer.off();
        link.reused = true;
        link.idle_since = self.timers.clock().now();
        link.output.clear();
        link.output.shrink_to(IDLE_BUFFER);
        if link.input.capacity() > IDLE_BUFFER {
            link.input = BytesMut::new();
        }
        idle.push(link);
    }

    fn sweep(&self) {
        let now = self.timers.clock().now();
        self.idle.borrow_mut().retain(|link| now < after(link.idle_since, self.keep_alive) && link.usable());
    }
}

async fn sweep(pool: Weak<Pool>) {
    loop {
        sleep(SWEEP).await;
        let Some(pool) = pool.upgrade() else { return };
        pool.sweep();
    }
}

/// Connects to the upstream, within the connect timeout.
pub(super) async fn connect(settings: Rc<ForwardSettings>) -> Result<TcpStream, Failure> {
    let (host, port) = (settings.upstream.host(), settings.upstream.port());
    match timeout(settings.timeouts.connect, TcpStream::connect((host, port))).await {
        Ok(Ok(stream)) => {
            tune(&stream);
            Ok(stream)
        }
        Ok(Err(error)) => {
            tracing::warn!(%host, port, %error, "cannot connect to the upstream");
            Err(match error.kind() {
                io::ErrorKind::TimedOut => Failure::ConnectTimeout,
                _ => Failure::Unreachable,
            })
        }
        Err(_) => {
            tracing::warn!(%host, port, "connecting to the upstream timed out");
            Err(Failure::ConnectTimeout)
        }
    }
}
