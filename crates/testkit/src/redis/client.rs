//! A minimal client: one command, one reply, RESP2.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// What a server replied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    Nil,
    /// A number.
    Int(i64),
    /// Bytes, or a status such as `OK`.
    Bytes(Vec<u8>),
    /// An error, with its code.
    Error(String),
    /// Several replies.
    Array(Vec<Self>),
}

impl Reply {
    /// The bytes.
    ///
    /// # Panics
    /// Where it is something else.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let Self::Bytes(bytes) = self else { panic!("bytes expected: {self:?}") };
        bytes
    }

    /// The bytes as text.
    ///
    /// # Panics
    /// Where it is something else.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(self.bytes()).unwrap()
    }

    /// The number.
    ///
    /// # Panics
    /// Where it is something else.
    #[must_use]
    pub fn int(&self) -> i64 {
        let Self::Int(n) = self else { panic!("a number expected: {self:?}") };
        *n
    }

    /// The replies in it.
    ///
    /// # Panics
    /// Where it is something else.
    #[must_use]
    pub fn array(&self) -> &[Self] {
        let Self::Array(replies) = self else { panic!("an array expected: {self:?}") };
        replies
    }
}

trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// A connection.
pub struct Client(BufReader<Box<dyn Stream>>);

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// A server that does not answer for so long is not there.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(30));

impl Client {
    /// Connects to a port of 127.0.0.1.
    ///
    /// # Errors
    /// Where that fails.
    pub fn tcp(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(PATIENCE)?;
        Ok(Self(BufReader::new(Box::new(stream))))
    }

    /// Connects to a Unix socket.
    ///
    /// # Errors
    /// Where that fails.
    pub fn unix(path: &Path) -> Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(PATIENCE)?;
        Ok(Self(BufReader::new(Box::new(stream))))
    }

    /// Sends a command and waits for its reply.
    ///
    /// # Errors
    /// Where the connection breaks; an error that the server replies is a [`Reply::Error`].
    pub fn try_command<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.0.get_mut().write_all(&request)?;
        self.reply()
    }

    /// Sends a command and waits for its reply.
    ///
    /// # Panics
    /// Where the connection breaks or the server replies with an error.
    pub fn command<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Reply {
        let reply = self.try_command(words).unwrap();
        if let Reply::Error(error) = reply {
            let words: Vec<_> = words.iter().map(|w| w.as_ref().escape_ascii().to_string()).collect();
            panic!("{error}: {}", words.join(" "));
        }
        reply
    }

    /// A section of `INFO`, by field.
    ///
    /// # Panics
    /// As [`command`](Self::command).
    pub fn info(&mut self, section: &str) -> BTreeMap<String, String> {
        let reply = self.command(&["INFO", section]);
        let fields = reply.text().lines().filter_map(|line| line.split_once(':'));
        fields.map(|(field, value)| (field.to_owned(), value.to_owned())).collect()
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        match line.strip_suffix("\r\n") {
            Some(line) => Ok(line.to_owned()),
            None => Err(Error::new(ErrorKind::UnexpectedEof, "the connection was closed")),
        }
    }

    fn reply(&mut self) -> Result<Reply> {
        let line = self.line()?;
        let (kind, rest) = line.split_at_checked(1).unwrap_or(("", ""));
        let number = || rest.parse::<i64>().map_err(|error| Error::new(ErrorKind::InvalidData, error));
        Ok(match kind {
            "+" => Reply::Bytes(rest.into()),
            "-" => Reply::Error(rest.into()),
            ":" => Reply::Int(number()?),
            "$" | "*" if number()? < 0 => Reply::Nil,
            "$" => {
                let mut bytes = vec![0; usize::try_from(number()?).unwrap() + 2];
                self.0.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Reply::Bytes(bytes)
            }
            "*" => Reply::Array((0..number()?).map(|_| self.reply()).collect::<Result<_>>()?),
            _ => return Err(Error::new(ErrorKind::InvalidData, line)),
        })
    }
}
