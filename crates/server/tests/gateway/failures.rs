//! What clients see when the upstream fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{
    LOOPBACK, bounded, closed_port, connect, field, get, proxy, proxy_with, raw, read_all, read_head,
    read_message, status, upstream,
};
use tokio::io::AsyncWriteExt;

/// Asserts a problem document of this status and kind.
fn assert_problem(response: &str, code: u16, kind: &str) {
    assert_eq!(status(response), code, "{response}");
    assert_eq!(field(response, "content-type"), Some("application/problem+json"));
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    let document: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(document["type"], format!("urn:cupo:problem:{kind}"));
    assert_eq!(document["status"], code);
    assert!(
        !document["title"].as_str().unwrap().is_empty() && !document["detail"].as_str().unwrap().is_empty()
    );
    assert!(!body.contains("127.0.0.1"), "internals leak: {body}");
}

#[tokio::test]
async fn a_refused_connection_is_502() {
    bounded(async {
        let (_running, address) = proxy(closed_port().await);
        assert_problem(&get(address, "/").await, 502, "upstream-unreachable");
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_is_not_answered_is_504() {
    bounded(async {
        // The kernel answers no more handshakes once the queue of a listener that never accepts is full.
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.bind(&LOOPBACK.into()).unwrap();
        socket.listen(0).unwrap();
        let silent = socket.local_addr().unwrap().as_socket().unwrap();
        let mut filling = Vec::new();
        while let Ok(Ok(stream)) =
            tokio::time::timeout(Duration::from_millis(200), tokio::net::TcpStream::connect(silent)).await
        {
            filling.push(stream);
        }
        let (_running, address) =
            proxy_with(silent, |_, forward| forward.timeouts.connect = Duration::from_millis(200));
        assert_problem(&get(address, "/").await, 504, "upstream-connect-timeout");
    })
    .await;
}

#[tokio::test]
async fn no_answer_in_time_is_504() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            read_all(&mut stream).await;
        })
        .await;
        let (_running, address) =
            proxy_with(address, |_, forward| forward.timeouts.response_head = Duration::from_millis(200));
        assert_problem(&get(address, "/").await, 504, "upstream-timeout");
    })
    .await;
}

#[tokio::test]
async fn invalid_answers_are_502() {
    bounded(async {
        for answer in [
            "SSH-2.0-OpenSSH\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        ] {
            let (_running, address) = proxy(crate::common::answering(answer).await);
            assert_problem(&get(address, "/").await, 502, "upstream-invalid");
        }
    })
    .await;
}

#[tokio::test]
async fn an_endless_head_is_502() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            read_head(&mut stream).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
            while stream.write_all(b"X-Filler: 0123456789012345678901234567890123456789\r\n").await.is_ok() {}
        })
        .await;
        let (_running, address) = proxy(address);
        assert_problem(&get(address, "/").await, 502, "upstream-invalid");
    })
    .await;
}

#[tokio::test]
async fn a_response_cut_short_never_looks_whole() {
    bounded(async {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        ] {
            let address = upstream(move |mut stream, _| async move {
                read_head(&mut stream).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            })
            .await;
            let (_running, address) = proxy(address);
            let response = get(address, "/").await;
            assert_eq!(status(&response), 200);
            assert!(!response.ends_with("0\r\n\r\n"), "{response:?}");
            let length = field(&response, "content-length").map(str::to_owned);
            let body = response.split_once("\r\n\r\n").unwrap().1;
            assert!(
                length.is_none_or(|length| length.parse::<usize>().unwrap() > body.len()),
                "{response:?}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_response_that_stands_still_is_cut() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            read_head(&mut stream).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").await.unwrap();
            read_all(&mut stream).await;
        })
        .await;
        let (_running, address) =
            proxy_with(address, |_, forward| forward.timeouts.idle = Duration::from_millis(200));
        let response = raw(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(response.ends_with("\r\n\r\nhalf"), "{response:?}");
    })
    .await;
}

/// An upstream that closes each connection when its second request comes; counts the requests.
async fn fickle(count: &Arc<AtomicUsize>) -> std::net::SocketAddr {
    let count = Arc::clone(count);
    upstream(move |mut stream, _| {
        let count = Arc::clone(&count);
        async move {
            read_message(&mut stream).await.unwrap();
            count.fetch_add(1, Ordering::Relaxed);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
            if read_head(&mut stream).await.is_some() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    })
    .await
}

#[tokio::test]
async fn only_harmless_requests_are_sent_again() {
    bounded(async {
        for (method, body, code, requests) in
            [("GET", "", 200, 3), ("DELETE", "", 200, 3), ("POST", "", 502, 2), ("PUT", "x", 502, 2)]
        {
            let count = Arc::new(AtomicUsize::new(0));
            let (_running, address) = proxy(fickle(&count).await);
            let mut client = connect(address).await;
            client.write_all(b"GET /first HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
            assert_eq!(status(&read_message(&mut client).await.unwrap().0), 200);
            let length = body.len();
            let request = format!("{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}");
            client.write_all(request.as_bytes()).await.unwrap();
            assert_eq!(status(&read_message(&mut client).await.unwrap().0), code, "{method}");
            assert_eq!(count.load(Ordering::Relaxed), requests, "{method}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_first_failure_is_not_sent_again() {
    bounded(async {
        let count = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&count);
        let address = upstream(move |mut stream, _| {
            let seen = Arc::clone(&seen);
            async move {
                read_head(&mut stream).await.unwrap();
                seen.fetch_add(1, Ordering::Relaxed);
            }
        })
        .await;
        let (_running, address) = proxy(address);
        assert_problem(&get(address, "/").await, 502, "upstream-closed");
        assert_eq!(count.load(Ordering::Relaxed), 1);
    })
    .await;
}

#[tokio::test]
async fn connections_are_used_again_and_not_after_words_out_of_turn() {
    bounded(async {
        let highest = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&highest);
        let address = upstream(move |mut stream, number| {
            let seen = Arc::clone(&seen);
            async move {
                while let Some(head) = read_head(&mut stream).await {
                    seen.fetch_max(number, Ordering::Relaxed);
                    let extra = if head.starts_with("GET /extra") { "HTTP/1.1 200 OK\r\n" } else { "" };
                    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok{extra}");
                    stream.write_all(response.as_bytes()).await.unwrap();
                }
            }
        })
        .await;
        let (_running, address) = proxy(address);
        for (path, number) in [("/", 0), ("/", 0), ("/extra", 0), ("/", 1), ("/", 1)] {
            assert_eq!(status(&get(address, path).await), 200);
            assert_eq!(highest.load(Ordering::Relaxed), number, "{path}");
        }
    })
    .await;
}
