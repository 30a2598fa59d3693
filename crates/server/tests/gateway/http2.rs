//! HTTP/2 on either side.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use cupo_server::UpstreamProtocol;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use http_body::Frame;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::common::{LOOPBACK, bounded, connect, field, mirror, proxy, proxy_with, upstream};

type Body = BoxBody<Bytes, Infallible>;

fn empty() -> Body {
    full("")
}

fn full(text: impl Into<Bytes>) -> Body {
    BodyExt::boxed(Full::from(text.into()))
}

/// A body of the frames sent into the channel.
fn channel() -> (mpsc::Sender<Frame<Bytes>>, Body) {
    let (sender, mut receiver) = mpsc::channel::<Frame<Bytes>>(1);
    let (ready, body) = mpsc::channel::<Result<Frame<Bytes>, Infallible>>(1);
    tokio::spawn(async move {
        while let Some(frame) = receiver.recv().await {
            if ready.send(Ok(frame)).await.is_err() {
                return;
            }
        }
    });
    (sender, BodyExt::boxed(StreamBody::new(Receiver(body))))
}

struct Receiver(mpsc::Receiver<Result<Frame<Bytes>, Infallible>>);

impl futures_core::Stream for Receiver {
    type Item = Result<Frame<Bytes>, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}

pub(crate) async fn client(address: SocketAddr) -> SendRequest<Body> {
    let io = TokioIo::new(connect(address).await);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn trailers(name: &'static str, value: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))])
}

/// An HTTP/2 upstream that answers like gRPC: each message at once, then a trailer that tells how it was asked.
async fn grpc() -> SocketAddr {
    let listener = TcpListener::bind(LOOPBACK).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service_fn(|request: Request<Incoming>| async move {
                assert_eq!(request.version(), Version::HTTP_2);
                let (sender, body) = channel();
                let forwarded = request.headers().get("x-forwarded-for").cloned();
                let te = request.headers().get("te").cloned();
                assert_eq!(te.unwrap(), "trailers");
                let authority = request.uri().authority().unwrap().to_string();
                tokio::spawn(async move {
                    let mut incoming = request.into_body();
                    let mut status = "none";
                    while let Some(Ok(frame)) = incoming.frame().await {
                        match frame.into_data() {
                            Ok(data) => sender.send(Frame::data(data)).await.unwrap(),
                            Err(_) => status = "seen",
                        }
                    }
                    let mut end = trailers("grpc-status", "0");
                    end.insert("x-request-trailer", HeaderValue::from_static(status));
                    end.insert("x-authority", authority.parse().unwrap());
                    end.insert("x-forwarded-for", forwarded.unwrap());
                    let _ = sender.send(Frame::trailers(end)).await;
                });
                Ok::<_, Infallible>(Response::new(body))
            });
            tokio::spawn(
                hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    address
}

fn call(authority: &str, body: Body) -> Request<Body> {
    let request = Request::post(format!("http://{authority}/pkg.Service/Method"));
    request.header("content-type", "application/grpc+proto").header("te", "trailers").body(body).unwrap()
}

#[tokio::test]
async fn http2_clients_reach_an_http1_upstream() {
    bounded(async {
        let (_running, address) = proxy(mirror().await);
        let mut sender = client(address).await;
        // Several at once on one connection.
        let mut answers = Vec::new();
        for path in ["/1", "/2", "/3"] {
            sender.ready().await.unwrap();
            let request =
                Request::get(format!("http://shop.example{path}")).header("x-end", "1").body(empty());
            answers.push((path, sender.send_request(request.unwrap())));
        }
        for (path, answer) in answers {
            let response = answer.await.unwrap();
            assert_eq!((response.status(), response.version()), (StatusCode::OK, Version::HTTP_2));
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let request = std::str::from_utf8(&body).unwrap();
            assert!(request.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{request}");
            assert_eq!(field(request, "host"), Some("shop.example"));
            assert_eq!(field(request, "x-forwarded-host"), Some("shop.example"));
            assert_eq!(field(request, "via"), Some("2 cupo"));
            assert_eq!(field(request, "x-end"), Some("1"));
        }
    })
    .await;
}

#[tokio::test]
async fn grpc_streams_both_ways_with_trailers() {
    bounded(async {
        let (_running, address) = proxy(grpc().await);
        let mut sender = client(address).await;
        let (messages, body) = channel();
        let response = sender.send_request(call("shop.example", body)).await.unwrap();
        let mut incoming = response.into_body();
        for message in ["one", "two", "three"] {
            messages.send(Frame::data(Bytes::from(message))).await.unwrap();
            // The answer comes while the request is still open.
            assert_eq!(incoming.frame().await.unwrap().unwrap().into_data().unwrap(), message);
        }
        messages.send(Frame::trailers(trailers("x-sum", "1"))).await.unwrap();
        drop(messages);
        let end = incoming.frame().await.unwrap().unwrap().into_trailers().unwrap();
        assert_eq!(end["grpc-status"], "0");
        assert_eq!(end["x-request-trailer"], "seen");
        assert_eq!(end["x-authority"], "shop.example");
        assert_eq!(end["x-forwarded-for"], "127.0.0.1");
        assert!(incoming.frame().await.is_none());
    })
    .await;
}

#[tokio::test]
async fn the_upstreams_protocol_is_a_setting() {
    bounded(async {
        // Plain requests go by HTTP/2 if told so; the upstream insists on it.
        let (_running, address) =
            proxy_with(grpc().await, |_, forward| forward.upstream_protocol = UpstreamProtocol::Http2);
        let request = "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close, te\r\n".to_owned();
        let response = crate::common::raw(address, request + "Content-Length: 2\r\n\r\nhi").await;
        assert_eq!(crate::common::status(&response), 200, "{response}");
        assert!(response.contains("\r\nhi\r\n"), "{response}");

        // And gRPC goes by HTTP/1 if told so.
        let (_running, address) =
            proxy_with(mirror().await, |_, forward| forward.upstream_protocol = UpstreamProtocol::Http1);
        let response = client(address).await.send_request(call("a", empty())).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.starts_with(b"POST /pkg.Service/Method HTTP/1.1\r\n"));
    })
    .await;
}

#[tokio::test]
async fn an_upstream_that_speaks_no_http2_is_502() {
    bounded(async {
        let (_running, address) = proxy(mirror().await);
        let response = client(address).await.send_request(call("a", empty())).await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_GATEWAY);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
    })
    .await;
}

#[tokio::test]
async fn a_lost_http2_connection_is_replaced() {
    bounded(async {
        let address = grpc().await;
        let (_running, proxied) = proxy(address);
        let mut sender = client(proxied).await;
        for _ in 0..3 {
            let response = sender.send_request(call("a", full("hi"))).await.unwrap();
            let body = response.into_body().collect().await.unwrap();
            assert_eq!(body.trailers().unwrap()["grpc-status"], "0");
        }
    })
    .await;
}

#[tokio::test]
async fn a_large_http2_body_is_413() {
    bounded(async {
        for protocol in [UpstreamProtocol::Http1, UpstreamProtocol::Http2] {
            let (_running, address) = proxy_with(grpc().await, |_, forward| {
                forward.max_body_bytes = Some(10);
                forward.upstream_protocol = protocol;
            });
            let response = client(address).await.send_request(call("a", full("x".repeat(11)))).await.unwrap();
            assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
        }
        // Without a length it is found out on the way: the upstream answers only after the body.
        let address = upstream(|mut stream, _| async move {
            crate::common::read_all(&mut stream).await;
        })
        .await;
        let (_running, address) = proxy_with(address, |_, forward| {
            forward.max_body_bytes = Some(10);
            forward.upstream_protocol = UpstreamProtocol::Http1;
        });
        let (messages, body) = channel();
        let mut sender = client(address).await;
        let response = sender.send_request(call("a", body));
        messages.send(Frame::data(Bytes::from_static(b"0123456789"))).await.unwrap();
        messages.send(Frame::data(Bytes::from_static(b"0"))).await.unwrap();
        assert_eq!(response.await.unwrap().status(), StatusCode::PAYLOAD_TOO_LARGE);
    })
    .await;
}

#[tokio::test]
async fn too_large_an_http2_head_is_431_and_too_long_a_target_414() {
    bounded(async {
        let (_running, address) = proxy_with(mirror().await, |server, _| {
            server.limits.headers = 20;
            server.limits.target_bytes = 100;
        });
        let mut sender = client(address).await;
        let mut request = Request::get("http://a/").body(empty()).unwrap();
        for number in 0..30 {
            let name: http::HeaderName = format!("x-{number}").parse().unwrap();
            request.headers_mut().insert(name, HeaderValue::from_static("1"));
        }
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        let request = Request::get(format!("http://a/{}", "x".repeat(200))).body(empty()).unwrap();
        assert_eq!(sender.send_request(request).await.unwrap().status(), StatusCode::URI_TOO_LONG);
        let long = "x".repeat(15 * 1024);
        let mut request = Request::get("http://a/").body(empty()).unwrap();
        for name in ["x-1", "x-2", "x-3"] {
            request.headers_mut().insert(name, long.parse().unwrap());
        }
        let refused = sender.send_request(request).await;
        assert!(
            refused.map_or(true, |response| response.status() == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
        );
    })
    .await;
}

#[tokio::test]
async fn idle_http2_connections_are_closed() {
    bounded(async {
        let (_running, address) = proxy_with(mirror().await, |server, _| {
            server.timeouts.keep_alive = Duration::from_millis(300);
        });
        let mut sender = client(address).await;
        let response = sender.send_request(Request::get("http://a/").body(empty()).unwrap()).await.unwrap();
        response.into_body().collect().await.unwrap();
        while sender.ready().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
