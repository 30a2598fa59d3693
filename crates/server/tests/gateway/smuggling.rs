//! Requests that two parsers could read differently never reach the upstream so that they still could.

use crate::common::{bounded, field, fields, proxy, raw, read_head, status, upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// An upstream that answers with all that it was sent, and then closes.
async fn recorder() -> std::net::SocketAddr {
    upstream(|mut stream, _| async move {
        let mut seen = read_head(&mut stream).await.unwrap();
        let length = field(&seen, "content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        seen.push_str(std::str::from_utf8(&body).unwrap());
        if field(&seen, "transfer-encoding").is_some() {
            while !seen.ends_with("0\r\n\r\n") {
                seen.push(char::from(stream.read_u8().await.unwrap()));
            }
        }
        // Whatever else comes within a moment belongs to no request.
        let mut extra = Vec::new();
        let _ =
            tokio::time::timeout(std::time::Duration::from_millis(100), stream.read_buf(&mut extra)).await;
        seen.push_str(&String::from_utf8_lossy(&extra));
        let response =
            format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{seen}", seen.len());
        stream.write_all(response.as_bytes()).await.unwrap();
    })
    .await
}

async fn send(request: &str) -> String {
    let (_running, address) = proxy(recorder().await);
    raw(address, request).await
}

#[tokio::test]
async fn length_and_coding_together_become_one() {
    bounded(async {
        for heads in [
            "Content-Length: 3\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 3",
        ] {
            let response = send(&format!(
                "POST / HTTP/1.1\r\nHost: a\r\n{heads}\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: a\r\n\r\n"
            ))
            .await;
            // Read as chunked; what follows is not even taken as a request, for the connection closes.
            assert_eq!(status(&response), 200, "{response}");
            let (_, request) = response.split_once("\r\n\r\n").unwrap();
            assert_eq!(fields(request, "content-length"), [""; 0]);
            assert!(!response.contains("/evil"), "{response}");
        }
    })
    .await;
}

#[tokio::test]
async fn ambiguous_requests_are_refused() {
    bounded(async {
        for request in [
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\nConnection: close\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX-Fold: b\r\n c\r\n\r\n",
            "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n",
            "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
            "GET /\tx HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\nabc\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        ] {
            let response = send(request).await;
            assert!([400, 501].contains(&status(&response)), "{request:?}: {response}");
        }
    })
    .await;
}

#[tokio::test]
async fn bare_line_feeds_are_rewritten() {
    bounded(async {
        let response = send("GET / HTTP/1.1\nHost: a\nX-One: 1\nConnection: close\n\n").await;
        assert_eq!(status(&response), 200);
        let (_, request) = response.split_once("\r\n\r\n").unwrap();
        assert!(!request.replace("\r\n", "").contains('\n'), "{request:?}");
        assert_eq!(fields(request, "x-one"), ["1"]);
    })
    .await;
}

#[tokio::test]
async fn equal_lengths_become_one() {
    bounded(async {
        let response =
            send("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc").await;
        let (_, request) = response.split_once("\r\n\r\n").unwrap();
        assert_eq!(fields(request, "content-length"), ["3"]);
        assert!(request.ends_with("\r\n\r\nabc"));
    })
    .await;
}

#[tokio::test]
async fn connection_cannot_strip_what_frames_or_routes() {
    bounded(async {
        let response = send(
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: close, content-length, host, x-forwarded-for\r\n\
             Content-Length: 3\r\n\r\nabc",
        )
        .await;
        let (_, request) = response.split_once("\r\n\r\n").unwrap();
        assert_eq!(fields(request, "content-length"), ["3"]);
        assert_eq!(fields(request, "host"), ["a"]);
        assert_eq!(fields(request, "x-forwarded-for"), ["127.0.0.1"]);
    })
    .await;
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    bounded(async {
        let (_running, address) = proxy(crate::common::mirror().await);
        let one = |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n{more}\r\n");
        let response =
            raw(address, one("/1", "") + &one("/2", "") + &one("/3", "Connection: close\r\n")).await;
        let at = |path: &str| response.find(&format!("GET {path} ")).unwrap();
        assert!(at("/1") < at("/2") && at("/2") < at("/3"));
    })
    .await;
}
