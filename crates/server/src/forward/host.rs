//! What may be asked for as a host.

use core::net::Ipv6Addr;

/// Whether this is a host with or without a port as names and addresses are written (RFC 9110, section 4.2): letters, digits and
/// `-._~`, or an IPv6 address in brackets. Less than a URI may say: who is told before `@`, encoded letters, or anything behind
/// the port would be read by an upstream in a way of its own, past the rules for its host.
pub(super) fn is_host(text: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(text) else { return false };
    let (is_sound, port) = if let Some(inner) = text.strip_prefix('[') {
        let Some((address, port)) = inner.split_once(']') else { return false };
        (address.parse::<Ipv6Addr>().is_ok(), port)
    } else {
        let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
        (name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b)), port)
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    is_sound
        && (port.is_empty() || port.starts_with(':'))
        && (digits.is_empty()
            || (digits.bytes().all(|b| b.is_ascii_digit()) && digits.parse::<u16>().is_ok()))
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn hosts_are_names_and_addresses() {
        for host in [
            "",
            "a",
            "api.example.com",
            "api.example.com.",
            "A_b~1",
            "127.0.0.1:80",
            "a:",
            "[::1]",
            "[2001:db8::1]:8080",
        ] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn what_an_upstream_could_read_in_its_own_way_is_none() {
        for text in [
            "u@a",
            "u:p@a",
            "a/",
            "a?x",
            "a#",
            "http://a",
            "%61",
            "a, b",
            "a b",
            "a:b",
            "a:+80",
            "a:65536",
            "a:80:80",
            "2001:db8::1",
            "[::1",
            "[::1]80",
            "[::1%25eth0]",
            "[127.0.0.1]",
            "[a]",
            "]",
            "a\\b",
            "a;b",
            "\u{e9}",
        ] {
            assert!(!is_host(text.as_bytes()), "{text}");
        }
        assert!(!is_host(b"a\xff"));
    }
}
