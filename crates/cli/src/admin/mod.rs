//! `cupo admin`: a running gateway, by its admin API.

pub(crate) mod client;
mod text;

use std::io::{self, BufRead as _, Write as _};

use cupo_http::ExplainedRequest;
use http::Method;
use serde_json::{Map, Value, json};

use crate::args::{AdminArgs, AdminCommand, KeyArgs};
use crate::failure::Failure;
use client::Client;

/// A request of the admin API.
struct Asked {
    method: Method,
    target: String,
    body: Option<Value>,
}

pub(crate) fn run(args: &AdminArgs) -> Result<(), Failure> {
    let asked = asked(&args.command)?;
    let client = Client::new(&args.reach)?;
    let body = asked.body.as_ref().map(|body| body.to_string().into_bytes());
    let answer = client.ask(asked.method, &asked.target, body)?;
    if answer.status != 200 {
        return Err(refusal(answer.status, &answer.body));
    }
    let mut out = io::stdout().lock();
    if args.json {
        out.write_all(&answer.body).and_then(|()| out.write_all(b"\n")).map_err(Failure::Write)?;
        return Ok(());
    }
    let shown = match &args.command {
        AdminCommand::Explain { .. } => {
            serde_json::from_slice(&answer.body).map(|e: ExplainedRequest| e.to_string())
        }
        command => serde_json::from_slice(&answer.body).map(|answer: Value| text::of(command, &answer)),
    };
    let shown =
        shown.map_err(|error| Failure::Admin { status: answer.status, detail: error.to_string().into() })?;
    writeln!(out, "{}", shown.trim_end()).and_then(|()| out.flush()).map_err(Failure::Write)
}

/// What the gateway says to what it does not do.
pub(crate) fn refusal(status: u16, body: &[u8]) -> Failure {
    let problem: Option<Value> = serde_json::from_slice(body).ok();
    let detail = problem.as_ref().and_then(|problem| problem["detail"].as_str());
    let detail = detail.unwrap_or("it is no admin API of Cupo that answers there");
    Failure::Admin { status, detail: detail.into() }
}

fn asked(command: &AdminCommand) -> Result<Asked, Failure> {
    let get = |target: String| Ok(Asked { method: Method::GET, target, body: None });
    let post = |what: &str, body: Option<Value>| {
        Ok(Asked { method: Method::POST, target: format!("/v1/{what}"), body })
    };
    match command {
        AdminCommand::State { key, tier } => {
            post("state", Some(named(key, [("tier", tier.clone().into())])?))
        }
        AdminCommand::Reset { key, tier } => {
            post("reset", Some(named(key, [("tier", tier.clone().into())])?))
        }
        AdminCommand::Grant { key, units, tier, times } => {
            let more =
                [("units", (*units).into()), ("tier", tier.clone().into()), ("times", (*times).into())];
            post("grant", Some(named(key, more)?))
        }
        AdminCommand::Block { key, span } => {
            // A part of a second is one, so that a block is never shorter than asked for.
            let seconds = span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0));
            post("block", Some(named(key, [("seconds", seconds.into())])?))
        }
        AdminCommand::Unblock { key } => post("unblock", Some(named(key, [])?)),
        AdminCommand::Blocks => get("/v1/blocks".to_owned()),
        AdminCommand::Nearest { n, rule: None } => get(format!("/v1/nearest?n={n}")),
        AdminCommand::Nearest { n, rule: Some(rule) } => {
            get(format!("/v1/nearest?n={n}&rule={}", encoded(rule)))
        }
        AdminCommand::Explain { path, method, host, headers, peer } => {
            let mut body = json!({ "path": path, "method": method });
            if let (Some(host), Some(fields)) = (host, body.as_object_mut()) {
                fields.insert("host".to_owned(), host.as_str().into());
            }
            if let (Some(peer), Some(fields)) = (peer, body.as_object_mut()) {
                fields.insert("peer".to_owned(), peer.as_str().into());
            }
            if !headers.is_empty() {
                body["headers"] = self::headers(headers)?;
            }
            post("explain", Some(body))
        }
        AdminCommand::Policy => get("/v1/policy".to_owned()),
        AdminCommand::Reload => post("reload", None),
        AdminCommand::Rollback { to } => post("rollback", Some(json!({ "to": to }))),
        AdminCommand::History => get("/v1/history".to_owned()),
        AdminCommand::Audit { n } => get(format!("/v1/audit?n={n}")),
    }
}

/// A key of a rule, and more fields.
fn named<const N: usize>(key: &KeyArgs, more: [(&str, Value); N]) -> Result<Value, Failure> {
    let mut lines = io::stdin().lock().lines();
    let mut parts = Vec::with_capacity(key.parts.len());
    for part in &key.parts {
        parts.push(if part == "-" {
            lines
                .next()
                .transpose()
                .map_err(Failure::Read)?
                .ok_or(Failure::Usage("stdin has no line for a part `-`"))?
        } else {
            part.clone()
        });
    }
    let mut body = json!({ "rule": key.rule, "parts": parts });
    for (name, value) in more {
        if !value.is_null() {
            body[name] = value;
        }
    }
    Ok(body)
}

fn headers(said: &[String]) -> Result<Value, Failure> {
    let mut headers: Map<String, Value> = Map::new();
    for line in said {
        let pair = line
            .split_once(':')
            .ok_or(Failure::Usage("a header is written NAME: VALUE, as in 'x-team: blue'"))?;
        let lines = headers.entry(pair.0.trim().to_ascii_lowercase()).or_insert_with(|| json!([]));
        if let Some(lines) = lines.as_array_mut() {
            lines.push(pair.1.trim().into());
        }
    }
    Ok(headers.into())
}

/// As a value in a query.
fn encoded(text: &str) -> String {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    text.bytes()
        .map(|byte| if legal(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
