//! Names and values inside a request: query parameters and cookies.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::COOKIE;

/// The decoded value of the parameter called `name`; several are joined by `,`.
pub(crate) fn query_value<'a>(query: &'a str, name: &str) -> Option<Cow<'a, [u8]>> {
    let mut found: Option<Cow<'a, [u8]>> = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if *decode(key) != *name.as_bytes() {
            continue;
        }
        let value = decode(value);
        match &mut found {
            None => found = Some(value),
            Some(before) => {
                let before = before.to_mut();
                before.push(b',');
                before.extend_from_slice(&value);
            }
        }
    }
    found
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

/// The value of the first cookie called `name`.
pub(crate) fn cookie_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a [u8]> {
    headers.get_all(COOKIE).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b';')).find_map(
        |pair| {
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            let (key, value) = pair.split_at_checked(equals)?;
            (key.trim_ascii() == name.as_bytes()).then(|| value.get(1..).unwrap_or_default().trim_ascii())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::{COOKIE, Cow, HeaderMap, cookie_value, query_value};

    #[test]
    fn query_values_are_decoded_and_joined() {
        let query = "a=1&b=x+y%2Fz&&c&a=2&%64=%C3%B1&e=%zz%4&a%20b=7";
        let value = |name| query_value(query, name).map(|v| v.into_owned());
        assert_eq!(value("a").as_deref(), Some(&b"1,2"[..]));
        assert_eq!(value("b").as_deref(), Some(&b"x y/z"[..]));
        assert_eq!(value("c").as_deref(), Some(&b""[..]));
        assert_eq!(value("d").as_deref(), Some("ñ".as_bytes()));
        assert_eq!(value("e").as_deref(), Some(&b"%zz%4"[..]));
        assert_eq!(value("a b").as_deref(), Some(&b"7"[..]));
        assert_eq!(value("f"), None);
        assert!(matches!(query_value("a=plain", "a"), Some(Cow::Borrowed(b"plain"))), "nothing is copied");
    }

    #[test]
    fn the_first_cookie_counts() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "theme=dark; sid=abc=; sid=other".parse().unwrap());
        headers.append(COOKIE, "late=1; flag".parse().unwrap());
        assert_eq!(cookie_value(&headers, "sid"), Some(&b"abc="[..]));
        assert_eq!(cookie_value(&headers, "late"), Some(&b"1"[..]));
        assert_eq!(cookie_value(&headers, "flag"), None);
        assert_eq!(cookie_value(&headers, "SID"), None);
    }
}
