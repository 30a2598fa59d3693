//! Connections that switch protocols.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{accept_async, client_async};

use crate::common::{LOOPBACK, bounded, connect, field, proxy, raw, read_all, read_head, status, upstream};

/// A WebSocket upstream that sends a greeting right away, and then what it is sent.
async fn websocket() -> SocketAddr {
    let listener = TcpListener::bind(LOOPBACK).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut socket = accept_async(stream).await.unwrap();
                socket.send(Message::text("hello")).await.unwrap();
                while let Some(Ok(message)) = socket.next().await {
                    if message.is_close() || socket.send(message).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn websockets_pass() {
    bounded(async {
        let (_running, address) = proxy(websocket().await);
        let (mut socket, response) =
            client_async("ws://shop.example/chat", connect(address).await).await.unwrap();
        assert_eq!(response.status(), 101);
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
        let long = "x".repeat(1 << 20);
        for text in ["one", "two", &long] {
            socket.send(Message::text(text)).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(text));
        }
        socket.close(None).await.unwrap();
        let end = socket.next().await;
        assert!(matches!(end, Some(Ok(Message::Close(_)) | Err(Error::Protocol(_))) | None), "{end:?}");
    })
    .await;
}

#[tokio::test]
async fn a_half_closed_tunnel_still_carries_the_other_half() {
    bounded(async {
        let address = upstream(|mut stream, _| async move {
            let head = read_head(&mut stream).await.unwrap();
            assert_eq!((field(&head, "connection"), field(&head, "upgrade")), (Some("upgrade"), Some("echo")));
            // Bytes of the new protocol come right behind the switch.
            stream
                .write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\nX-A: b\r\n\r\nearly ")
                .await
                .unwrap();
            let all = read_all(&mut stream).await;
            stream.write_all(all.as_bytes()).await.unwrap();
        })
        .await;
        let (_running, address) = proxy(address);
        let mut client = connect(address).await;
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n").await.unwrap();
        let head = read_head(&mut client).await.unwrap();
        assert_eq!(status(&head), 101);
        assert_eq!((field(&head, "upgrade"), field(&head, "x-a")), (Some("echo"), Some("b")));
        client.write_all(b"late").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(read_all(&mut client).await, "early late");
    })
    .await;
}

#[tokio::test]
async fn a_refused_upgrade_is_an_ordinary_response() {
    bounded(async {
        let (_running, address) =
            proxy(crate::common::answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno").await);
        let mut client = connect(address).await;
        for _ in 0..2 {
            client
                .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
                .await
                .unwrap();
            let (head, body) = crate::common::read_message(&mut client).await.unwrap();
            assert_eq!((status(&head), body.as_str()), (403, "no"));
        }
    })
    .await;
}

#[tokio::test]
async fn h2c_and_upgrades_with_bodies_are_not_passed_on() {
    bounded(async {
        let (_running, address) = proxy(crate::common::mirror().await);
        for request in [
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade\r\nUpgrade: websocket, H2C\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nUpgrade: websocket\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: close, upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n",
        ] {
            let response = raw(address, request).await;
            assert_eq!(status(&response), 200, "{request:?}");
            let seen = response.split_once("\r\n\r\n").unwrap().1;
            assert_eq!((field(seen, "upgrade"), field(seen, "http2-settings")), (None, None), "{request:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn tunnels_are_cut_when_the_server_ends() {
    bounded(async {
        let (running, address) = proxy(websocket().await);
        let (mut socket, _) = client_async("ws://a/", connect(address).await).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
        running.stop();
        // A tunnel does not hold the server up: its drain timeout is longer than this test may take.
        tokio::time::timeout(Duration::from_secs(20), crate::common::join(running)).await.unwrap();
        let mut rest = Vec::new();
        let _ = socket.get_mut().read_to_end(&mut rest).await;
    })
    .await;
}
