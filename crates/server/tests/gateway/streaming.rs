//! Bodies stream both ways, with back-pressure, and their trailers pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{bounded, connect, field, proxy, read_all, read_head, status, upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

const TOTAL: usize = 100 << 20;
/// More than the kernel's socket buffers and ours can hold together, and far less than the whole.
const IN_FLIGHT: usize = 24 << 20;

fn pattern() -> Vec<u8> {
    (0..=255_u8).cycle().take(1 << 16).collect()
}

/// Reads `total` bytes of the pattern.
async fn check(stream: &mut (impl AsyncReadExt + Unpin), total: usize) {
    let (pattern, mut buffer, mut at) = (pattern(), vec![0; 1 << 16], 0);
    while at < total {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "ended after {at} bytes");
        let start = at % 256;
        assert_eq!(buffer[..read.min(1 << 15)], pattern[start..start + read.min(1 << 15)]);
        at += read;
    }
    assert_eq!(at, total);
}

/// Writes the pattern until done, counting.
async fn pour(stream: &mut (impl AsyncWriteExt + Unpin), total: usize, written: &AtomicUsize) {
    let pattern = pattern();
    let mut at = 0;
    while at < total {
        let (start, left) = (at % 256, total - at);
        let part = &pattern[start..(start + left).min(pattern.len())];
        let wrote = stream.write(part).await.unwrap();
        at += wrote;
        written.fetch_add(wrote, Ordering::Relaxed);
    }
}

/// Waits until nothing has been written for a while, and says how much was.
async fn standstill(written: &AtomicUsize) -> usize {
    let mut before = usize::MAX;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = written.load(Ordering::Relaxed);
        if now == before {
            return now;
        }
        before = now;
    }
}

#[tokio::test]
async fn an_upload_of_100_mb_is_held_back_by_the_upstream() {
    bounded(async {
        let go = Arc::new(Notify::new());
        let gate = Arc::clone(&go);
        let address = upstream(move |mut stream, _| {
            let gate = Arc::clone(&gate);
            async move {
                let head = read_head(&mut stream).await.unwrap();
                assert_eq!(field(&head, "content-length"), Some(TOTAL.to_string().as_str()));
                gate.notified().await;
                check(&mut stream, TOTAL).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
            }
        })
        .await;
        let (_running, address) = proxy(address);
        let (mut reader, mut writer) = connect(address).await.into_split();
        let written = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&written);
        tokio::spawn(async move {
            let head =
                format!("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {TOTAL}\r\n\r\n");
            writer.write_all(head.as_bytes()).await.unwrap();
            pour(&mut writer, TOTAL, &count).await;
            // Kept open: the answer is still to come.
            std::future::pending::<()>().await;
        });
        let held = standstill(&written).await;
        assert!(held < IN_FLIGHT, "{held} bytes were taken although the upstream took none");
        go.notify_one();
        let mut response = String::new();
        reader.read_to_string(&mut response).await.unwrap();
        assert_eq!(status(&response), 200);
        assert!(response.ends_with("ok"));
    })
    .await;
}

#[tokio::test]
async fn a_download_of_100_mb_is_held_back_by_the_client() {
    bounded(async {
        let written = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&written);
        let address = upstream(move |mut stream, _| {
            let count = Arc::clone(&count);
            async move {
                read_head(&mut stream).await.unwrap();
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {TOTAL}\r\n\r\n");
                stream.write_all(head.as_bytes()).await.unwrap();
                pour(&mut stream, TOTAL, &count).await;
            }
        })
        .await;
        let (_running, address) = proxy(address);
        let mut client = connect(address).await;
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        assert_eq!(status(&read_head(&mut client).await.unwrap()), 200);
        let held = standstill(&written).await;
        assert!(held < IN_FLIGHT, "{held} bytes were taken although the client took none");
        check(&mut client, TOTAL).await;
    })
    .await;
}

#[tokio::test]
async fn the_first_bytes_pass_before_the_last_are_there() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            let head = read_head(&mut stream).await.unwrap();
            assert_eq!(field(&head, "transfer-encoding"), Some("chunked"));
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
            // Echoes chunk by chunk, while the request is still being sent.
            let mut chunk = [0; 8];
            for _ in 0..3 {
                stream.read_exact(&mut chunk).await.unwrap();
                assert_eq!(&chunk, b"3\r\nabc\r\n");
                stream.write_all(&chunk).await.unwrap();
            }
            let mut end = [0; 5];
            stream.read_exact(&mut end).await.unwrap();
            assert_eq!(&end, b"0\r\n\r\n");
            stream.write_all(&end).await.unwrap();
        })
        .await;
        let (_running, address) = proxy(address);
        let mut client = connect(address).await;
        let head = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
        client.write_all(head).await.unwrap();
        client.write_all(b"3\r\nabc\r\n").await.unwrap();
        assert_eq!(status(&read_head(&mut client).await.unwrap()), 200);
        let mut chunk = [0; 8];
        client.read_exact(&mut chunk).await.unwrap();
        for _ in 0..2 {
            client.write_all(b"3\r\nabc\r\n").await.unwrap();
            client.read_exact(&mut chunk).await.unwrap();
            assert_eq!(&chunk, b"3\r\nabc\r\n");
        }
        client.write_all(b"0\r\n\r\n").await.unwrap();
        assert_eq!(read_all(&mut client).await, "0\r\n\r\n");
    })
    .await;
}

#[tokio::test]
async fn trailers_pass_both_ways() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            let head = read_head(&mut stream).await.unwrap();
            assert_eq!(field(&head, "te"), Some("trailers"));
            let body = read_head(&mut stream).await.unwrap();
            let trailers = if body.starts_with("2\r\nhi\r\n0\r\nx-sum: 7\r\n\r\n") { "x-sum: 8\r\n" } else { "bad: 1\r\n" };
            let response = format!(
                "HTTP/1.1 200 OK\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n{trailers}\r\n"
            );
            stream.write_all(response.as_bytes()).await.unwrap();
        })
        .await;
        let (_running, address) = proxy(address);
        let response = crate::common::raw(
            address,
            "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close, te\r\nTrailer: x-sum\r\n\
             Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 7\r\nHost: evil\r\n\r\n",
        )
        .await;
        assert_eq!(status(&response), 200);
        assert!(response.ends_with("3\r\nyes\r\n0\r\nx-sum: 8\r\n\r\n"), "{response}");
    })
    .await;
}

#[tokio::test]
async fn a_body_waits_for_the_upstreams_continue() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            let head = read_head(&mut stream).await.unwrap();
            assert_eq!(field(&head, "expect"), Some("100-continue"));
            if head.starts_with("POST /no ") {
                stream
                    .write_all(b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
                    .await
                    .unwrap();
                // No byte of the body may follow.
                assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
                return;
            }
            stream
                .write_all(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n")
                .await
                .unwrap();
            let mut body = [0; 5];
            stream.read_exact(&mut body).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").await.unwrap();
            stream.write_all(&body).await.unwrap();
        })
        .await;
        let (_running, address) = proxy(address);
        let head = |path: &str| {
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
                .into_bytes()
        };
        let mut client = connect(address).await;
        client.write_all(&head("/yes")).await.unwrap();
        assert_eq!(status(&read_head(&mut client).await.unwrap()), 100);
        client.write_all(b"hello").await.unwrap();
        let (head_, body) = crate::common::read_message(&mut client).await.unwrap();
        assert_eq!((status(&head_), body.as_str()), (200, "hello"));

        let mut client = connect(address).await;
        client.write_all(&head("/no")).await.unwrap();
        assert_eq!(status(&read_head(&mut client).await.unwrap()), 417);
    })
    .await;
}

#[tokio::test]
async fn a_body_that_ends_with_its_connection_is_chunked_for_the_client() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            read_head(&mut stream).await.unwrap();
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nall there is").await.unwrap();
        })
        .await;
        let (_running, address) = proxy(address);
        let response = crate::common::get(address, "/").await;
        assert_eq!(field(&response, "transfer-encoding"), Some("chunked"));
        assert!(response.ends_with("C\r\nall there is\r\n0\r\n\r\n"), "{response}");
    })
    .await;
}
