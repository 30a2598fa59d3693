//! The access log: one line of JSON per request, written by a thread of its own.
//!
//! A line tells the path and never the query, and no header value, since secrets travel in both. When the writer cannot
//! keep up, lines are dropped and counted; requests never wait for the log.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use http::{Method, Uri};
use serde::Serialize;
use tokio::time::Instant;

use crate::error::Error;
use crate::peer::PeerInfo;

/// Lines that may wait to be written.
const QUEUE: usize = 8_192;

/// Tells the time in microseconds since the Unix epoch.
type WallClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Where access log lines go; cheap to clone.
#[derive(Clone)]
pub struct AccessLog {
    lines: SyncSender<Vec<u8>>,
    dropped: Arc<AtomicU64>,
    wall_clock: WallClock,
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessLog").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

impl AccessLog {
    /// Starts a thread that writes lines to `out`; `wall_clock` tells microseconds since the Unix epoch. The thread
    /// ends, with everything written, once every clone of the log is gone.
    ///
    /// # Errors
    ///
    /// [`Error::AccessLog`] if the thread cannot be started.
    pub fn start(
        out: impl Write + Send + 'static,
        wall_clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<(Self, JoinHandle<()>), Error> {
        let (lines, queue) = sync_channel(QUEUE);
        let thread = Builder::new()
            .name("cupo-access-log".into())
            .spawn(move || write(out, &queue))
            .map_err(Error::AccessLog)?;
        Ok((Self { lines, dropped: Arc::default(), wall_clock: Arc::new(wall_clock) }, thread))
    }

    /// Lines that were lost because the writer could not keep up.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn entry(&self, peer: PeerInfo, method: &Method, uri: &Uri) -> Box<Entry> {
        Box::new(Entry {
            log: self.clone(),
            time: (self.wall_clock)(),
            start: Instant::now(),
            peer,
            method: method.clone(),
            path: uri.path().into(),
            status: None,
            bytes: 0,
            upstream: None,
            limiter: None,
        })
    }
}

fn write(mut out: impl Write, queue: &Receiver<Vec<u8>>) {
    while let Ok(line) = queue.recv() {
        let mut written = out.write_all(&line);
        while let Ok(line) = queue.try_recv() {
            written = written.and_then(|()| out.write_all(&line));
        }
        if let Err(error) = written.and_then(|()| out.flush()) {
            report(&error);
        }
    }
}

fn report(error: &io::Error) {
    tracing::error!(%error, "access log lines were lost");
}

/// What a limiter wants said about a request in the access log; put it into the response's extensions.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LimiterNote {
    /// The verdict: `admit`, `deny`, `allow`, `block`, …
    pub verdict: &'static str,
    /// The rule that binds, if one does.
    pub rule: Option<Arc<str>>,
    /// The entry of a list, or the caller, that allows or blocks, if one does.
    pub entry: Option<Arc<str>>,
}

impl LimiterNote {
    /// A note of a verdict and the rule that binds.
    #[must_use]
    pub const fn new(verdict: &'static str, rule: Option<Arc<str>>) -> Self {
        Self { verdict, rule, entry: None }
    }
}

/// How long the upstream took to answer with a response head; in the extensions of a forwarded response while there is
/// an access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpstreamDuration(pub Duration);

/// A request's line in the making; written when dropped.
#[derive(Debug)]
pub(crate) struct Entry {
    log: AccessLog,
    time: u64,
    start: Instant,
    peer: PeerInfo,
    method: Method,
    path: Box<str>,
    status: Option<u16>,
    bytes: u64,
    upstream: Option<Duration>,
    limiter: Option<LimiterNote>,
}

impl Entry {
    pub(crate) fn response<B>(&mut self, response: &mut http::Response<B>) {
        self.status = Some(response.status().as_u16());
        self.upstream =
            response.extensions_mut().remove::<UpstreamDuration>().map(|UpstreamDuration(span)| span);
        self.limiter = response.extensions_mut().remove();
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }
}

#[derive(Serialize)]
struct Line<'a> {
    /// Microseconds since the Unix epoch.
    time_us: u64,
    peer: PeerInfo,
    method: &'a str,
    path: &'a str,
    /// Null when the client left before there was a response.
    status: Option<u16>,
    bytes: u64,
    duration_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'a str>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let line = Line {
            time_us: self.time,
            peer: self.peer,
            method: self.method.as_str(),
            path: &self.path,
            status: self.status,
            bytes: self.bytes,
            duration_us: micros(self.start.elapsed()),
            upstream_us: self.upstream.map(micros),
            verdict: self.limiter.as_ref().map(|note| note.verdict),
            rule: self.limiter.as_ref().and_then(|note| note.rule.as_deref()),
            entry: self.limiter.as_ref().and_then(|note| note.entry.as_deref()),
        };
        let Ok(mut text) = serde_json::to_vec(&line) else { return };
        text.push(b'\n');
        if self.log.lines.try_send(text).is_err() {
            self.log.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
