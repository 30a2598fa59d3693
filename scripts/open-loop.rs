//! An open-loop HTTP client for benchmarks: requests are sent when they are due, whatever became of those before, and are as late as
//! their answer came after that. Needs nothing but the standard library: `rustc -O scripts/open-loop.rs`.
//!
//!   open-loop ADDRESS RATE CONNECTIONS SECONDS
//!
//! Prints "REQUESTS P50 P99 P999 MAX", times in microseconds. Ends with an error if a request is lost or is not answered with 200.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, rate, connections, seconds] = arguments.as_slice() else {
        eprintln!("usage: open-loop ADDRESS RATE CONNECTIONS SECONDS");
        std::process::exit(2);
    };
    let number = |text: &String| text.parse::<u32>().expect("a number");
    let (rate, connections, seconds) = (number(rate), number(connections), number(seconds));
    // Each connection is due at its own time, evenly.
    let period = Duration::from_secs(u64::from(connections)) / rate;
    let count = rate * seconds / connections;
    let streams: Vec<TcpStream> = (0..connections)
        .map(|_| {
            let stream = TcpStream::connect(address).expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
            stream
        })
        .collect();
    let start = Instant::now() + Duration::from_millis(100);
    let threads: Vec<_> = (0..connections)
        .zip(streams)
        .map(|(n, stream)| {
            let first = start + period * n / connections;
            std::thread::spawn(move || ask(stream, first, period, count))
        })
        .collect();
    let mut took: Vec<Duration> =
        threads.into_iter().flat_map(|thread| thread.join().expect("no request is lost")).collect();
    took.sort_unstable();
    let at = |thousandths: usize| took[(took.len() - 1) * thousandths / 1000].as_micros();
    println!("{} {} {} {} {}", took.len(), at(500), at(990), at(999), at(1000));
}

fn ask(mut stream: TcpStream, first: Instant, period: Duration, count: u32) -> Vec<Duration> {
    let mut buffer = [0; 16 << 10];
    (0..count)
        .map(|k| {
            let due = first + period * k;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            stream.write_all(b"GET /api/items/7?page=2 HTTP/1.1\r\nHost: bench.example\r\n\r\n").expect("sent");
            let mut filled = 0;
            loop {
                let read = stream.read(&mut buffer[filled..]).expect("an answer");
                assert!(read > 0, "the connection was closed");
                filled += read;
                if is_whole(&buffer[..filled]) {
                    break;
                }
            }
            assert!(buffer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&buffer[..filled]));
            due.elapsed()
        })
        .collect()
}

/// Whether this is a response with all of its body.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().expect("a length"))
    });
    body.len() >= length.expect("a length")
}
