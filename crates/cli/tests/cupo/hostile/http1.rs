//! Over HTTP/1, byte by byte.

use super::{Tried, exchange};

/// What may become of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// A status from 400 to 499, or 501 for what no gateway does; the upstream hears nothing.
    Refused,
    /// No answer at all: the connection ends.
    Closed,
    /// Harmless: answered by the upstream, which sees these requests and no more.
    Passed(&'static [&'static str]),
    /// Passed on until its body breaks; then an answer below 500, or the end.
    Broken,
}

use Fate::{Broken, Closed, Passed, Refused};

/// A request with this target and these lines.
fn get(target: &str, lines: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n{lines}Connection: close\r\n\r\n").into_bytes()
}

fn post(lines: &str, body: &str) -> Vec<u8> {
    format!("POST /p HTTP/1.1\r\nHost: a\r\n{lines}Connection: close\r\n\r\n{body}").into_bytes()
}

const EVIL: &str = "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n";

fn raw(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// With `\xff` for `~`.
fn binary(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte == b'~' { 0xff } else { byte }).collect()
}

fn corpus() -> Vec<(&'static str, Vec<u8>, Fate)> {
    let long = "x".repeat(100_000);
    let many: String = (0..200).map(|number| format!("X-{number}: 1\r\n")).collect();
    let entries = |count: usize| format!("X-Forwarded-For: {}\r\n", vec!["1"; count].join(","));
    let lines = "X-Forwarded-For: 10.0.0.1\r\n".repeat(90);
    vec![
        // No HTTP.
        ("nothing", raw(""), Closed),
        ("line ends", raw("\r\n\r\n\r\n"), Closed),
        ("garbage", raw("garbage\r\n\r\n"), Refused),
        ("bytes", vec![0xff; 300], Refused),
        ("zeros", vec![0; 300], Refused),
        ("a TLS hello", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03".to_vec(), Refused),
        ("HTTP/0.9", raw("GET /\r\n\r\n"), Refused),
        ("HTTP/1.2", raw("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), Refused),
        ("HTTP/9.9", raw("GET / HTTP/9.9\r\nHost: a\r\n\r\n"), Refused),
        ("no version", raw("GET / \r\nHost: a\r\n\r\n"), Refused),
        ("lower case version", raw("GET / http/1.1\r\nHost: a\r\n\r\n"), Refused),
        ("a PROXY header", [&b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\n"[..], EVIL.as_bytes()].concat(), Refused),
        ("a PROXY header 2", [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\0"[..], EVIL.as_bytes()].concat(), Refused),
        ("half a preface", raw("PRI * HTTP/2.0\r\n\r\nXX"), Refused),
        ("half a head", raw("GET / HTTP/1.1\r\nHos"), Closed),
        // Request lines.
        ("no method", raw(" / HTTP/1.1\r\nHost: a\r\n\r\n"), Refused),
        ("binary method", binary("G~T / HTTP/1.1\r\nHost: a\r\n\r\n"), Refused),
        ("a method with a bracket", raw("G[T / HTTP/1.1\r\nHost: a\r\n\r\n"), Refused),
        ("two blanks", raw("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), Refused),
        ("a blank in the target", get("/a b", ""), Refused),
        ("a tab in the target", get("/a\tb", ""), Refused),
        ("a zero in the target", get("/a\0b", ""), Refused),
        ("a long target", get(&format!("/{long}"), ""), Refused),
        ("a target of 9 KiB", get(&format!("/{}", &long[..9_000]), ""), Refused),
        ("a long method", raw(&format!("{long} / HTTP/1.1\r\nHost: a\r\n\r\n")), Refused),
        ("CONNECT", raw("CONNECT a:80 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), Refused),
        ("POST *", raw("POST * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), Refused),
        ("a target without a slash", get("login", ""), Refused),
        ("a target that is a query", get("?a", ""), Refused),
        ("a URL that is none", get("http://", ""), Refused),
        ("a URL of another scheme", get("gopher://a/x", ""), Passed(&["/x"])),
        ("a URL with a query alone", get("http://a?x", ""), Passed(&["/?x"])),
        ("broken percent signs", get("/%zz%4?a=%&%=%%", ""), Passed(&["/%zz%4?a=%&%=%%"])),
        ("more dots than segments", get("/../../../../../d", ""), Passed(&["/../../../../../d"])),
        // Fields.
        ("no Host", raw("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), Refused),
        ("two Hosts", get("/", "Host: b\r\n"), Refused),
        ("a blank before the colon", get("/", "X-A : b\r\n"), Refused),
        ("a field without a name", get("/", ": b\r\n"), Refused),
        ("a field without a colon", get("/", "X-A\r\n"), Refused),
        ("a folded field", get("/", "X-A: b\r\n c\r\n"), Refused),
        ("a zero in a value", get("/", "X-A: b\0c\r\n"), Refused),
        ("a bare CR in a value", get("/", "X-A: b\rX-B: c\r\n"), Refused),
        ("a binary name", binary("GET / HTTP/1.1\r\nHost: a\r\nX~A: b\r\n\r\n"), Refused),
        (
            "a binary value",
            binary("GET /b HTTP/1.1\r\nHost: a\r\nX-A: ~~~\r\nConnection: close\r\n\r\n"),
            Passed(&["/b"]),
        ),
        (
            "a Host with a user",
            b"GET /b HTTP/1.1\r\nHost: u:p@a\r\nConnection: close\r\n\r\n".to_vec(),
            Refused,
        ),
        ("a Host with a path", b"GET /b HTTP/1.1\r\nHost: a/\r\nConnection: close\r\n\r\n".to_vec(), Refused),
        (
            "a Host with a query",
            b"GET /b HTTP/1.1\r\nHost: a?x\r\nConnection: close\r\n\r\n".to_vec(),
            Refused,
        ),
        (
            "a Host with a scheme",
            b"GET /b HTTP/1.1\r\nHost: http://a\r\nConnection: close\r\n\r\n".to_vec(),
            Refused,
        ),
        ("an encoded Host", b"GET /b HTTP/1.1\r\nHost: %61\r\nConnection: close\r\n\r\n".to_vec(), Refused),
        ("a Host of two", b"GET /b HTTP/1.1\r\nHost: a, b\r\nConnection: close\r\n\r\n".to_vec(), Refused),
        (
            "a bare IPv6 Host",
            b"GET /b HTTP/1.1\r\nHost: 2001:db8::1\r\nConnection: close\r\n\r\n".to_vec(),
            Refused,
        ),
        (
            "a Host with a zone",
            b"GET /b HTTP/1.1\r\nHost: [::1%25eth0]\r\nConnection: close\r\n\r\n".to_vec(),
            Refused,
        ),
        ("a binary Host", binary("GET /b HTTP/1.1\r\nHost: ~~\r\nConnection: close\r\n\r\n"), Refused),
        (
            "a binary cookie",
            binary("GET /b HTTP/1.1\r\nHost: a\r\nCookie: a=~\r\nConnection: close\r\n\r\n"),
            Passed(&["/b"]),
        ),
        ("a long value", get("/", &format!("X-A: {long}\r\n")), Refused),
        ("a long name", get("/", &format!("X{long}: a\r\n")), Refused),
        ("too many fields", get("/", &many), Refused),
        ("a million bytes of fields", get("/", &format!("X-A: {}\r\n", "y".repeat(1_000_000))), Refused),
        // Who the client is.
        ("10,000 entries", get("/f", &entries(10_000)), Passed(&["/f"])),
        ("30,000 entries", get("/", &entries(30_000)), Refused),
        ("90 lines of entries", get("/f", &lines), Passed(&["/f"])),
        (
            "entries of bytes",
            binary("GET /f HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ~,~\r\nConnection: close\r\n\r\n"),
            Passed(&["/f"]),
        ),
        ("an endless quote", get("/f", "Forwarded: for=\"\\\r\n"), Passed(&["/f"])),
        ("commas", get("/f", &format!("X-Forwarded-For: {}\r\n", ",".repeat(20_000))), Passed(&["/f"])),
        // Bodies, and requests in them.
        ("two lengths", post("Content-Length: 3\r\nContent-Length: 40\r\n", EVIL), Refused),
        ("a list of lengths", post("Content-Length: 3, 3\r\n", "abc"), Refused),
        ("a signed length", post("Content-Length: +3\r\n", "abc"), Refused),
        ("a hexadecimal length", post("Content-Length: 0x3\r\n", "abc"), Refused),
        ("an empty length", post("Content-Length: \r\n", ""), Refused),
        ("a negative length", post("Content-Length: -1\r\n", ""), Refused),
        ("a length of 2^64", post("Content-Length: 18446744073709551616\r\n", ""), Refused),
        ("the largest length", post("Content-Length: 18446744073709551615\r\n", ""), Refused),
        ("a length above the bound", post("Content-Length: 1048577\r\n", ""), Refused),
        (
            "length and coding",
            post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", &format!("0\r\n\r\n{EVIL}")),
            Passed(&["/p"]),
        ),
        (
            "coding and length",
            post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", &format!("0\r\n\r\n{EVIL}")),
            Passed(&["/p"]),
        ),
        ("a coding with a blank", post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), Refused),
        ("an unknown coding", post("Transfer-Encoding: xchunked\r\n", &format!("0\r\n\r\n{EVIL}")), Refused),
        ("identity", post("Transfer-Encoding: identity\r\nContent-Length: 0\r\n", EVIL), Refused),
        ("two codings", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), Refused),
        (
            "chunked twice",
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            Refused,
        ),
        (
            "chunked and another",
            post("Transfer-Encoding: chunked, identity\r\n", &format!("0\r\n\r\n{EVIL}")),
            Refused,
        ),
        (
            "a coding with a tab before",
            post("Transfer-Encoding:\u{b}chunked\r\n", &format!("0\r\n\r\n{EVIL}")),
            Refused,
        ),
        (
            "chunked in HTTP/1.0",
            raw("POST /p HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            Refused,
        ),
        (
            "a chunk size that is none",
            post("Transfer-Encoding: chunked\r\n", "zz\r\nabc\r\n0\r\n\r\n"),
            Broken,
        ),
        ("a negative chunk size", post("Transfer-Encoding: chunked\r\n", "-1\r\nabc\r\n0\r\n\r\n"), Broken),
        ("a huge chunk size", post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nabc"), Broken),
        (
            "a chunk without its end",
            post("Transfer-Encoding: chunked\r\n", &format!("3\r\nabcd\r\n0\r\n\r\n{EVIL}")),
            Broken,
        ),
        (
            "a bare LF behind a size",
            post("Transfer-Encoding: chunked\r\n", &format!("3\nabc\r\n0\r\n\r\n{EVIL}")),
            Broken,
        ),
        (
            "a chunk extension with a line",
            post("Transfer-Encoding: chunked\r\n", &format!("1;a\n0\r\n\r\n{EVIL}")),
            Broken,
        ),
        ("a body cut short", post("Content-Length: 10\r\n", "abc"), Broken),
        ("a chunk cut short", post("Transfer-Encoding: chunked\r\n", "a\r\nabc"), Broken),
        (
            "a body of more than its length",
            post("Content-Length: 3\r\n", &format!("abc{EVIL}")),
            Passed(&["/p"]),
        ),
        (
            "a body on a GET",
            get("/g", &format!("Content-Length: {}\r\n", 3)).into_iter().chain(*b"abc").collect(),
            Passed(&["/g"]),
        ),
        (
            "framing named in Connection",
            post("Connection: content-length, transfer-encoding\r\nContent-Length: 3\r\n", "abc"),
            Passed(&["/p"]),
        ),
        (
            "an upgrade to h2c",
            get(
                "/u",
                "Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
            ),
            Passed(&["/u"]),
        ),
        ("an expectation that is none", get("/e", "Expect: the-unexpected\r\n"), Passed(&["/e"])),
    ]
}

#[test]
fn nothing_worse_than_a_4xx_and_nothing_smuggled() {
    let tried = Tried::new();
    let corpus = corpus();
    assert!(corpus.len() >= 60);
    let mut wrong = Vec::new();
    for (name, bytes, fate) in corpus {
        let answer = String::from_utf8_lossy(&exchange(tried.address(), &bytes, fate == Broken)).into_owned();
        let statuses: Vec<u16> = answer
            .match_indices("HTTP/1.1 ")
            .filter_map(|(at, _)| answer.get(at + 9..at + 12)?.parse().ok())
            .collect();
        let seen = std::mem::take(&mut *tried.seen.lock());
        let mild = statuses.len() <= 1 && statuses.iter().all(|status| *status < 500 || *status == 501);
        let as_told = match fate {
            Refused => statuses.iter().any(|status| *status >= 400) && seen.is_empty(),
            Closed => answer.is_empty() && seen.is_empty(),
            Passed(expected) => statuses == [200] && seen == expected,
            Broken => {
                seen.iter().all(|target| target == "/p") && statuses.iter().all(|status| *status >= 400)
            }
        };
        if !mild || !as_told {
            wrong.push(format!("{name}: {fate:?}, but {statuses:?}, and the upstream saw {seen:?}"));
        }
        tried.serves_on(name, if fate == Broken { &["/p"] } else { &[] });
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn pipelined_behind_what_is_refused_nothing_is_served() {
    let tried = Tried::new();
    for first in [
        "GET / HTTP/1.1\r\nHost: a\r\nX-A : b\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
    ] {
        let answer = exchange(tried.address(), format!("{first}{EVIL}").as_bytes(), false);
        assert!(answer.starts_with(b"HTTP/1.1 400 "), "{first}: {}", String::from_utf8_lossy(&answer));
        tried.serves_on(first, &[]);
    }
}
