//! Upstreams on threads of their own, which end with the tests.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// Hands each connection to `handler`.
pub(crate) fn serving(handler: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handler = Arc::new(handler);
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let handler = Arc::clone(&handler);
            thread::spawn(move || handler(stream));
        }
    });
    address
}

/// The head of the next request, line by line; `None` at the end.
pub(crate) fn read_head(stream: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// Answers requests without bodies, after `seen` has been told each head.
pub(crate) fn telling(seen: impl Fn(&str) + Send + Sync + 'static) -> SocketAddr {
    serving(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some(head) = read_head(&mut reader) {
            seen(&head);
            let body = if head.starts_with("HEAD") { "" } else { "ok" };
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}");
            if writer.write_all(response.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// Answers 200 to everything.
pub(crate) fn ok() -> SocketAddr {
    telling(|_| {})
}

/// An address that refuses connections.
pub(crate) fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
