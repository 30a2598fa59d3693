//! Conditions: what requests a rule applies to.

use cupo_core::{HeaderSource, HeaderTest, MatchSource};

use super::address;
use super::value::{Map, Value};
use crate::problem::{Expected, Problem};
use crate::tree::Content;

const FIELDS: &[&str] = &["method", "path", "host", "header", "client", "plan", "not"];

/// The conditions; everything wrong with their form is reported before `None` is returned.
pub(super) fn matches(value: &Value<'_>) -> Option<MatchSource> {
    conditions(&value.map(FIELDS)?)
}

/// The same where other fields stand beside them.
pub(super) fn conditions(map: &Map<'_>) -> Option<MatchSource> {
    let methods = map.or("method", Vec::new(), |value| some_texts(value));
    let path = map.or("path", None, |value| value.text().map(|path| Some(path.to_owned())));
    let hosts = map.or("host", Vec::new(), |value| some_texts(value));
    let headers = map.or("header", Vec::new(), headers);
    let clients = map.or("client", Vec::new(), |value| all(&some(value)?, address::network));
    let plans = map.or("plan", Vec::new(), some_texts);
    let not = map.or("not", Vec::new(), |value| match value.content() {
        Content::List(_) => all(&some(value)?, matches),
        _ => Some(vec![matches(value)?]),
    });
    Some(MatchSource {
        methods: methods?,
        path: path?,
        hosts: hosts?,
        headers: headers?,
        clients: clients?,
        plans: plans?,
        not: not?,
    })
}

fn headers(value: &Value<'_>) -> Option<Vec<HeaderSource>> {
    let map = value.fields()?;
    let headers: Vec<(&str, Value<'_>)> = map.each().collect();
    if headers.is_empty() {
        return value.fault(Problem::NoFields);
    }
    for (i, (name, _)) in headers.iter().enumerate() {
        if headers.iter().take(i).any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            map.fault_at(name, Problem::HeaderTwice((*name).into()));
        }
    }
    all(&headers, |(name, value)| Some(HeaderSource { name: (*name).to_owned(), test: test(value)? }))
}

/// `present`, another text that it has to equal, or fields.
fn test(value: &Value<'_>) -> Option<HeaderTest> {
    match value.content() {
        Content::Text { text, .. } if text == "present" => Some(HeaderTest::Present),
        Content::Text { text, .. } => Some(HeaderTest::Equals(text.clone())),
        Content::Map(_) => {
            let map = value.map(&["equals", "regex"])?;
            match (map.get("equals"), map.get("regex")) {
                (Some(_), Some(regex)) => regex.fault(Problem::Conflict { one: "equals", other: "regex" }),
                (Some(equals), None) => equals.text().map(|text| HeaderTest::Equals(text.to_owned())),
                (None, Some(regex)) => regex.text().map(|text| HeaderTest::Regex(text.to_owned())),
                // What is there instead was reported already.
                (None, None) if map.each().next().is_some() => None,
                (None, None) => value.fault(Problem::NoFields),
            }
        }
        _ => value.wrong_type(Expected::HeaderTest),
    }
}

/// A list's items, or the one value that stands for a list of one; at least one.
pub(super) fn some<'a>(value: &Value<'a>) -> Option<Vec<Value<'a>>> {
    match value.content() {
        Content::Text { .. } => Some(vec![value.clone()]),
        Content::List(items) if items.is_empty() => value.fault(Problem::EmptyList),
        Content::List(_) => value.list(),
        _ => value.wrong_type(Expected::TextOrList),
    }
}

fn some_texts(value: &Value<'_>) -> Option<Vec<String>> {
    all(&some(value)?, |item| item.text().map(str::to_owned))
}

/// `read` of all, so that each fault is reported.
fn all<T, R>(items: &[T], read: impl Fn(&T) -> Option<R>) -> Option<Vec<R>> {
    let read: Vec<Option<R>> = items.iter().map(read).collect();
    read.into_iter().collect()
}
