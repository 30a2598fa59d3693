//! A client that speaks HTTP/1.1 and reads what a gateway says of its limits.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::process::BOUND;

#[derive(Debug, Clone, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.header(name).map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is {value:?}")))
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.number("x-ratelimit-remaining").unwrap_or_else(|| panic!("no remaining in {self:?}"))
    }

    /// The parameter of each rule in `RateLimit` (`r`, `t`) or `RateLimit-Policy` (`q`, `w`).
    pub(crate) fn of_rules(&self, parameter: &str) -> BTreeMap<String, u64> {
        let field = if matches!(parameter, "r" | "t") { "ratelimit" } else { "ratelimit-policy" };
        let items = self.header(field).unwrap_or_default().split(", ").filter(|item| !item.is_empty());
        items
            .filter_map(|item| {
                let mut parts = item.split(';');
                let name = parts.next().unwrap().trim_matches('"').to_owned();
                let value = parts.find_map(|part| part.strip_prefix(parameter)?.strip_prefix('='))?;
                Some((name, value.parse().unwrap()))
            })
            .collect()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON in {self:?}"))
    }
}

/// One connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream.set_write_timeout(Some(BOUND)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    pub(crate) fn send(&self, request: impl AsRef<[u8]>) {
        self.socket().write_all(request.as_ref()).unwrap();
    }

    /// Sends a request without a body; `fields` are lines such as `X-A: b`. Names a host unless one is named.
    pub(crate) fn ask(&self, method: &str, target: &str, fields: &[&str]) {
        let named = fields.iter().any(|field| field.to_ascii_lowercase().starts_with("host:"));
        let host = if named { "" } else { "Host: shop.example\r\n" };
        let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
        self.send(format!("{method} {target} HTTP/1.1\r\n{host}{fields}\r\n"));
    }

    pub(crate) fn get(&mut self, target: &str) -> Response {
        self.request("GET", target, &[])
    }

    pub(crate) fn request(&mut self, method: &str, target: &str, fields: &[&str]) -> Response {
        self.ask(method, target, fields);
        self.read(method != "HEAD").expect("a response must come")
    }

    /// Reads a response; `None` where the connection ends before it begins.
    pub(crate) fn read(&mut self, has_body: bool) -> Option<Response> {
        let mut response = Response::default();
        let line = self.line()?;
        response.status = line.split(' ').nth(1).unwrap().parse().unwrap();
        loop {
            let line = self.line().expect("a whole head");
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap();
            response.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut body = Vec::new();
        if let (Some(length), true) = (response.number("content-length"), has_body) {
            body.resize(usize::try_from(length).unwrap(), 0);
            self.stream.read_exact(&mut body).unwrap();
        } else if response.header("transfer-encoding") == Some("chunked") && has_body {
            loop {
                let size = usize::from_str_radix(&self.line().unwrap(), 16).unwrap();
                let mut chunk = vec![0; size + 2];
                self.stream.read_exact(&mut chunk).unwrap();
                if size == 0 {
                    break;
                }
                body.extend_from_slice(&chunk[..size]);
            }
        }
        response.body = String::from_utf8(body).unwrap();
        Some(response)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).unwrap();
        let line = line.strip_suffix(b"\r\n")?;
        Some(String::from_utf8(line.to_vec()).unwrap())
    }
}

/// A request by a connection of its own.
pub(crate) fn request(address: SocketAddr, method: &str, target: &str, fields: &[&str]) -> Response {
    Client::new(address).request(method, target, fields)
}

pub(crate) fn get(address: SocketAddr, target: &str) -> Response {
    request(address, "GET", target, &[])
}
