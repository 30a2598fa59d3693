//! What requests ask for, in all the forms that a target may have, and cookies of HTTP/2.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use cupo_server::UpstreamProtocol;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::common::{bounded, fields, mirror, proxy, proxy_with, raw, status, upstream};
use crate::http2::client;

#[tokio::test]
async fn targets_reach_the_upstream_as_paths() {
    bounded(async {
        let (_running, address) = proxy(mirror().await);
        for (method, target, expected) in [
            ("POST", "http://shop.example?/x", "POST /?/x HTTP/1.1"),
            ("GET", "http://shop.example", "GET / HTTP/1.1"),
            ("GET", "http://shop.example/a?b", "GET /a?b HTTP/1.1"),
            ("GET", "/a?b#c", "GET /a?b HTTP/1.1"),
            ("GET", "//a", "GET //a HTTP/1.1"),
            ("OPTIONS", "*", "OPTIONS * HTTP/1.1"),
        ] {
            let head = format!("{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            let response = raw(address, head).await;
            assert_eq!(status(&response), 200, "{target}: {response}");
            assert!(response.contains(&format!("\r\n\r\n{expected}\r\n")), "{target}: {response}");
        }
        for (method, target) in [
            ("POST", "*"),
            ("GET", "*"),
            ("POST", "login"),
            ("GET", "shop.example:80"),
            ("GET", "?a"),
            ("GET", "mailto:a@b"),
            ("GET", "http:///a"),
        ] {
            let head = format!("{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            assert_eq!(status(&raw(address, head).await), 400, "{method} {target}");
        }
    })
    .await;
}

/// An HTTP/2 upstream that answers with the path that it was asked for.
async fn reflecting() -> SocketAddr {
    upstream(|stream, _| async move {
        let service = service_fn(|request: Request<Incoming>| async move {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(request.uri().to_string()))))
        });
        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        let _ = builder.serve_connection(TokioIo::new(stream), service).await;
    })
    .await
}

#[tokio::test]
async fn a_query_without_a_path_reaches_an_http2_upstream_as_a_path() {
    bounded(async {
        let (_running, address) =
            proxy_with(reflecting().await, |_, forward| forward.upstream_protocol = UpstreamProtocol::Http2);
        let head = "GET http://shop.example?/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        let response = raw(address, head).await;
        assert!(response.contains("/?/x"), "{response}");
    })
    .await;
}

#[tokio::test]
async fn cookies_of_http2_are_one_field_of_http1() {
    bounded(async {
        let (_running, address) = proxy(mirror().await);
        let mut sender = client(address).await;
        let request = Request::get("http://shop.example/")
            .header("cookie", "a=1")
            .header("x-other", "between")
            .header("cookie", "b=2; c=3")
            .header("cookie", "d=4");
        let response =
            sender.send_request(request.body(Empty::<Bytes>::new().boxed()).unwrap()).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let head = std::str::from_utf8(&body).unwrap();
        assert_eq!(fields(head, "cookie"), ["a=1; b=2; c=3; d=4"], "{head}");
    })
    .await;
}
