//! What callers see: rate-limit fields, messages, and what single rules answer with.

use std::time::Duration;

use super::value::{Map, Value};
use super::{header, message};
use crate::problem::{Expected, Problem};
use crate::responses_source::{
    CorsSource, HeaderDialect, HeadersSource, Preflight, ResetAs, ResponsesSource, RuleResponseSource,
    UpstreamHeaders,
};
use crate::tree::Content;

const FIELDS: &[&str] =
    &["headers", "upstream_headers", "retry_after_jitter", "preflight", "language", "messages", "cors"];

/// The longest jitter, in seconds.
const LONGEST_JITTER: u64 = 3_600;

/// The languages that are there from the beginning.
const BUILT_IN: [&str; 2] = ["en", "es"];

/// What is wrong is left out: nobody sees it then.
pub(super) fn responses(value: &Value<'_>) -> Option<ResponsesSource> {
    let map = value.map(FIELDS)?;
    let messages = map.get("messages").and_then(|value| message::messages(&value)).unwrap_or_default();
    let is_there = |tag: &str| {
        let added = messages.iter().map(|message| message.language.as_str());
        added.chain(BUILT_IN).any(|there| there.eq_ignore_ascii_case(tag))
    };
    let language = map.get("language").and_then(|value| {
        let tag = value.text()?;
        match tag {
            _ if !message::is_tag(tag) => value.fault(Problem::Language(tag.into())),
            _ if !is_there(tag) => value.fault(Problem::NoMessages(tag.into())),
            _ => Some(tag.to_owned()),
        }
    });
    Some(ResponsesSource {
        headers: map.get("headers").and_then(|value| headers(&value)),
        upstream_headers: map.get("upstream_headers").and_then(|value| {
            value.word("an answer to the upstream's headers", &UpstreamHeaders::ALL, UpstreamHeaders::name)
        }),
        retry_after_jitter: map.get("retry_after_jitter").and_then(|value| jitter(&value)),
        preflight: map
            .get("preflight")
            .and_then(|value| value.word("an answer to preflights", &Preflight::ALL, Preflight::name)),
        language,
        messages,
        cors: map.get("cors").and_then(|value| cors(&value)),
        rules: Vec::new(),
    })
}

/// Forms, one form, or `none`.
fn headers(value: &Value<'_>) -> Option<Vec<HeadersSource>> {
    let items = match value.content() {
        Content::Text { text, .. } if text == "none" => return Some(Vec::new()),
        Content::Text { .. } | Content::Map(_) => vec![value.clone()],
        _ => value.list()?,
    };
    let mut forms = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let Some((form, own)) = form(&item) else { continue };
        for (at, name) in own {
            if names.contains(&name) {
                let _: Option<()> = at.fault(Problem::HeaderTwice(name.as_str().into()));
            }
            names.push(name);
        }
        forms.push(form);
    }
    Some(forms)
}

/// A form, and the names that it writes with the places where they are said.
fn form<'a>(item: &Value<'a>) -> Option<(HeadersSource, Vec<(Value<'a>, String)>)> {
    match item.content() {
        Content::Text { .. } => {
            let dialect = item.word("a dialect", &HeaderDialect::ALL, HeaderDialect::name)?;
            let names = dialect.fields().iter().map(|name| (item.clone(), (*name).to_owned())).collect();
            Some((HeadersSource::Dialect(dialect), names))
        }
        Content::Map(_) => {
            let map = item.map(&["limit", "remaining", "reset", "reset_as"])?;
            let mut said = Vec::new();
            let mut name = |field| {
                map.or(field, None, |value| {
                    let name = header::field_name(value)?;
                    said.push((value.clone(), name.clone()));
                    Some(Some(name))
                })
            };
            let (limit, remaining, reset) = (name("limit"), name("remaining"), name("reset"));
            let reset_as = map.or("reset_as", ResetAs::default(), |value| {
                value.word("a meaning of a reset", &ResetAs::ALL, ResetAs::name)
            });
            let (limit, remaining, reset, reset_as) = (limit?, remaining?, reset?, reset_as?);
            if said.is_empty() {
                map.need("limit", "limit: X-Quota-Limit")?;
            }
            Some((HeadersSource::Names { limit, remaining, reset, reset_as }, said))
        }
        _ => item.wrong_type(Expected::Headers),
    }
}

/// Whole seconds; `0s` for none.
fn jitter(value: &Value<'_>) -> Option<Duration> {
    let text = value.text()?;
    if text == "0s" {
        return Some(Duration::ZERO);
    }
    let span = value.duration()?;
    if span.subsec_nanos() == 0 && span.as_secs() <= LONGEST_JITTER {
        Some(span)
    } else {
        value.fault(Problem::Jitter(text.into()))
    }
}

fn cors(value: &Value<'_>) -> Option<CorsSource> {
    let map = value.map(&["origins", "credentials"])?;
    let credentials = map.or("credentials", false, |value| value.boolean());
    let origins = map.need("origins", "origins: [\"https://app.example\"]")?;
    let items = match origins.content() {
        Content::Text { .. } => vec![origins.clone()],
        _ => origins.list()?,
    };
    if items.is_empty() {
        return origins.fault(Problem::EmptyList);
    }
    let origins: Vec<Option<String>> =
        items.iter().map(|item| origin(item, credentials == Some(true))).collect();
    Some(CorsSource { origins: origins.into_iter().collect::<Option<_>>()?, credentials: credentials? })
}

/// `*`, or scheme, host and perhaps port as browsers write them: in lower case, with nothing behind.
fn origin(value: &Value<'_>, credentials: bool) -> Option<String> {
    let text = value.text()?;
    if text == "*" {
        return if credentials { value.fault(Problem::AnyOrigin) } else { Some(text.to_owned()) };
    }
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or_default();
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let sign = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.' | b'_');
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let named = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(sign),
    };
    let numbered =
        port.is_none_or(|port| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok());
    if named && numbered { Some(text.to_owned()) } else { value.fault(Problem::Origin(text.into())) }
}

/// What each rule answers with, where it says so. A rule's other faults are reported elsewhere.
pub(super) fn of_rules(rules: &[Value<'_>], all: &ResponsesSource) -> Vec<RuleResponseSource> {
    let mut written: Vec<String> =
        HeaderDialect::ALL.iter().flat_map(|dialect| dialect.fields()).map(|&name| name.to_owned()).collect();
    for form in all.headers.iter().flatten() {
        if let HeadersSource::Names { limit, remaining, reset, .. } = form {
            written.extend([limit, remaining, reset].into_iter().flatten().cloned());
        }
    }
    let is_map = |rule: &&Value<'_>| matches!(rule.content(), Content::Map(_));
    rules.iter().filter(is_map).filter_map(|rule| of_rule(&rule.fields()?, &written)).collect()
}

fn of_rule(rule: &Map<'_>, written: &[String]) -> Option<RuleResponseSource> {
    let map = rule.get("response")?.map(&["status", "headers", "message", "body", "content_type"])?;
    let status = map.or("status", None, |value| value.integer(400, 599).map(Some));
    let headers = map.or("headers", Vec::new(), |value| header::fields(value, written));
    let messages = map.or("message", Vec::new(), message::of_rule);
    let body = body(&map);
    let name = match rule.get("name")?.content() {
        Content::Text { text, .. } => text.clone(),
        _ => return None,
    };
    Some(RuleResponseSource {
        rule: name,
        status: status?.and_then(|status| u16::try_from(status).ok()),
        headers: headers?,
        messages: messages?,
        body: body?,
    })
}

fn body(map: &Map<'_>) -> Option<Option<(String, String)>> {
    match (map.get("body"), map.get("message")) {
        (Some(_), Some(message)) => message.fault(Problem::Conflict { one: "body", other: "message" }),
        (Some(body), None) => {
            let (kind, body) = (header::content_type(map), body.text());
            Some(Some((kind?, body?.to_owned())))
        }
        (None, _) if map.get("content_type").is_some() => {
            map.need("body", "body: \"Come back tomorrow.\"").map(|_| None)
        }
        (None, _) => Some(None),
    }
}
