//! A response's head on its way from an HTTP/1.1 upstream.

use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use super::failure::Failure;
use super::headers::{Nominated, hop_by_hop, members, removable};
use super::request::Framing;

/// Header fields at most.
const MAX_FIELDS: usize = 128;

/// A parsed head.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// Without those of the hop.
    pub(super) headers: HeaderMap,
    pub(super) framing: Framing,
    /// Whether the connection can serve another request after this one.
    pub(super) keep_alive: bool,
    /// The protocol switched to, if that is what it says.
    pub(super) upgrade: Option<HeaderValue>,
}

/// What a message says about itself and this hop.
#[derive(Default)]
struct Hop<'a> {
    nominated: Nominated<'a>,
    close: bool,
    keep_alive: bool,
    codings: usize,
    chunked: bool,
    length: Option<u64>,
    upgrade: Option<&'a [u8]>,
}

/// Takes a head from the front of `buffer` if it is whole. `spare` is an empty map, whose memory is used.
pub(super) fn parse(
    buffer: &mut BytesMut,
    method: &Method,
    spare: &mut HeaderMap,
) -> Result<Option<Head>, Failure> {
    // Not initialised: filling the array would cost more than parsing a short head does.
    let mut fields = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let len = match config.parse_response_with_uninit_headers(&mut response, buffer, &mut fields) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(Failure::Invalid),
    };
    let status = StatusCode::from_u16(response.code.unwrap_or(0)).map_err(|_| Failure::Invalid)?;
    let http_10 = response.version == Some(0);
    let hop = hop(response.headers)?;
    let framing = framing(&hop, status, method, http_10)?;
    let keep_alive = !hop.close && (!http_10 || hop.keep_alive) && framing != Framing::Close;

    // Values share the buffer's memory: note where they are, then cut them out.
    let mut headers = std::mem::take(spare);
    let base = buffer.as_ptr().addr();
    let mut kept = smallvec::SmallVec::<[(HeaderName, usize, usize); 24]>::new();
    for field in response.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| Failure::Invalid)?;
        let ends = hop_by_hop(&name)
            || (name == header::CONTENT_LENGTH && kept.iter().any(|(kept, ..)| *kept == name))
            || hop.nominated.iter().any(|nominated| nominated.eq_ignore_ascii_case(field.name.as_bytes()));
        if !ends {
            kept.push((name, field.value.as_ptr().addr().wrapping_sub(base), field.value.len()));
        }
    }
    let upgrade = match (status, hop.upgrade) {
        (StatusCode::SWITCHING_PROTOCOLS, Some(protocol)) => HeaderValue::from_bytes(protocol).ok(),
        _ => None,
    };
    drop(hop);
    let head = buffer.split_to(len).freeze();
    headers.reserve(kept.len());
    for (name, at, len) in kept {
        let value = slice(&head, at, len);
        headers.append(name, HeaderValue::from_maybe_shared(value).map_err(|_| Failure::Invalid)?);
    }
    Ok(Some(Head { status, headers, framing, keep_alive, upgrade }))
}

/// The part of `head` at `at`; empty values may lie anywhere.
fn slice(head: &Bytes, at: usize, len: usize) -> Bytes {
    match at.checked_add(len) {
        Some(end) if len > 0 && end <= head.len() => head.slice(at..end),
        _ => Bytes::new(),
    }
}

fn hop<'a>(fields: &[httparse::Header<'a>]) -> Result<Hop<'a>, Failure> {
    let mut hop = Hop::default();
    for field in fields {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        match field.name.len() {
            7 if is("upgrade") => hop.upgrade = Some(field.value),
            10 if is("connection") => {
                for member in members(field.value) {
                    if member.eq_ignore_ascii_case(b"close") {
                        hop.close = true;
                    } else if member.eq_ignore_ascii_case(b"keep-alive") {
                        hop.keep_alive = true;
                    } else if removable(member) {
                        hop.nominated.push(member);
                    }
                }
            }
            14 if is("content-length") => {
                let length = length(field.value)?;
                if hop.length.is_some_and(|other| other != length) {
                    return Err(Failure::Invalid);
                }
                hop.length = Some(length);
            }
            17 if is("transfer-encoding") => {
                hop.codings += 1;
                hop.chunked = field.value.trim_ascii().eq_ignore_ascii_case(b"chunked");
            }
            _ => {}
        }
    }
    Ok(hop)
}

/// Digits only: no sign, no list.
fn length(value: &[u8]) -> Result<u64, Failure> {
    let value = value.trim_ascii();
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Failure::Invalid);
    }
    std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).ok_or(Failure::Invalid)
}

/// How the body is delimited (RFC 9112, section 6.3). A head that delimits it twice, or by a coding other than chunked, is
/// refused: the next hop might read it differently.
fn framing(hop: &Hop<'_>, status: StatusCode, method: &Method, http_10: bool) -> Result<Framing, Failure> {
    if hop.codings > 0 && (hop.codings > 1 || !hop.chunked || hop.length.is_some() || http_10) {
        return Err(Failure::Invalid);
    }
    let bodiless =
        status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    Ok(if bodiless || *method == Method::HEAD {
        Framing::Empty
    } else if hop.chunked {
        Framing::Chunked
    } else {
        match hop.length {
            Some(0) => Framing::Empty,
            Some(length) => Framing::Length(length),
            None => Framing::Close,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<Head>, Failure> {
        parse(&mut BytesMut::from(text), &Method::GET, &mut HeaderMap::new())
    }

    #[test]
    fn framing_is_read_one_way_only() {
        let framing = |fields: &str| {
            head(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n")).map(|head| head.unwrap().framing)
        };
        assert_eq!(framing("Content-Length: 5\r\n"), Ok(Framing::Length(5)));
        assert_eq!(framing("Content-Length: 5\r\nContent-Length: 5\r\n"), Ok(Framing::Length(5)));
        assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
        assert_eq!(framing(""), Ok(Framing::Close));
        for fields in [
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            "Content-Length: 5, 5\r\n",
            "Content-Length: +5\r\n",
            "Content-Length: \r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding : chunked\r\n",
            "A: b\r\n c\r\n",
        ] {
            assert_eq!(framing(fields), Err(Failure::Invalid), "{fields:?}");
        }
    }

    #[test]
    fn fields_of_the_hop_end_here() {
        let text = "HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-Empty:\r\n\
                    Content-Length: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nhi";
        let head = head(text).unwrap().unwrap();
        assert!(!head.keep_alive);
        let names: Vec<_> =
            head.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(
            names,
            [("x-empty", ""), ("content-length", "2"), ("set-cookie", "a=1"), ("set-cookie", "b=2")]
        );
    }

    #[test]
    fn http_10_closes_unless_it_says_otherwise() {
        let keep = |text: &str| head(text).unwrap().unwrap().keep_alive;
        assert!(!keep("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
        assert!(keep("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"));
        assert!(keep("HTTP/1.1 204 No Content\r\n\r\n"));
    }
}
