//! Which header fields pass, which end here, and which are added.

use crate::common::{bounded, field, fields, get, mirror, proxy, proxy_with, raw, status};
use std::sync::Arc;

#[tokio::test]
async fn fields_of_the_hop_do_not_reach_the_upstream() {
    bounded(async {
        let (_running, address) = proxy(mirror().await);
        let response = raw(
            address,
            "GET /a/b?c=d HTTP/1.1\r\nHost: shop.example:81\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n\
             Keep-Alive: timeout=9\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\n\
             TE: gzip\r\nUpgrade: foo\r\nHTTP2-Settings: AAMA\r\nX-End: yes\r\nX-End: two\r\n\r\n",
        )
        .await;
        assert_eq!(status(&response), 200);
        let (_, request) = response.split_once("\r\n\r\n").unwrap();
        assert!(request.starts_with("GET /a/b?c=d HTTP/1.1\r\n"), "{request}");
        for gone in [
            "connection",
            "x-hop",
            "keep-alive",
            "proxy-connection",
            "proxy-authorization",
            "te",
            "upgrade",
            "http2-settings",
        ] {
            assert_eq!(field(request, gone), None, "{gone}");
        }
        assert_eq!(fields(request, "x-end"), ["yes", "two"]);
        assert_eq!(fields(request, "host"), ["shop.example:81"]);
        assert_eq!(fields(request, "via"), ["1.1 cupo"]);
    })
    .await;
}

#[tokio::test]
async fn fields_of_the_hop_do_not_reach_the_client() {
    bounded(async {
        let upstream = crate::common::answering(
            "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\n\
             Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nhi",
        )
        .await;
        let (_running, address) = proxy(upstream);
        let response = get(address, "/").await;
        for gone in ["x-hop", "keep-alive", "proxy-authenticate"] {
            assert_eq!(field(&response, gone), None, "{gone}");
        }
        assert_eq!(fields(&response, "set-cookie"), ["a=1", "b=2"]);
        assert_eq!(fields(&response, "content-length"), ["2"]);
        assert!(response.ends_with("\r\n\r\nhi"));
    })
    .await;
}

const SPOOF: &str = "GET / HTTP/1.1\r\nHost: inner\r\nConnection: close\r\nX-Forwarded-For: 203.0.113.9\r\n\
                     X-Forwarded-For: 198.51.100.7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: outer\r\n\
                     X-Forwarded-Port: 443\r\nX-Real-IP: 203.0.113.9\r\nX_Forwarded_For: 203.0.113.9\r\n\
                     Forwarded: for=203.0.113.9\r\n\r\n";

#[tokio::test]
async fn a_stranger_cannot_say_who_it_is() {
    bounded(async {
        let (_running, address) = proxy(mirror().await);
        let response = raw(address, SPOOF).await;
        assert!(!response.contains("203.0.113.9") && !response.contains("198.51.100.7"), "{response}");
        assert_eq!(fields(&response, "x-forwarded-for"), ["127.0.0.1"]);
        assert_eq!(fields(&response, "x-forwarded-proto"), ["http"]);
        assert_eq!(fields(&response, "x-forwarded-host"), ["inner"]);
        assert_eq!(fields(&response, "forwarded"), ["for=127.0.0.1;host=inner;proto=http"]);
        assert_eq!(field(&response, "x-forwarded-port"), None);
    })
    .await;
}

#[tokio::test]
async fn a_trusted_proxy_is_appended_to() {
    bounded(async {
        let trusted = Arc::new(|peer: cupo_http::Peer, _: &mut http::HeaderMap| {
            peer.address().is_some_and(|address| address.is_loopback())
        });
        let (_running, address) = proxy_with(mirror().await, |_, forward| forward.trusted = trusted);
        let response = raw(address, SPOOF).await;
        assert_eq!(fields(&response, "x-forwarded-for"), ["203.0.113.9, 198.51.100.7, 127.0.0.1"]);
        assert_eq!(fields(&response, "x-forwarded-proto"), ["https"]);
        assert_eq!(fields(&response, "x-forwarded-host"), ["outer"]);
        assert_eq!(fields(&response, "forwarded"), ["for=203.0.113.9, for=127.0.0.1;host=inner;proto=http"]);
        assert_eq!(fields(&response, "x-forwarded-port"), ["443"]);
        assert_eq!(fields(&response, "x-real-ip"), ["203.0.113.9"]);
    })
    .await;
}

#[tokio::test]
async fn an_absolute_target_names_the_host() {
    bounded(async {
        let (_running, address) = proxy(mirror().await);
        let response = raw(
            address,
            "GET http://real.example/x HTTP/1.1\r\nHost: fake.example\r\nConnection: close\r\n\r\n",
        )
        .await;
        let (_, request) = response.split_once("\r\n\r\n").unwrap();
        assert!(request.starts_with("GET /x HTTP/1.1\r\n"), "{request}");
        assert_eq!(fields(request, "host"), ["real.example"]);
    })
    .await;
}

#[tokio::test]
async fn trailers_are_accepted_only_if_the_client_accepts_them() {
    bounded(async {
        let (_running, address) = proxy(mirror().await);
        let response = raw(
            address,
            "GET / HTTP/1.1\r\nHost: a\r\nTE: deflate, trailers\r\nConnection: close, te\r\n\r\n",
        )
        .await;
        let (_, request) = response.split_once("\r\n\r\n").unwrap();
        assert_eq!(fields(request, "te"), ["trailers"]);
        assert_eq!(fields(request, "connection"), ["te"]);
    })
    .await;
}

#[tokio::test]
async fn connect_is_refused() {
    bounded(async {
        let (_running, address) = proxy(mirror().await);
        let response = raw(
            address,
            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nConnection: close\r\n\r\n",
        )
        .await;
        assert_eq!(status(&response), 501);
        assert_eq!(field(&response, "content-type"), Some("application/problem+json"));
    })
    .await;
}

#[tokio::test]
async fn bodiless_answers_have_none() {
    bounded(async {
        let upstream = crate::common::upstream(|mut stream, _| async move {
            while let Some(head) = crate::common::read_head(&mut stream).await {
                let response = match head.split(' ').nth(1) {
                    Some("/204") => "HTTP/1.1 204 No Content\r\n\r\n",
                    Some("/304") => "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
                    _ => "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
                };
                tokio::io::AsyncWriteExt::write_all(&mut stream, response.as_bytes()).await.unwrap();
            }
        })
        .await;
        let (_running, address) = proxy(upstream);
        let mut client = crate::common::connect(address).await;
        for (method, path, code, length) in
            [("HEAD", "/", 200, Some("1000")), ("GET", "/204", 204, None), ("GET", "/304", 304, None)]
        {
            let request = format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n");
            tokio::io::AsyncWriteExt::write_all(&mut client, request.as_bytes()).await.unwrap();
            let head = crate::common::read_head(&mut client).await.unwrap();
            assert_eq!((status(&head), field(&head, "content-length")), (code, length), "{method} {path}");
        }
    })
    .await;
}
