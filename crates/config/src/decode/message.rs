//! Messages: languages, kinds, and the placeholders of each kind.

use super::value::Value;
use crate::problem::Problem;
use crate::responses_source::MessageSource;
use crate::tree::Content;

/// The kinds of message with the placeholders that they have values for.
const KINDS: &[(&str, &[&str])] = &[
    ("exceeded", EXCEEDED),
    ("impossible", &["limit", "window", "rule", "remaining"]),
    ("missing", &["rule", "key"]),
    ("blocked", &[]),
    ("bad_credentials", &[]),
    ("unavailable", &["retry_after"]),
];

const NAMES: &[&str] = &["exceeded", "impossible", "missing", "blocked", "bad_credentials", "unavailable"];

const EXCEEDED: &[&str] = &["limit", "window", "retry_after", "rule", "remaining"];

/// Languages with their messages by kind.
pub(super) fn messages(value: &Value<'_>) -> Option<Vec<MessageSource>> {
    let mut messages = Vec::new();
    for (language, kinds) in languages(value)? {
        let Some(map) = kinds.map(NAMES) else { continue };
        for (kind, placeholders) in KINDS {
            let message = map.get(kind).and_then(|value| message(&value, placeholders));
            let source = |(title, text)| MessageSource { language: language.clone(), kind, title, text };
            messages.extend(message.map(source));
        }
    }
    Some(messages)
}

/// What a rule says, by language.
pub(super) fn of_rule(value: &Value<'_>) -> Option<Vec<MessageSource>> {
    let mut messages = Vec::new();
    for (language, value) in languages(value)? {
        let message = message(&value, EXCEEDED);
        let source = |(title, text)| MessageSource { language, kind: "exceeded", title, text };
        messages.extend(message.map(source));
    }
    Some(messages)
}

fn languages<'a>(value: &Value<'a>) -> Option<Vec<(String, Value<'a>)>> {
    let map = value.fields()?;
    let mut languages: Vec<(String, Value<'a>)> = Vec::new();
    for (tag, value) in map.each() {
        if !is_tag(tag) {
            map.fault_at(tag, Problem::Language(tag.into()));
        } else if languages.iter().any(|(other, _)| other.eq_ignore_ascii_case(tag)) {
            map.fault_at(tag, Problem::LanguageTwice(tag.into()));
        } else {
            languages.push((tag.to_owned(), value));
        }
    }
    Some(languages)
}

/// A text, or a title and a text.
fn message(value: &Value<'_>, placeholders: &'static [&'static str]) -> Option<(Option<String>, String)> {
    let (title, text) = if let Content::Map(_) = value.content() {
        let map = value.map(&["title", "message"])?;
        let title = map.or("title", None, |value| value.text().map(|title| Some(title.to_owned())));
        let text = map.need("message", "message: \"Try again in {retry_after}.\"");
        (title?, text?)
    } else {
        (None, value.clone())
    };
    template(&text, placeholders).map(|text| (title, text.to_owned()))
}

/// A text whose placeholders are known, and whose braces are doubled otherwise.
fn template<'a>(value: &Value<'a>, allowed: &'static [&'static str]) -> Option<&'a str> {
    let text = value.text()?;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let from = rest.get(at..).unwrap_or_default();
        let (doubled, open) = (from.starts_with("{{") || from.starts_with("}}"), from.starts_with('{'));
        let name = from.get(1..).and_then(|after| after.split_once('}')).filter(|_| open && !doubled);
        rest = match name {
            _ if doubled => from.get(2..).unwrap_or_default(),
            None => return value.fault(Problem::Brace(text.into())),
            Some((name, after)) if allowed.contains(&name) => after,
            Some((name, _)) => return value.fault(Problem::Placeholder { name: name.into(), allowed }),
        };
    }
    Some(text)
}

/// Whether `text` is a language tag: a language of two or three letters, and subtags.
pub(super) fn is_tag(text: &str) -> bool {
    let mut parts = text.split('-');
    let language = parts.next().is_some_and(|language| {
        matches!(language.len(), 2..=3) && language.bytes().all(|byte| byte.is_ascii_alphabetic())
    });
    let subtag =
        |part: &str| matches!(part.len(), 1..=8) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    language && parts.all(subtag) && text.len() <= 35
}
