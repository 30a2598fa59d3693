//! A proxy on a free port, upstreams that do as they are told, and clients that speak raw bytes.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::Duration;

use cupo_server::{ForwardSettings, Forwarder, Listeners, Running, ServerSettings, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// No test takes longer than this.
const BOUND: Duration = Duration::from_secs(60);

pub(crate) async fn bounded<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, test).await.expect("the test must end in time")
}

/// A proxy of one worker to `upstream`, with settings as `adjust` leaves them.
pub(crate) fn proxy_with(
    upstream: SocketAddr,
    adjust: impl FnOnce(&mut ServerSettings, &mut ForwardSettings),
) -> (Running, SocketAddr) {
    let mut settings = ServerSettings::default();
    settings.workers = NonZeroUsize::MIN;
    let mut forward = ForwardSettings::new(upstream.into());
    adjust(&mut settings, &mut forward);
    let listeners = Listeners::bind(&[LOOPBACK], settings.workers).unwrap();
    let address = listeners.addresses()[0];
    let running = serve(settings, listeners, move |worker| Forwarder::new(forward.clone(), worker)).unwrap();
    (running, address)
}

pub(crate) fn proxy(upstream: SocketAddr) -> (Running, SocketAddr) {
    proxy_with(upstream, |_, _| {})
}

/// An upstream that hands every connection, with its number from zero, to `handler`.
pub(crate) async fn upstream<F, H>(handler: H) -> SocketAddr
where
    H: Fn(TcpStream, usize) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind(LOOPBACK).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let Ok((stream, _)) = listener.accept().await else { return };
            tokio::spawn(handler(stream, number));
        }
    });
    address
}

/// An upstream that answers every head (without a body) with `response`, and keeps the connection.
pub(crate) async fn answering(response: &'static str) -> SocketAddr {
    upstream(move |mut stream, _| async move {
        while read_head(&mut stream).await.is_some() {
            stream.write_all(response.as_bytes()).await.unwrap();
        }
    })
    .await
}

/// An upstream that answers every head with that head as the body.
pub(crate) async fn mirror() -> SocketAddr {
    upstream(move |mut stream, _| async move {
        while let Some(head) = read_head(&mut stream).await {
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{head}", head.len());
            stream.write_all(response.as_bytes()).await.unwrap();
        }
    })
    .await
}

/// Reads up to and with an empty line; `None` if the stream ends before.
pub(crate) async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Reads a head and a body of its `content-length`.
pub(crate) async fn read_message(stream: &mut TcpStream) -> Option<(String, String)> {
    let head = read_head(stream).await?;
    let length = field(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}

/// The value of a head's field.
pub(crate) fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    fields(head, name).into_iter().next()
}

/// The values of all of a head's fields of that name.
pub(crate) fn fields<'a>(head: &'a str, name: &str) -> Vec<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
}

/// The status code of a response.
pub(crate) fn status(response: &str) -> u16 {
    let code = response.split(' ').nth(1).unwrap_or_else(|| panic!("no status in {response:?}"));
    code.parse().unwrap()
}

pub(crate) async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// Sends bytes on a connection and reads all that comes until the other end closes.
pub(crate) async fn raw(address: SocketAddr, request: impl AsRef<[u8]>) -> String {
    let mut stream = connect(address).await;
    stream.write_all(request.as_ref()).await.unwrap();
    read_all(&mut stream).await
}

/// Reads until the end of the stream, or a reset.
pub(crate) async fn read_all(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    String::from_utf8_lossy(&response).into_owned()
}

/// A `GET` that closes its connection.
pub(crate) async fn get(address: SocketAddr, path: &str) -> String {
    raw(address, format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")).await
}

/// The address of a port that refuses connections.
pub(crate) async fn closed_port() -> SocketAddr {
    TcpListener::bind(LOOPBACK).await.unwrap().local_addr().unwrap()
}

/// Waits for the end of a server without blocking the test's thread.
pub(crate) async fn join(running: Running) {
    tokio::task::spawn_blocking(move || running.join()).await.unwrap().unwrap();
}
