//! The access log and the demo upstream.

use std::io::Write;
use std::sync::Arc;

use cupo_server::{AccessLog, Demo, Error, Listeners};
use parking_lot::Mutex;

use crate::common::{LOOPBACK, bounded, closed_port, get, join, proxy, proxy_with, raw, status};

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_line_tells_what_happened_and_no_secret() {
    bounded(async {
        let demo = Demo::start().unwrap();
        let sink = Sink::default();
        let (log, thread) = AccessLog::start(sink.clone(), || 1_700_000_000_000_000).unwrap();
        let (running, address) = proxy_with(demo.address(), |server, _| server.access_log = Some(log));
        let request = "GET /a%20b/\"c\"?token=secret1 HTTP/1.1\r\nHost: a\r\nAuthorization: secret2\r\nConnection: close\r\n\r\n";
        let response = raw(address, request).await;
        let body = response.split_once("\r\n\r\n").unwrap().1.to_owned();
        get(address, "/.cupo/health").await;
        running.stop();
        join(running).await;
        tokio::task::spawn_blocking(|| thread.join()).await.unwrap().unwrap();
        let text = String::from_utf8(sink.0.lock().clone()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "{text}");
        let line = &lines[0];
        assert_eq!(line["time_us"], 1_700_000_000_000_000_u64);
        assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
        assert_eq!((line["method"].as_str(), line["path"].as_str()), (Some("GET"), Some("/a%20b/\"c\"")));
        assert_eq!((line["status"].as_u64(), line["bytes"].as_u64()), (Some(200), Some(body.len() as u64)));
        assert!(line["duration_us"].as_u64() >= line["upstream_us"].as_u64());
        assert!(line["upstream_us"].as_u64() > Some(0));
        assert_eq!(lines[1]["path"], "/.cupo/health");
        assert!(lines[1].get("upstream_us").is_none());
    })
    .await;
}

#[tokio::test]
async fn the_demo_answers_and_counts() {
    bounded(async {
        let demo = Demo::start().unwrap();
        let (_running, address) = proxy(demo.address());
        for served in 1..=3 {
            let response = get(address, "/any/path?x=1").await;
            assert_eq!(status(&response), 200);
            let expected = format!(r#"{{"method":"GET","path":"/any/path","served":{served}}}"#);
            assert!(response.ends_with(&expected), "{response}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_listened_on_is_an_error() {
    let workers = std::num::NonZeroUsize::MIN;
    assert!(matches!(Listeners::bind(&[], workers), Err(Error::NoAddress)));
    // Held by another program, as far as the kernel can tell: without SO_REUSEPORT.
    let held = std::net::TcpListener::bind(LOOPBACK).unwrap();
    let taken = held.local_addr().unwrap();
    assert!(
        matches!(Listeners::bind(&[taken], workers), Err(Error::Listen { address, .. }) if address == taken)
    );
    // Held by one of ours, whose workers share it.
    let held = Listeners::bind(&[LOOPBACK], std::num::NonZeroUsize::new(2).unwrap()).unwrap();
    let taken = held.addresses()[0];
    assert!(
        matches!(Listeners::bind(&[taken], workers), Err(Error::Listen { address, .. }) if address == taken)
    );
    drop(held);
    Listeners::bind(&[taken], workers).unwrap();
}

#[tokio::test]
async fn several_workers_share_a_port() {
    bounded(async {
        let workers = std::num::NonZeroUsize::new(3).unwrap();
        let (_running, address) = proxy_with(closed_port().await, |server, _| server.workers = workers);
        for _ in 0..20 {
            assert_eq!(status(&get(address, "/").await), 502);
        }
    })
    .await;
}
