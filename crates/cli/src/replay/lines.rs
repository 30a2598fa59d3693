//! Lines of a byte stream, without copying those that lie whole in the buffer, and none longer than a bound.

use std::io::{self, Read};

/// The longest line, in bytes.
pub(super) const LONGEST: usize = 1 << 20;

const BUFFER: usize = 1 << 18;

/// Why there is no next line.
pub(super) enum LineError {
    Read(io::Error),
    TooLong,
}

pub(super) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the next newline is, once it has been found.
    newline: Option<usize>,
    /// Up to here there is none.
    searched: usize,
    number: u64,
    ended: bool,
    /// Whether the rest of a line that was too long has yet to be left out.
    overlong: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            newline: None,
            searched: 0,
            number: 0,
            ended: false,
            overlong: false,
        }
    }

    /// How many lines have been given out.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Whether the rest of the next line has yet to be read from the source, which may take as long as it likes.
    pub(super) fn is_drained(&mut self) -> bool {
        self.find_newline().is_none()
    }

    fn find_newline(&mut self) -> Option<usize> {
        if self.newline.is_none() {
            let unsearched = self.buffer.get(self.searched..self.end).unwrap_or_default();
            self.newline = memchr::memchr(b'\n', unsearched).map(|at| self.searched.saturating_add(at));
            self.searched = self.newline.unwrap_or(self.end);
        }
        self.newline
    }

    /// The next line without its end, or `None` after the last. One that is too long is an error, and then left out.
    pub(super) fn next(&mut self) -> Option<Result<&[u8], LineError>> {
        if let Err(error) = self.leave_out() {
            return Some(Err(LineError::Read(error)));
        }
        let end = loop {
            if let Some(newline) = self.find_newline() {
                break newline;
            }
            if self.end.saturating_sub(self.start) > LONGEST {
                (self.overlong, self.number) = (true, self.number.saturating_add(1));
                return Some(Err(LineError::TooLong));
            }
            if self.ended {
                if self.start == self.end {
                    return None;
                }
                break self.end;
            }
            match self.fill() {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) => return Some(Err(LineError::Read(error))),
            }
        };
        let line = self.start..end;
        self.start = end.saturating_add(1).min(self.end);
        (self.newline, self.searched) = (None, self.start);
        self.number = self.number.saturating_add(1);
        if line.len() > LONGEST {
            return Some(Err(LineError::TooLong));
        }
        Some(Ok(self.buffer.get(line).unwrap_or_default()))
    }

    /// Goes on behind a line that was too long, without keeping it.
    fn leave_out(&mut self) -> io::Result<()> {
        while self.overlong {
            if let Some(newline) = self.find_newline() {
                self.start = newline.saturating_add(1);
                (self.newline, self.searched, self.overlong) = (None, self.start, false);
            } else {
                (self.start, self.searched) = (self.end, self.end);
                self.overlong = self.fill()? > 0;
                self.ended = !self.overlong;
            }
        }
        Ok(())
    }

    fn fill(&mut self) -> io::Result<usize> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end = self.end.saturating_sub(self.start);
            self.searched = self.searched.saturating_sub(self.start);
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len().saturating_mul(2), 0);
        }
        loop {
            match self.source.read(self.buffer.get_mut(self.end..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(count) => {
                    self.end = self.end.saturating_add(count);
                    return Ok(count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, LineError, Lines};

    /// Gives out its bytes a few at a time, as pipes do.
    struct Drops(Vec<u8>, usize);

    impl std::io::Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    #[test]
    fn lines_are_whole_however_the_bytes_come() {
        for size in [1, 2, 3, 7, 100] {
            let mut lines = Lines::new(Drops(b"one\n\ntwo three\r\nlast".to_vec(), size));
            let mut got = Vec::new();
            while let Some(Ok(line)) = lines.next() {
                got.push(line.to_vec());
            }
            assert_eq!(got, [&b"one"[..], b"", b"two three\r", b"last"], "{size} bytes at a time");
            assert_eq!(lines.number(), 4);
        }
    }

    #[test]
    fn a_line_without_end_is_refused_in_bounded_memory() {
        let mut lines = Lines::new(std::io::repeat(b'x'));
        assert!(matches!(lines.next(), Some(Err(LineError::TooLong))));
        assert!(lines.buffer.len() <= 4 * LONGEST);
    }
}
