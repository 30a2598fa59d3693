//! `combined` and `common` logs of Apache, nginx and many others:
//! `203.0.113.9 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5 "referer" "agent" "forwarded for" …`

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr2};

use super::head::{Headers, address, instant, request_line, status};
use super::time::Times;
use super::{Skip, Unreadable};
use crate::replay::request::Request;

pub(super) fn parse(line: &[u8], times: &mut Times) -> Result<Request<'static>, Skip> {
    let (at, before, rest) = time(line, times)?;
    let (request, rest) = quoted(rest).ok_or(Unreadable::Lacks("request in quotes"))?;
    let mut headers = Headers::default();
    let peer = who(before, &mut headers)?;
    let at = instant(at)?;
    // The size is of no interest. Then come the referer, the agent and, in a usual form of nginx, who was forwarded.
    let word = rest.trim_ascii_start().split(|byte| *byte == b' ').next().unwrap_or_default();
    let status = core::str::from_utf8(word).ok().and_then(status);
    let mut texts = Texts(rest);
    if let Some(referer) = texts.next() {
        headers.add("referer", &referer);
    }
    if let Some(agent) = texts.next() {
        headers.add("user-agent", &agent);
    }
    if let Some(forwarded) = texts.next().filter(|text| is_forwarded_for(text)) {
        headers.add("x-forwarded-for", &forwarded);
    }
    Ok(headers.request(at, peer, request_line(&request)?, status))
}

/// The time, what stands before it and what behind it. The user before it is whatever the client said, but has no quotes.
fn time<'a>(line: &'a [u8], times: &mut Times) -> Result<(u64, &'a [u8], &'a [u8]), Unreadable> {
    let mut nearest = None;
    for open in memchr_iter(b'[', line) {
        let (before, rest) = line.split_at(open);
        let Some(close) = memchr(b']', rest) else { break };
        let Some(text) = rest.get(1..close) else { break };
        let behind = rest.get(close.saturating_add(1)..).unwrap_or_default().trim_ascii_start();
        if behind.first() == Some(&b'"') {
            match times.read(text) {
                Some(at) => return Ok((at, before, behind)),
                None => nearest = nearest.or(Some(text)),
            }
        }
    }
    Err(nearest.map_or(Unreadable::Lacks("time in brackets before a request in quotes"), |text| {
        Unreadable::Time(String::from_utf8_lossy(text).into())
    }))
}

/// The client's address: the first word, or the second where the first is a virtual host.
fn who(before: &[u8], headers: &mut Headers) -> Result<Option<std::net::IpAddr>, Unreadable> {
    let text = String::from_utf8_lossy(before);
    let mut words = text.split_ascii_whitespace();
    let first = words.next().ok_or(Unreadable::Lacks("address"))?;
    address(first).or_else(|error| {
        // Host, address, identity, user: without a host there are three.
        let Some(Ok(Some(peer))) = words.next().filter(|word| *word != "-").map(address) else {
            return Err(error);
        };
        headers.add("host", first.as_bytes());
        Ok(Some(peer))
    })
}

/// The text in quotes at the beginning, without its escapes, and what follows it.
fn quoted(text: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let mut from = 0_usize;
    let mut escaped = false;
    loop {
        let at = from.checked_add(memchr2(b'"', b'\\', text.get(from..)?)?)?;
        let (within, rest) = text.split_at_checked(at)?;
        match rest.split_first()? {
            (b'"', rest) => {
                return Some((if escaped { unescaped(within).into() } else { within.into() }, rest));
            }
            _ => (from, escaped) = (at.checked_add(2)?, true),
        }
    }
}

/// Undoes `\"`, `\\`, `\xHH` and the escapes of C.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let (b'\\', Some((&escape, after))) = (byte, rest.split_first()) else {
            plain.push(byte);
            continue;
        };
        rest = after;
        let hex = || {
            let digits = core::str::from_utf8(after.get(..2)?).ok()?;
            u8::from_str_radix(digits, 16).ok()
        };
        plain.push(match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'x' => match hex() {
                Some(byte) => {
                    rest = after.get(2..).unwrap_or_default();
                    byte
                }
                None => b'x',
            },
            other => other,
        });
    }
    plain
}

/// The texts in quotes, one after the other.
struct Texts<'a>(&'a [u8]);

impl<'a> Iterator for Texts<'a> {
    type Item = Cow<'a, [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (text, rest) = quoted(self.0.get(memchr(b'"', self.0)?..)?)?;
        self.0 = rest;
        Some(text)
    }
}

/// Whether this is a list of addresses, as in `X-Forwarded-For`, and not another field.
fn is_forwarded_for(text: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(text) else { return false };
    let first = text.split(',').next().unwrap_or_default().trim();
    matches!(address(first), Ok(Some(_)))
}

#[cfg(test)]
mod tests {
    use super::{Skip, Times, parse, quoted, unescaped};

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescaped(br#"a\"b\\c\x41\xff\n\xg\"#), b"a\"b\\cA\xff\nxg\\");
        let (text, rest) = quoted(br#""a\\" "b""#).unwrap();
        assert_eq!((&*text, rest), (&b"a\\"[..], &b" \"b\""[..]));
        assert!(quoted(br#""a\""#).is_none() && quoted(b"a").is_none() && quoted(br#""\"#).is_none());
    }

    /// Every beginning of a line, and every line with a byte taken for another, is read or refused, without a panic.
    #[test]
    fn any_bytes_are_read_or_refused() {
        let line = br#"shop.example:80 203.0.113.9 - a [b [10/Oct/2000:13:55:36 -0700] "GET /\x22 HTTP/1.1" 200 5 "\"" "\\" "1.2.3.4""#;
        for end in 0..=line.len() {
            let _ = parse(&line[..end], &mut Times::default());
            for byte in [0, b'"', b'\\', b'[', b']', b' ', 0xff] {
                let mut changed = line.to_vec();
                if let Some(at) = changed.get_mut(end) {
                    *at = byte;
                }
                if let Err(Skip::Unreadable(reason)) = parse(&changed, &mut Times::default()) {
                    assert!(reason.to_string().len() < 300);
                }
            }
        }
    }
}
