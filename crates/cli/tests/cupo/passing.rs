//! What passes through a gateway with a limit on: WebSocket, a long upload, gRPC, HTTP/2.

use std::convert::Infallible;
use std::io::{BufReader, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, HeaderValue, Request, Response, Version};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{accept_async, client_async};

use crate::client::Client;
use crate::process::{BOUND, Gateway, PolicyFile};
use crate::upstream;

fn three() -> PolicyFile {
    PolicyFile::new("rules:\n  - { name: three, key: ip, limit: 3/1000d }\n")
}

async fn gateway(upstream: SocketAddr) -> Gateway {
    tokio::task::spawn_blocking(move || Gateway::with_policy(&three(), upstream)).await.unwrap()
}

fn bounded(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(BOUND, test).await.expect("the test must end in time") });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

fn left(headers: &HeaderMap) -> &str {
    headers["x-ratelimit-remaining"].to_str().unwrap()
}

#[test]
fn a_websocket() {
    bounded(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut socket = accept_async(stream).await.unwrap();
                    while let Some(Ok(message)) = socket.next().await {
                        if message.is_close() || socket.send(message).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        let gateway = gateway(address).await;
        let connect = || async { TcpStream::connect(gateway.address).await.unwrap() };
        let mut open = Vec::new();
        for remaining in ["2", "1", "0"] {
            let (mut socket, response) =
                client_async("ws://shop.example/chat", connect().await).await.unwrap();
            assert_eq!((response.status().as_u16(), left(response.headers())), (101, remaining));
            for text in ["hola", &"x".repeat(100_000)] {
                socket.send(Message::text(text)).await.unwrap();
                assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(text));
            }
            open.push(socket);
        }
        // A fourth is refused; those that are open stay open.
        let refused = client_async("ws://shop.example/chat", connect().await).await.unwrap_err();
        let tokio_tungstenite::tungstenite::Error::Http(response) = refused else { panic!("{refused}") };
        assert_eq!((response.status().as_u16(), left(response.headers())), (429, "0"));
        for mut socket in open {
            socket.send(Message::text("still here")).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("still here"));
            socket.close(None).await.unwrap();
        }
    });
}

/// The most memory that the process has had, in KiB.
fn peak_memory(gateway: &Gateway) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn an_upload_of_100_mb_in_little_memory() {
    const TOTAL: usize = 100 << 20;
    let address = upstream::serving(|stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        let head = upstream::read_head(&mut reader).unwrap().to_ascii_lowercase();
        assert!(head.contains(&format!("content-length: {TOTAL}\r\n")), "{head}");
        let (mut got, mut sum, mut buffer) = (0, 0_u64, vec![0; 1 << 16]);
        while got < TOTAL {
            let count = reader.read(&mut buffer).unwrap();
            assert!(count > 0, "it ended after {got} bytes");
            sum += buffer[..count].iter().map(|&byte| u64::from(byte)).sum::<u64>();
            got += count;
        }
        let body = format!("{got} {sum}");
        write!(writer, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    });
    let gateway = Gateway::with_policy(&three(), address);
    let mut client = Client::new(gateway.address);
    // Whatever serving one request takes is taken now.
    assert_eq!(client.get("/.cupo/health").status, 200);
    let before = peak_memory(&gateway);
    client.send(format!("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {TOTAL}\r\n\r\n"));
    let part: Vec<u8> = (0..=255).cycle().take(1 << 16).collect();
    for _ in 0..TOTAL / part.len() {
        client.send(&part);
    }
    let response = client.read(true).unwrap();
    assert_eq!((response.status, response.remaining()), (200, 2), "{response:?}");
    assert_eq!(response.body, format!("{TOTAL} {}", TOTAL / 256 * (255 * 128)));
    let grown = peak_memory(&gateway) - before;
    assert!(grown < 16 << 10, "{grown} KiB for an upload that passes through");
}

type Body = BoxBody<Bytes, Infallible>;

/// Serves HTTP/2 only: echoes the body, and ends with the trailers of gRPC.
async fn grpc() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(|request: Request<Incoming>| async move {
                assert_eq!(request.version(), Version::HTTP_2);
                let whole = request.into_body().collect().await.unwrap();
                let seen: Vec<&str> = whole
                    .trailers()
                    .iter()
                    .flat_map(|trailers| trailers.keys().map(|name| name.as_str()))
                    .collect();
                let trailers = HeaderMap::from_iter([
                    (http::HeaderName::from_static("grpc-status"), HeaderValue::from_static("0")),
                    (
                        http::HeaderName::from_static("x-seen"),
                        HeaderValue::from_str(&seen.join(" ")).unwrap(),
                    ),
                ]);
                let body = Full::new(whole.to_bytes()).with_trailers(async move { Some(Ok(trailers)) });
                Ok::<_, Infallible>(
                    Response::builder()
                        .header("content-type", "application/grpc")
                        .body(body.boxed())
                        .unwrap(),
                )
            });
            let io = TokioIo::new(stream);
            tokio::spawn(
                hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service),
            );
        }
    });
    address
}

async fn http2(address: SocketAddr) -> SendRequest<Body> {
    let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    sender
}

#[test]
fn a_grpc_call_with_trailers_both_ways() {
    bounded(async {
        let gateway = gateway(grpc().await).await;
        let mut sender = http2(gateway.address).await;
        for (asked, remaining) in [(0, "2"), (1, "1"), (2, "0"), (3, "0")] {
            // Who the user is nobody says behind the body.
            let names = ["x-sum", "x-user", "x_user", "x-forwarded-for", "content-length"];
            let one = |name| (http::HeaderName::from_static(name), HeaderValue::from_static("1"));
            let sum: HeaderMap = names.into_iter().map(one).collect();
            let message = Full::new(Bytes::from_static(b"\0\0\0\0\x02hi"));
            let body = message.with_trailers(async move { Some(Ok(sum)) }).boxed();
            let request = Request::post("http://shop.example/pkg.Service/Method");
            let request =
                request.header("content-type", "application/grpc").header("te", "trailers").body(body);
            let response = sender.send_request(request.unwrap()).await.unwrap();
            assert_eq!(left(response.headers()), remaining);
            if asked == 3 {
                // A client of gRPC reads no 429.
                assert_eq!(response.status(), 200);
                assert_eq!(response.headers()["grpc-status"], "8");
                assert!(response.headers().contains_key("grpc-status-details-bin"));
                assert!(response.headers().contains_key("retry-after"));
                assert!(hyper::body::Body::is_end_stream(response.body()), "trailers only");
                continue;
            }
            assert_eq!(response.status(), 200);
            let whole = response.into_body().collect().await.unwrap();
            let trailers = whole.trailers().unwrap();
            assert_eq!(trailers["grpc-status"], "0");
            assert_eq!(trailers["x-seen"], "x-sum");
            assert_eq!(whole.to_bytes(), "\0\0\0\0\x02hi");
        }
    });
}

#[test]
fn an_http2_client_with_many_streams_on_one_connection() {
    bounded(async {
        let upstream = tokio::task::spawn_blocking(upstream::ok).await.unwrap();
        let gateway = gateway(upstream).await;
        let mut sender = http2(gateway.address).await;
        let mut answers = Vec::new();
        for _ in 0..20 {
            sender.ready().await.unwrap();
            let request = Request::get("http://shop.example/").body(Empty::new().boxed()).unwrap();
            answers.push(tokio::spawn(sender.send_request(request)));
        }
        let (mut passed, mut refused) = (0, 0);
        for answer in answers {
            let response = answer.await.unwrap().unwrap();
            assert_eq!(response.version(), Version::HTTP_2);
            assert_eq!(response.headers()["x-ratelimit-limit"], "3");
            match response.status().as_u16() {
                200 => passed += 1,
                429 => refused += 1,
                other => panic!("{other}"),
            }
        }
        assert_eq!((passed, refused), (3, 17));
    });
}
