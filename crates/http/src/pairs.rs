//! Names and values inside a request: query parameters and cookies.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::COOKIE;

/// What stands for a value that a request gives several times. One of them is the one that the upstream goes by, and nobody here
/// knows which: counted together they would be a new client with every new companion, so all that is repeated is one client.
pub(crate) const SEVERAL: &[u8] = b"\0several";

/// The decoded value of the parameter called `name`; [`SEVERAL`] where it is repeated.
pub(crate) fn query_value<'a>(query: &'a str, name: &str) -> Option<Cow<'a, [u8]>> {
    single(encoded(query, name)).map(|value| value.map_or(Cow::Borrowed(SEVERAL), decode))
}

/// The decoded values of all parameters called `name`.
pub(crate) fn query_values<'a>(query: &'a str, name: &str) -> impl Iterator<Item = Cow<'a, [u8]>> {
    encoded(query, name).map(decode)
}

fn encoded<'a>(query: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.filter(move |(key, _)| *decode(key) == *name.as_bytes()).map(|(_, value)| value)
}

/// `Some(None)` where there are several.
fn single<T>(mut values: impl Iterator<Item = T>) -> Option<Option<T>> {
    let first = values.next()?;
    Some(values.next().is_none().then_some(first))
}

/// Undoes the encoding of forms: `+` is a blank, `%41` is `A`; what is no encoding stays as it is.
fn decode(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if !bytes.iter().any(|byte| matches!(byte, b'+' | b'%')) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match (first, tail) {
            (b'+', _) => out.push(b' '),
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    out.push(high << 4 | low);
                    rest = after;
                }
                _ => out.push(b'%'),
            },
            (byte, _) => out.push(*byte),
        }
    }
    Cow::Owned(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// The value of the cookie called `name`, without the quotes that may be around it; [`SEVERAL`] where it is repeated.
pub(crate) fn cookie_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    single(cookie_values(headers, name)).map(|value| value.unwrap_or(SEVERAL))
}

/// The values of all cookies called `name`, likewise.
pub(crate) fn cookie_values<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a [u8]> {
    let pairs = headers.get_all(COOKIE).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    pairs.filter_map(move |pair| {
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        let (key, value) = pair.split_at_checked(equals)?;
        (key.trim_ascii() == name.as_bytes())
            .then(|| unquoted(value.get(1..).unwrap_or_default().trim_ascii()))
    })
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::{COOKIE, Cow, HeaderMap, SEVERAL, cookie_value, cookie_values, query_value, query_values};

    #[test]
    fn query_values_are_decoded_and_single() {
        let query = "a=1&b=x+y%2Fz&&c&a=2&%64=%C3%B1&e=%zz%4&a%20b=7";
        let value = |name| query_value(query, name).map(|v| v.into_owned());
        assert_eq!(value("a").as_deref(), Some(SEVERAL));
        assert_eq!(value("b").as_deref(), Some(&b"x y/z"[..]));
        assert_eq!(value("c").as_deref(), Some(&b""[..]));
        assert_eq!(value("d").as_deref(), Some("ñ".as_bytes()));
        assert_eq!(value("e").as_deref(), Some(&b"%zz%4"[..]));
        assert_eq!(value("a b").as_deref(), Some(&b"7"[..]));
        assert_eq!(value("f"), None);
        assert!(matches!(query_value("a=plain", "a"), Some(Cow::Borrowed(b"plain"))), "nothing is copied");
    }

    #[test]
    fn every_value_is_told() {
        let found: Vec<_> = query_values("a=1&b=2&%61=x+y", "a").collect();
        assert_eq!(found, [&b"1"[..], b"x y"]);
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "s=1; t=2; s=\"3\"".parse().unwrap());
        headers.append(COOKIE, "s=4".parse().unwrap());
        assert_eq!(cookie_values(&headers, "s").collect::<Vec<_>>(), [b"1", b"3", b"4"]);
    }

    #[test]
    fn a_cookie_counts_once() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "theme=dark; sid=abc=; sid=other".parse().unwrap());
        headers.append(COOKIE, "late=1; flag; q=\"v\"".parse().unwrap());
        assert_eq!(cookie_value(&headers, "theme"), Some(&b"dark"[..]));
        assert_eq!(cookie_value(&headers, "sid"), Some(SEVERAL));
        assert_eq!(cookie_value(&headers, "q"), Some(&b"v"[..]));
        assert_eq!(cookie_value(&headers, "late"), Some(&b"1"[..]));
        assert_eq!(cookie_value(&headers, "flag"), None);
        assert_eq!(cookie_value(&headers, "SID"), None);
    }
}
