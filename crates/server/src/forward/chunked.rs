//! The decoder of chunked bodies (RFC 9112, section 7.1), strict: what two parsers could read differently is an error.

use bytes::{Buf, Bytes, BytesMut};
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::headers::allowed_trailer;
use crate::error::BodyError;

/// A chunk-size line, with extensions, is no longer than this.
const MAX_LINE: usize = 4 * 1024;
/// All trailers together are no longer than this.
const MAX_TRAILERS: usize = 16 * 1024;
/// Trailer fields at most.
const MAX_TRAILER_FIELDS: usize = 64;

/// What decoding a buffer came to.
#[derive(Debug)]
pub(super) enum Decoded {
    /// Data of the body.
    Data(Bytes),
    /// The body is whole; the trailers, if there are any.
    End(Option<HeaderMap>),
    /// More bytes are needed.
    More,
}

/// Where in a chunked body the decoder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Chunks {
    /// Before a chunk-size line.
    #[default]
    Size,
    /// In a chunk, with this much left.
    Data(u64),
    /// Before the line end that closes a chunk.
    DataEnd,
    /// In the trailers.
    Trailers,
}

impl Chunks {
    /// Takes what can be taken from the front of `buffer`.
    pub(super) fn decode(&mut self, buffer: &mut BytesMut) -> Result<Decoded, BodyError> {
        loop {
            match *self {
                Self::Size => {
                    let Some(end) = line_end(buffer, MAX_LINE)? else { return Ok(Decoded::More) };
                    let size = size(buffer.get(..end).unwrap_or_default())?;
                    buffer.advance(end + 2);
                    *self = if size == 0 { Self::Trailers } else { Self::Data(size) };
                }
                Self::Data(_) if buffer.is_empty() => return Ok(Decoded::More),
                Self::Data(left) => {
                    let take = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                    let data = buffer.split_to(take).freeze();
                    let left = left.saturating_sub(u64::try_from(take).unwrap_or(u64::MAX));
                    *self = if left == 0 { Self::DataEnd } else { Self::Data(left) };
                    return Ok(Decoded::Data(data));
                }
                Self::DataEnd => match (buffer.first(), buffer.get(1)) {
                    (Some(b'\r'), Some(b'\n')) => {
                        buffer.advance(2);
                        *self = Self::Size;
                    }
                    (None, _) | (Some(b'\r'), None) => return Ok(Decoded::More),
                    _ => return Err(BodyError::Framing),
                },
                Self::Trailers => return trailers(buffer),
            }
        }
    }
}

/// Where the first line of `buffer` ends; it must end with CR LF and hold neither alone.
fn line_end(buffer: &[u8], max: usize) -> Result<Option<usize>, BodyError> {
    match buffer.iter().take(max).position(|&byte| matches!(byte, b'\r' | b'\n')) {
        Some(at) => match (buffer.get(at), buffer.get(at + 1)) {
            (Some(b'\r'), Some(b'\n')) => Ok(Some(at)),
            (Some(b'\r'), None) => Ok(None),
            _ => Err(BodyError::Framing),
        },
        None if buffer.len() >= max => Err(BodyError::Framing),
        None => Ok(None),
    }
}

/// The size in a chunk-size line; extensions are let be.
fn size(line: &[u8]) -> Result<u64, BodyError> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = line.split_at(digits);
    if digits.is_empty() || digits.len() > 15 || !matches!(rest.trim_ascii_start().first(), None | Some(b';'))
    {
        return Err(BodyError::Framing);
    }
    let text = std::str::from_utf8(digits).map_err(|_| BodyError::Framing)?;
    u64::from_str_radix(text, 16).map_err(|_| BodyError::Framing)
}

fn trailers(buffer: &mut BytesMut) -> Result<Decoded, BodyError> {
    match line_end(buffer, MAX_TRAILERS)? {
        None => return Ok(Decoded::More),
        Some(0) => {
            buffer.advance(2);
            return Ok(Decoded::End(None));
        }
        Some(_) => {}
    }
    let mut fields = [httparse::EMPTY_HEADER; MAX_TRAILER_FIELDS];
    let (len, map) = match httparse::parse_headers(buffer, &mut fields) {
        Ok(httparse::Status::Complete((len, fields))) => {
            let mut map = HeaderMap::with_capacity(fields.len());
            for field in fields {
                let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| BodyError::Framing)?;
                let value = HeaderValue::from_bytes(field.value).map_err(|_| BodyError::Framing)?;
                if allowed_trailer(&name) {
                    map.append(name, value);
                }
            }
            (len, map)
        }
        Ok(httparse::Status::Partial) if buffer.len() < MAX_TRAILERS => return Ok(Decoded::More),
        Ok(httparse::Status::Partial) | Err(_) => return Err(BodyError::Framing),
    };
    buffer.advance(len);
    Ok(Decoded::End((!map.is_empty()).then_some(map)))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Whole = (Vec<u8>, Option<HeaderMap>, usize);

    /// Decodes `input`, given in parts of `step` bytes: the data, the trailers, and what is left over.
    fn decode(input: &[u8], step: usize) -> Result<Option<Whole>, BodyError> {
        let (mut chunks, mut buffer, mut data) = (Chunks::default(), BytesMut::new(), Vec::new());
        let mut parts = input.chunks(step);
        loop {
            match chunks.decode(&mut buffer)? {
                Decoded::Data(bytes) => data.extend_from_slice(&bytes),
                Decoded::End(trailers) => {
                    let left = buffer.len() + parts.map(<[u8]>::len).sum::<usize>();
                    return Ok(Some((data, trailers, left)));
                }
                Decoded::More => match parts.next() {
                    Some(part) => buffer.extend_from_slice(part),
                    None => return Ok(None),
                },
            }
        }
    }

    #[test]
    fn chunks_decode_however_they_arrive() {
        let input = b"5\r\nhello\r\n1;ext=\"a\"\r\n \r\nA \r\n0123456789\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\nleft";
        for step in 1..=input.len() {
            let (data, trailers, left) = decode(input, step).unwrap().unwrap();
            assert_eq!(data, b"hello 0123456789");
            let trailers = trailers.unwrap();
            assert_eq!((trailers.len(), trailers.get("x-sum").unwrap().as_bytes()), (1, b"1".as_slice()));
            assert_eq!(left, 4);
        }
        assert!(matches!(decode(b"0\r\n\r\n", 1), Ok(Some((data, None, 0))) if data.is_empty()));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_an_error() {
        for input in [
            b"5\nhello\r\n0\r\n\r\n".as_slice(),
            b"5\rhello\r\n0\r\n\r\n",
            b"5\r\nhelloX\r\n0\r\n\r\n",
            b"5\r\nhello\n0\r\n\r\n",
            b"+5\r\nhello\r\n0\r\n\r\n",
            b"0x5\r\nhello\r\n0\r\n\r\n",
            b"5 5\r\nhello\r\n0\r\n\r\n",
            b"\r\nhello",
            b"-1\r\n",
            b"1000000000000000\r\n",
            b"ffffffffffffffffff\r\n",
            b"0\r\n : x\r\n\r\n",
            b"0\r\n\nX",
        ] {
            assert!(decode(input, input.len()).is_err(), "{:?}", String::from_utf8_lossy(input));
        }
        assert!(decode(&[b'1'; MAX_LINE + 1], 512).is_err());
    }

    #[test]
    fn a_prefix_is_never_whole() {
        let input = b"5\r\nhello\r\n0\r\nA: b\r\n\r\n";
        for len in 0..input.len() {
            assert!(decode(&input[..len], 3).unwrap().is_none(), "{len}");
        }
    }
}
