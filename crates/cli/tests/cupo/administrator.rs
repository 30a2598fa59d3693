//! Whoever runs a gateway, by its admin API.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;

use crate::client::{Client, Response};
use crate::process::{Gateway, cupo};

/// The admin API of a gateway on this machine.
#[derive(Clone)]
pub(crate) struct Administrator {
    address: SocketAddr,
    token: Option<String>,
}

/// A gateway whose policy has an admin API, and whoever asks it.
pub(crate) fn administered(options: &[&str]) -> (Gateway, Administrator) {
    Administrator::of(cupo(), options)
}

impl Administrator {
    /// The same by a command that has its environment.
    pub(crate) fn of(command: Command, options: &[&str]) -> (Gateway, Self) {
        let mut gateway = Gateway::start_as(command, options);
        let line = gateway.line(|line| line.starts_with("cupo answers administrators on http"));
        let address = line.split_once("://").unwrap().1.parse().unwrap();
        (gateway, Self { address, token: None })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    pub(crate) fn get(&self, target: &str) -> Response {
        self.send("GET", target, &[], "")
    }

    pub(crate) fn post(&self, target: &str, body: &Value) -> Response {
        self.send("POST", target, &["Content-Type: application/json"], &body.to_string())
    }

    /// A request as it is said here.
    pub(crate) fn send(&self, method: &str, target: &str, fields: &[&str], body: &str) -> Response {
        let mut fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        if !fields.iter().any(|field| field.starts_with("Host:")) {
            fields.push(format!("Host: {}", self.address));
        }
        fields.extend(self.token.iter().map(|token| format!("Authorization: Bearer {token}")));
        if !body.is_empty() {
            fields.push(format!("Content-Length: {}", body.len()));
        }
        let head: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
        let mut client = Client::new(self.address);
        client.send(format!("{method} {target} HTTP/1.1\r\n{head}\r\n{body}"));
        client.read(method != "HEAD").expect("a response must come")
    }
}
