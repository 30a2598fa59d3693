//! Malformed and hostile requests: nothing worse than a clear 4xx, nothing smuggled to the upstream, and the gateway serves on.

mod http1;
mod http2;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::client::get;
use crate::process::{Gateway, PolicyFile, now};
use crate::upstream::serving;

/// No request may take longer until it is answered, refused or cut; the gateway's own deadlines are a second.
const PATIENCE: Duration = Duration::from_secs(20);

const POLICY: &str = "trusted_proxies: [127.0.0.1]
timeouts: { request_header: 1s, idle: 1s, keep_alive: 1s }
limits: { body_bytes: 1MiB }
rules:
  - { name: by-ip, key: ip, limit: 1000000/1h }
  - { name: by-all, key: ['header(x-a) | query(a) | cookie(a)', route, host], limit: 1000000/1h }
";

/// A gateway, and the targets of all requests that its upstream has seen, framed as strictly as the gateway sends them.
struct Tried {
    gateway: Gateway,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Tried {
    fn new() -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let upstream = serving(move |stream| {
            let mut writer = stream.try_clone().unwrap();
            let mut reader = BufReader::new(stream);
            while let Some(head) = read_head(&mut reader) {
                let target = head.split(' ').nth(1).unwrap_or("nothing").to_owned();
                kept.lock().push(target);
                if !skip_body(&mut reader, &head.to_ascii_lowercase()) {
                    return;
                }
                let body = if head.starts_with("HEAD ") { "" } else { "ok" };
                if write!(writer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}").is_err() {
                    return;
                }
            }
        });
        let policy = PolicyFile::new(POLICY);
        Self { gateway: Gateway::with_policy(&policy, upstream), seen }
    }

    fn address(&self) -> SocketAddr {
        self.gateway.address
    }

    /// That a good request is served and reaches the upstream, and nothing else does but what was `begun` and broke off, which the upstream may
    /// have heard of late.
    fn serves_on(&self, name: &str, begun: &[&str]) {
        assert_eq!(get(self.address(), "/good").status, 200, "after {name}");
        let mut seen = std::mem::take(&mut *self.seen.lock());
        seen.retain(|target| !begun.contains(&target.as_str()));
        assert_eq!(seen, ["/good"], "the upstream was asked by {name}");
    }
}

/// The next head, of whatever bytes.
fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if reader.read_until(b'\n', &mut head).ok()? == 0 {
            return None;
        }
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Reads the body that a head announces; false where it does not come.
fn skip_body(reader: &mut impl BufRead, head: &str) -> bool {
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    if field("transfer-encoding:") == Some("chunked") {
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return false;
            }
            let Ok(size) = u64::from_str_radix(line.trim(), 16) else { return false };
            if size == 0 {
                // The empty line behind the last chunk.
                return reader.read_line(&mut line).is_ok();
            }
            if std::io::copy(&mut reader.take(size + 2), &mut std::io::sink()).unwrap_or(0) < size + 2 {
                return false;
            }
        }
    }
    let length: u64 = field("content-length:").map_or(0, |length| length.parse().unwrap());
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).unwrap_or(0) == length
}

/// All that comes back for these bytes until the gateway closes; with `half`, after the client has closed its side.
fn exchange(address: SocketAddr, bytes: &[u8], half: bool) -> Vec<u8> {
    let started = now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let bytes = bytes.to_vec();
    let sending = std::thread::spawn(move || {
        // Who is refused early need not be read to the end.
        let _ = writer.write_all(&bytes);
        if half {
            let _ = writer.shutdown(Shutdown::Write);
        }
    });
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    assert!(started.elapsed() < PATIENCE, "it hangs");
    let _ = stream.shutdown(Shutdown::Both);
    sending.join().unwrap();
    all
}
