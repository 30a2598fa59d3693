//! The `Forwarded` field (RFC 7239), read from the right.
//!
//! Elements are found by their commas from the right, where the trusted proxies wrote. What the caller wrote to the left of them, such as
//! a quote that never ends, cannot change how they are read.

use std::net::IpAddr;

use cupo_core::is_token;

use super::Entry;
use super::entry::{self, LONGEST};

/// The entries of one line, from the right. Ends with [`Entry::Broken`] where quotes do not match.
pub(super) fn entries(line: &[u8]) -> impl Iterator<Item = Entry> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        loop {
            let line = rest?;
            let Some(start) = last_element(line) else {
                rest = None;
                return Some(Entry::Broken);
            };
            let (before, element) = line.split_at_checked(start)?;
            rest = before.strip_suffix(b",");
            let element = element.trim_ascii();
            // An empty element of a list is none (RFC 9110, section 5.6.1).
            if !element.is_empty() {
                return Some(read(element));
            }
        }
    })
}

/// Where the last element of a line begins: behind the last comma outside of quotes. `None` where a quote has no beginning.
fn last_element(line: &[u8]) -> Option<usize> {
    let mut quoted = false;
    for (at, byte) in line.iter().enumerate().rev() {
        match byte {
            b'"' if !quoted => quoted = true,
            b'"' if !escaped(line, at) => quoted = false,
            b',' if !quoted => return at.checked_add(1),
            _ => {}
        }
    }
    (!quoted).then_some(0)
}

/// Whether an odd number of backslashes stands before `at`.
fn escaped(line: &[u8], at: usize) -> bool {
    let before = line.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// What an element says of the address: the value of its only `for`.
fn read(element: &[u8]) -> Entry {
    let mut found = None;
    let mut rest = element;
    loop {
        rest = rest.trim_ascii_start();
        if let Some(next) = rest.strip_prefix(b";") {
            rest = next;
            continue;
        }
        if rest.is_empty() {
            return found.unwrap_or(Entry::Hidden);
        }
        let Some((name, value, next)) = pair(rest) else { return Entry::Broken };
        if name.eq_ignore_ascii_case(b"for") && found.replace(value).is_some() {
            // Nobody knows which of the two counts.
            return Entry::Broken;
        }
        rest = next;
    }
}

/// The name of the first pair, what its value is as an address, and what follows.
fn pair(text: &[u8]) -> Option<(&[u8], Entry, &[u8])> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let (name, value) = text.split_at_checked(equals)?;
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        return None;
    }
    let value = value.strip_prefix(b"=")?;
    let mut unquoted = [0; LONGEST];
    let mut length = 0_usize;
    let mut push = |byte| {
        // What is too long is no address, and cut it is none either: only the length past the end says so.
        if let Some(place) = unquoted.get_mut(length) {
            *place = byte;
        }
        length = length.saturating_add(1);
    };
    let rest = if let Some(mut rest) = value.strip_prefix(b"\"") {
        loop {
            rest = match rest {
                [b'"', after @ ..] => break after,
                [b'\\', byte, after @ ..] | [byte, after @ ..] => {
                    push(*byte);
                    after
                }
                [] => return None,
            };
        }
    } else {
        let end = value.iter().position(|byte| matches!(byte, b';' | b' ' | b'\t')).unwrap_or(value.len());
        let (value, after) = value.split_at_checked(end)?;
        // More than a token, for colons and brackets are written without quotes as well.
        if value.is_empty() || value.contains(&b'"') {
            return None;
        }
        value.iter().for_each(|byte| push(*byte));
        after
    };
    let rest = rest.trim_ascii_start();
    if !rest.is_empty() && !rest.starts_with(b";") {
        return None;
    }
    let node = unquoted.get(..length).and_then(address);
    Some((name, node.map_or(Entry::Hidden, Entry::Address), rest))
}

/// The address of a node. Its port may be a made-up name (`_x`), which no other list knows.
fn address(node: &[u8]) -> Option<IpAddr> {
    entry::parse(node).or_else(|| {
        let colon = node.iter().rposition(|byte| *byte == b':')?;
        let (host, port) = node.split_at_checked(colon)?;
        let name = port.strip_prefix(b":_")?;
        let legal = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let bracketed = host.starts_with(b"[") || !host.contains(&b':');
        (bracketed && !name.is_empty() && name.iter().all(legal)).then(|| entry::parse(host)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::{Entry, entries};

    /// The entries of a line from the left, as text: `-` is hidden, `!` broken.
    fn read(line: &str) -> String {
        let mut read: Vec<String> = entries(line.as_bytes())
            .map(|entry| match entry {
                Entry::Address(address) => address.to_string(),
                Entry::Hidden => "-".to_owned(),
                Entry::Broken => "!".to_owned(),
            })
            .collect();
        read.reverse();
        read.join(" ")
    }

    #[test]
    fn the_examples_of_the_standard() {
        for (line, expected) in [
            ("for=\"_gazonk\"", "-"),
            ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
            ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
            ("for=192.0.2.43, for=198.51.100.17", "192.0.2.43 198.51.100.17"),
            ("for=_hidden, for=_SEVKISEK", "- -"),
            ("for=unknown", "-"),
            ("for=192.0.2.43, for=\"[2001:db8:cafe::17]\",for=unknown", "192.0.2.43 2001:db8:cafe::17 -"),
            (
                "for=192.0.2.43,for=\"[2001:db8:cafe::17]\";by=\"203.0.113.60\";proto=http;host=example.com",
                "192.0.2.43 2001:db8:cafe::17",
            ),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    #[test]
    fn what_proxies_write_besides() {
        for (line, expected) in [
            ("", ""),
            (" , ,", ""),
            (";for=192.0.2.1;", "192.0.2.1"),
            ("proto=https; FOR=192.0.2.1", "192.0.2.1"),
            ("host=\"a,b\\\",;for=6.6.6.6\";for=192.0.2.1", "192.0.2.1"),
            ("for=\"192.0.2\\.1\"", "192.0.2.1"),
            ("for=192.0.2.1:80", "192.0.2.1"),
            ("for=\"192.0.2.1:_x.y-z\"", "192.0.2.1"),
            ("for=[2001:db8::1]", "2001:db8::1"),
            ("for=\"[2001:db8::1]:_p\"", "2001:db8::1"),
            ("for=\"[fe80::1%25eth0]\"", "fe80::1"),
            ("for=\"2001:db8::1\"", "2001:db8::1"),
            ("for=\"2001:db8::1:_p\"", "-"),
            ("proto=https", "-"),
            ("for=\"\"", "-"),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
        assert_eq!(read(&format!("for=\"[fe80::1%{}]\"", "z".repeat(100))), "-");
    }

    #[test]
    fn what_is_broken_breaks_nothing_to_its_right() {
        for junk in [
            "for=\"",
            "\"",
            "for=\"a\\",
            "for=\"\\\"",
            "\\",
            "for=",
            "=x",
            "for",
            "for=a for=b",
            "for=x\"y\"",
            "for=\"a\"b",
            "for=1.1.1.1;for=2.2.2.2",
            "f r=1.1.1.1",
            "for=\"1.1.1.1\\",
            "\u{e9}=1",
        ] {
            let line = format!("{junk}, for=203.0.113.9;by=\"x\", for=\"[fd00::1]\"");
            let read = read(&line);
            assert!(read.ends_with(" 203.0.113.9 fd00::1") && read.starts_with('!'), "{line}: {read}");
        }
    }
}
