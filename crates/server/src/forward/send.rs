//! The sending half of an exchange: the request's head, then its body as it comes, never more than one frame of it at a
//! time.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame};
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;

use super::failure::Failure;
use super::headers::allowed_trailer;
use super::request::Framing;

/// Data up to this size is copied behind its chunk-size line, which is cheaper than a second buffer.
const COPY: usize = 1024;

/// What sending waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// Nothing: the request is written.
    All,
    /// The client's next frame.
    WaitsForClient,
    /// Room in the upstream's socket.
    WaitsForUpstream,
    /// The upstream's leave to send the body: `100 (Continue)`.
    Held,
    /// Nothing: the upstream takes no more; it may still answer.
    Broken,
}

/// A request on its way out.
#[derive(Debug)]
pub(super) struct Send<B> {
    body: Option<B>,
    framing: Framing,
    /// How much of the output buffer is written.
    written: usize,
    /// A frame's data, after the output buffer.
    data: Bytes,
    /// Body bytes taken from the client.
    taken: u64,
    max: u64,
    held: bool,
    broken: bool,
    /// Whether anything moved since this was last reset.
    pub(super) moved: bool,
}

impl<B> Send<B> {
    /// Sends `body`, `framing` of it, after a head that is in the output buffer. `held` until [`Send::release`].
    pub(super) fn new(body: B, framing: Framing, held: bool, max: u64) -> Self {
        let body = (framing != Framing::Empty).then_some(body);
        Self {
            held: held && body.is_some(),
            body,
            framing,
            written: 0,
            data: Bytes::new(),
            taken: 0,
            max,
            broken: false,
            moved: false,
        }
    }

    /// Lets the body follow.
    pub(super) fn release(&mut self) {
        self.held = false;
    }

    /// Starts again on another connection; only for requests without a body.
    pub(super) fn restart(&mut self) {
        self.written = 0;
        self.broken = false;
    }

    /// Whether there is no body, so that the output buffer holds the whole request.
    pub(super) fn head_only(&self) -> bool {
        self.framing == Framing::Empty
    }
}

impl<B> Send<B>
where
    B: Body<Data = Bytes> + Unpin,
{
    /// Sends as much as can be sent now.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut TcpStream,
        output: &mut Vec<u8>,
    ) -> Result<Sent, Failure> {
        loop {
            if self.broken {
                return Ok(Sent::Broken);
            }
            match self.flush(cx, stream, output) {
                Poll::Pending => return Ok(Sent::WaitsForUpstream),
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => {
                    // Perhaps it answered first, and closed: reading will tell.
                    self.broken = true;
                    self.body = None;
                    continue;
                }
            }
            let Some(body) = &mut self.body else { return Ok(Sent::All) };
            if self.held {
                return Ok(Sent::Held);
            }
            let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) else { return Ok(Sent::WaitsForClient) };
            self.moved = true;
            // All of it is written: what follows can use the buffer from its start.
            output.clear();
            self.written = 0;
            match frame {
                Some(Ok(frame)) => self.queue(frame, output)?,
                Some(Err(_)) => return Err(Failure::RequestBody),
                None => self.end(None, output)?,
            }
        }
    }

    fn queue(&mut self, frame: Frame<Bytes>, output: &mut Vec<u8>) -> Result<(), Failure> {
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => return self.end(frame.into_trailers().ok().as_ref(), output),
        };
        if data.is_empty() {
            return Ok(());
        }
        self.taken = self.taken.saturating_add(u64::try_from(data.len()).unwrap_or(u64::MAX));
        if self.taken > self.max {
            return Err(Failure::BodyTooLarge);
        }
        match self.framing {
            Framing::Length(length) if self.taken > length => return Err(Failure::RequestBody),
            Framing::Chunked => {
                push_hex(output, data.len());
                output.extend_from_slice(b"\r\n");
                if data.len() <= COPY {
                    output.extend_from_slice(&data);
                    output.extend_from_slice(b"\r\n");
                    return Ok(());
                }
            }
            _ => {}
        }
        self.data = data;
        Ok(())
    }

    fn end(&mut self, trailers: Option<&HeaderMap>, output: &mut Vec<u8>) -> Result<(), Failure> {
        self.body = None;
        match self.framing {
            Framing::Length(length) if self.taken != length => return Err(Failure::RequestBody),
            Framing::Chunked => {
                output.extend_from_slice(b"0\r\n");
                for (name, value) in trailers.into_iter().flatten().filter(|(name, _)| allowed_trailer(name))
                {
                    output.extend_from_slice(name.as_str().as_bytes());
                    output.extend_from_slice(b": ");
                    output.extend_from_slice(value.as_bytes());
                    output.extend_from_slice(b"\r\n");
                }
                output.extend_from_slice(b"\r\n");
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes the rest of the output buffer, then the data. The buffer is left as it is, in case it is needed again.
    fn flush(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut TcpStream,
        output: &mut Vec<u8>,
    ) -> Poll<io::Result<()>> {
        loop {
            let head = output.get(self.written..).unwrap_or_default();
            if head.is_empty() && self.data.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let stream = Pin::new(&mut *stream);
            let written = if self.data.is_empty() {
                stream.poll_write(cx, head)
            } else if head.is_empty() {
                stream.poll_write(cx, &self.data)
            } else {
                stream.poll_write_vectored(cx, &[IoSlice::new(head), IoSlice::new(&self.data)])
            };
            let written = match written {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => written,
            };
            self.moved = true;
            let of_head = written.min(head.len());
            self.written += of_head;
            let of_data = written - of_head;
            if of_data > 0 {
                self.data.advance(of_data);
                if self.data.is_empty() && self.framing == Framing::Chunked {
                    output.clear();
                    self.written = 0;
                    output.extend_from_slice(b"\r\n");
                }
            }
        }
    }
}

fn push_hex(out: &mut Vec<u8>, number: usize) {
    let digits = (usize::BITS - number.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        let nibble = u8::try_from(number >> (digit * 4) & 0xf).unwrap_or(0);
        out.push(if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 });
    }
}

#[cfg(test)]
mod tests {
    use super::push_hex;

    #[test]
    fn hexadecimal_is_plain() {
        for number in [0, 1, 9, 10, 15, 16, 255, 256, 65_535, 65_536, usize::MAX] {
            let mut out = Vec::new();
            push_hex(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{number:x}"));
        }
    }
}
