//! Names and values of header fields.

use cupo_core::is_token;

use super::value::{Map, Value};
use crate::problem::Problem;

/// Headers that are not a policy's to set: what frames a message, belongs to one hop, says what the body is, or is Cupo's to say. In
/// lower case and sorted; those that begin with `grpc-` are not either.
pub const RESERVED_HEADERS: &[&str] = &[
    "accept-ranges",
    "age",
    "connection",
    "content-encoding",
    "content-language",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "retry-after",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Headers that cannot say what is left of a limit, by their beginnings: they have a meaning of their own to browsers and caches.
pub const MEANT_HEADERS: &[&str] =
    &["access-control-", "sec-", "set-cookie", "www-authenticate", "cache-control", "location", "vary"];

/// The longest name.
const LONGEST: usize = 100;

fn name_problem(text: &str) -> Option<Problem> {
    let lower = text.to_ascii_lowercase();
    if text.is_empty() || text.len() > LONGEST || !text.bytes().all(is_token) {
        Some(Problem::HeaderName(text.into()))
    } else if RESERVED_HEADERS.binary_search(&lower.as_str()).is_ok() || lower.starts_with("grpc-") {
        Some(Problem::HeaderReserved(text.into()))
    } else {
        None
    }
}

/// The name of a field that says what is left, in lower case.
pub(super) fn field_name(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    let lower = text.to_ascii_lowercase();
    let meant = || MEANT_HEADERS.iter().any(|meant| lower.starts_with(meant));
    let problem = name_problem(text).or_else(|| meant().then(|| Problem::HeaderReserved(text.into())));
    match problem {
        Some(problem) => value.fault(problem),
        None => Some(lower),
    }
}

/// Names with their values, in lower case; none of them in `written`.
pub(super) fn fields(value: &Value<'_>, written: &[String]) -> Option<Vec<(String, String)>> {
    let map = value.fields()?;
    let mut fields: Vec<(String, String)> = Vec::new();
    let mut sound = true;
    for (name, value) in map.each() {
        let lower = name.to_ascii_lowercase();
        let problem = name_problem(name)
            .or_else(|| written.contains(&lower).then(|| Problem::HeaderReserved(name.into())))
            .or_else(|| {
                fields.iter().any(|(other, _)| *other == lower).then(|| Problem::HeaderTwice(name.into()))
            });
        if let Some(problem) = problem {
            map.fault_at(name, problem);
            sound = false;
            continue;
        }
        match field_value(&value) {
            Some(text) => fields.push((lower, text.to_owned())),
            None => sound = false,
        }
    }
    sound.then_some(fields)
}

/// Visible ASCII and blanks.
pub(super) fn field_value<'a>(value: &Value<'a>) -> Option<&'a str> {
    let text = value.text()?;
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
        Some(text)
    } else {
        value.fault(Problem::HeaderValue(text.into()))
    }
}

/// A content type: `type/subtype`, perhaps with parameters.
pub(super) fn content_type(map: &Map<'_>) -> Option<String> {
    let Some(value) = map.get("content_type") else { return Some("text/plain; charset=utf-8".to_owned()) };
    let text = field_value(&value)?;
    let kinds = text.split(';').next().unwrap_or_default().trim().split_once('/');
    match kinds {
        Some((kind, subtype)) if !kind.is_empty() && !subtype.is_empty() => Some(text.to_owned()),
        _ => value.fault(Problem::ContentType(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::{Problem, RESERVED_HEADERS, name_problem};

    #[test]
    fn the_list_is_sorted_and_searched() {
        assert!(RESERVED_HEADERS.is_sorted());
        for name in RESERVED_HEADERS {
            assert!(matches!(name_problem(&name.to_uppercase()), Some(Problem::HeaderReserved(_))));
        }
        assert!(name_problem("X-Reason").is_none());
        assert!(matches!(name_problem(&"x".repeat(101)), Some(Problem::HeaderName(_))));
    }
}
