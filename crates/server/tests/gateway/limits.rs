//! What clients may not do: send too much, or take too long.

use std::time::Duration;

use crate::common::{
    answering, bounded, connect, field, proxy_with, raw, read_all, read_head, status, upstream,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[tokio::test]
async fn too_large_a_head_is_431() {
    bounded(async {
        let (_running, address) = proxy_with(answering(OK).await, |server, _| server.limits.headers = 20);
        let long = "x".repeat(40 * 1024);
        let response = raw(address, format!("GET / HTTP/1.1\r\nHost: a\r\nX-Long: {long}\r\n\r\n")).await;
        assert_eq!(status(&response), 431);
        let many = "X-Many: 1\r\n".repeat(30);
        assert_eq!(status(&raw(address, format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n")).await), 431);
        let few = "X-Few: 1\r\n".repeat(10);
        let response =
            raw(address, format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{few}\r\n")).await;
        assert_eq!(status(&response), 200);
    })
    .await;
}

#[tokio::test]
async fn too_long_a_target_is_414() {
    bounded(async {
        let (_running, address) =
            proxy_with(answering(OK).await, |server, _| server.limits.target_bytes = 100);
        for (length, code) in [(100, 200), (101, 414)] {
            let path = format!("/{}", "x".repeat(length - 1));
            assert_eq!(status(&crate::common::get(address, &path).await), code, "{length}");
        }
    })
    .await;
}

#[tokio::test]
async fn too_long_a_body_is_413_at_once_and_on_the_way() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            read_head(&mut stream).await.unwrap();
            let mut body = Vec::new();
            while !body.ends_with(b"0\r\n\r\n") && body.len() != 10 {
                match stream.read_u8().await {
                    Ok(byte) => body.push(byte),
                    Err(_) => return,
                }
            }
            stream.write_all(OK.as_bytes()).await.unwrap();
        })
        .await;
        let (_running, address) = proxy_with(address, |_, forward| forward.max_body_bytes = Some(10));
        let sized = |length: usize| {
            let body = "x".repeat(length);
            format!(
                "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
            )
        };
        assert_eq!(status(&raw(address, sized(10)).await), 200);
        let response = raw(address, sized(11)).await;
        assert_eq!(status(&response), 413);
        assert_eq!(field(&response, "content-type"), Some("application/problem+json"));
        let chunked = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
        let response = raw(address, format!("{chunked}6\r\nxxxxxx\r\n6\r\nxxxxxx\r\n0\r\n\r\n")).await;
        assert_eq!(status(&response), 413);
    })
    .await;
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_sends_on() {
    bounded(async {
        let (_running, address) =
            proxy_with(answering(OK).await, |_, forward| forward.max_body_bytes = Some(10));
        let mut client = connect(address).await;
        let length = 32 << 20;
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(&vec![b'x'; length]).await.unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).await.unwrap();
        assert_eq!(status(&response), 413);
    })
    .await;
}

#[tokio::test]
async fn slow_heads_are_cut_also_when_they_keep_dripping() {
    bounded(async {
        let (_running, address) = proxy_with(answering(OK).await, |server, _| {
            server.timeouts.request_head = Duration::from_millis(300);
        });
        // Nothing at all, a start, and a start on a connection that has served.
        for start in ["", "GET / HT", "PRI * HT", "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n"] {
            let mut client = connect(address).await;
            client.write_all(start.as_bytes()).await.unwrap();
            let (mut reader, mut writer) = client.into_split();
            let dripping = tokio::spawn(async move {
                while !start.is_empty() && writer.write_all(b"X").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            });
            let mut rest = Vec::new();
            let _ = reader.read_to_end(&mut rest).await;
            dripping.abort();
        }
    })
    .await;
}

#[tokio::test]
async fn idle_connections_are_closed() {
    bounded(async {
        let (_running, address) = proxy_with(answering(OK).await, |server, _| {
            server.timeouts.keep_alive = Duration::from_millis(300);
        });
        let response = raw(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(response.ends_with("ok"));
    })
    .await;
}

#[tokio::test]
async fn a_body_that_stands_still_is_408() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            read_all(&mut stream).await;
        })
        .await;
        let (_running, address) =
            proxy_with(address, |_, forward| forward.timeouts.idle = Duration::from_millis(200));
        let response = raw(address, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf").await;
        assert_eq!(status(&response), 408);
    })
    .await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            read_head(&mut stream).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let part = vec![0; 1 << 16];
            while stream.write_all(&part).await.is_ok() {}
        })
        .await;
        let (running, address) = proxy_with(address, |server, _| {
            server.timeouts.stall = Duration::from_millis(300);
            server.drain_timeout = Duration::from_secs(3600);
        });
        let mut client = connect(address).await;
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        // Draining ends before its timeout only if the connection is cut.
        tokio::time::sleep(Duration::from_millis(100)).await;
        running.stop();
        crate::common::join(running).await;
        drop(client);
    })
    .await;
}
