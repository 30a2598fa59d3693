//! Shutting down without losing requests.

use std::sync::Arc;
use std::time::Duration;

use cupo_server::Running;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::common::{
    bounded, closed_port, connect, field, get, join, proxy_with, read_all, read_head, read_message, status,
    upstream,
};

/// A proxy whose upstream answers once told to, and tells when it has been asked.
async fn gated(
    adjust: impl FnOnce(&mut cupo_server::ServerSettings),
) -> (Running, std::net::SocketAddr, Arc<Notify>, Arc<Notify>) {
    let (asked, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (ask, go) = (Arc::clone(&asked), Arc::clone(&answer));
    let address = upstream(move |mut stream, _| {
        let (ask, go) = (Arc::clone(&ask), Arc::clone(&go));
        async move {
            while read_head(&mut stream).await.is_some() {
                ask.notify_one();
                go.notified().await;
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
            }
        }
    })
    .await;
    let (running, address) = proxy_with(address, |server, _| adjust(server));
    (running, address, asked, answer)
}

#[tokio::test]
async fn requests_in_flight_are_finished_and_idle_connections_closed() {
    bounded(async {
        let (running, address, asked, answer) = gated(|_| {}).await;
        let mut idle = connect(address).await;
        idle.write_all(b"GET /.cupo/health HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        assert_eq!(status(&read_message(&mut idle).await.unwrap().0), 200);
        let mut busy = connect(address).await;
        busy.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        asked.notified().await;
        running.stop();
        assert_eq!(read_all(&mut idle).await, "");
        // Listening has stopped by now, since idle connections are closed after that.
        assert!(TcpStream::connect(address).await.is_err());
        answer.notify_one();
        let response = read_all(&mut busy).await;
        assert_eq!((status(&response), field(&response, "connection")), (200, Some("close")));
        assert!(response.ends_with("ok"));
        join(running).await;
    })
    .await;
}

#[tokio::test]
async fn a_first_request_on_its_way_is_served() {
    bounded(async {
        let (running, address, asked, answer) = gated(|_| {}).await;
        let mut busy = connect(address).await;
        busy.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        asked.notified().await;
        let mut late = connect(address).await;
        late.write_all(b"GET /.cupo/health HT").await.unwrap();
        running.stop();
        while TcpStream::connect(address).await.is_ok() {}
        late.write_all(b"TP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let response = read_all(&mut late).await;
        assert_eq!((status(&response), field(&response, "connection")), (503, Some("close")));
        answer.notify_one();
        assert_eq!(status(&read_all(&mut busy).await), 200);
        join(running).await;
    })
    .await;
}

#[tokio::test]
async fn http2_requests_in_flight_are_finished() {
    bounded(async {
        let (running, address, asked, answer) = gated(|_| {}).await;
        let mut sender = crate::http2::client(address).await;
        let request =
            http::Request::get("http://a/").body(http_body_util::combinators::BoxBody::default()).unwrap();
        let response = tokio::spawn(sender.send_request(request));
        asked.notified().await;
        running.stop();
        answer.notify_one();
        assert_eq!(response.await.unwrap().unwrap().status(), 200);
        join(running).await;
        assert!(sender.ready().await.is_err());
    })
    .await;
}

#[tokio::test]
async fn draining_is_bounded() {
    bounded(async {
        let (running, address, asked, _answer) =
            gated(|server| server.drain_timeout = Duration::from_millis(200)).await;
        let mut busy = connect(address).await;
        busy.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        asked.notified().await;
        running.stop();
        join(running).await;
        assert_eq!(read_all(&mut busy).await, "");
    })
    .await;
}

#[tokio::test]
async fn health_says_so_before_listening_stops() {
    bounded(async {
        let (running, address) =
            proxy_with(closed_port().await, |server, _| server.drain_notice = Duration::from_secs(3600));
        let response = get(address, "/.cupo/health").await;
        assert_eq!(status(&response), 200);
        assert!(response.ends_with(r#"{"status":"ok"}"#));
        running.stop();
        loop {
            let response = get(address, "/.cupo/health").await;
            if status(&response) == 503 {
                assert!(response.ends_with(r#"{"status":"draining"}"#));
                break;
            }
        }
        // Everything else is still served, if only to say that the upstream is down.
        assert_eq!(status(&get(address, "/").await), 502);
    })
    .await;
}

#[tokio::test]
async fn the_health_endpoint_can_move_and_go() {
    bounded(async {
        let (_running, address) =
            proxy_with(closed_port().await, |server, _| server.health_path = Some("/ready".into()));
        assert_eq!(status(&get(address, "/ready").await), 200);
        assert_eq!(status(&get(address, "/.cupo/health").await), 502);
        let (_running, address) = proxy_with(closed_port().await, |server, _| server.health_path = None);
        assert_eq!(status(&get(address, "/.cupo/health").await), 502);
    })
    .await;
}
