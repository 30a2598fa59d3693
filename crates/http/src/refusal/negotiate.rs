//! What the caller would rather read: `Accept` and `Accept-Language` (RFC 9110, section 12.5).

use core::cmp::Reverse;

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_LANGUAGE, HeaderName};

/// The form of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `application/problem+json`.
    Problem,
    /// `application/json`.
    Plain,
    /// `text/plain`.
    Text,
}

/// More elements of a list than this are not looked at.
const MOST: usize = 64;

impl Form {
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Problem => "application/problem+json",
            Self::Plain => "application/json",
            Self::Text => "text/plain; charset=utf-8",
        }
    }

    /// A problem unless another form is preferred: by quality, or by being named where a problem is only covered by a wildcard.
    /// Whoever asks for `text/html`, as browsers do, and names no form that there is, gets text.
    pub(super) fn preferred(request: &HeaderMap) -> Self {
        if !request.contains_key(ACCEPT) {
            return Self::Problem;
        }
        let mut best = (Self::Problem, quality(request, "application/problem+json"));
        for (form, media_type) in [(Self::Plain, "application/json"), (Self::Text, "text/plain")] {
            let quality = quality(request, media_type);
            if quality > best.1 {
                best = (form, quality);
            }
        }
        let named = best.1.1 > WILDCARD;
        if !named && quality(request, "text/html").1 > WILDCARD { Self::Text } else { best.0 }
    }
}

/// The precision of `*/*`.
const WILDCARD: u8 = 1;

/// The quality of a media type, then how precisely it is named; (0, 0) where it is not accepted.
fn quality(request: &HeaderMap, media_type: &str) -> (u16, u8) {
    let precision = |range: &str| {
        if range.eq_ignore_ascii_case(media_type) {
            Some(3)
        } else if range == "*/*" {
            Some(WILDCARD)
        } else {
            let kind = media_type.split('/').next().unwrap_or_default();
            let (asked, all) = range.split_once('/')?;
            (all == "*" && asked.eq_ignore_ascii_case(kind)).then_some(2)
        }
    };
    // The most precise range decides, whatever its quality.
    let ranges = elements(request, &ACCEPT).filter_map(|(range, q)| Some((precision(range)?, q)));
    let (precision, quality) = ranges.max().unwrap_or_default();
    if quality == 0 { (0, 0) } else { (quality, precision) }
}

/// The place among `tags` of the language that is preferred: by quality, or by coming first. A variety is answered with its
/// language, and a language with a variety of it (RFC 4647, section 3.4). `None` where none of them is asked for.
pub(super) fn language<'t, I>(request: &HeaderMap, tags: &I) -> Option<usize>
where
    I: Iterator<Item = &'t str> + Clone,
{
    if !request.contains_key(ACCEPT_LANGUAGE) {
        return None;
    }
    let mut best = None;
    for (place, (range, quality)) in elements(request, &ACCEPT_LANGUAGE).enumerate() {
        let rank = (quality, Reverse(place));
        if quality == 0 || best.is_some_and(|(known, _)| known > rank) {
            continue;
        }
        // `None` for any: whichever is the default.
        let found = if range == "*" { Some(None) } else { lookup(range, tags).map(Some) };
        if let Some(found) = found {
            best = Some((rank, found));
        }
    }
    best.and_then(|(_, found)| found)
}

fn lookup<'t, I: Iterator<Item = &'t str> + Clone>(range: &str, tags: &I) -> Option<usize> {
    let mut wanted = range;
    loop {
        if let Some(index) = tags.clone().position(|tag| tag.eq_ignore_ascii_case(wanted)) {
            return Some(index);
        }
        let Some((shorter, _)) = wanted.rsplit_once('-') else { break };
        wanted = shorter;
    }
    let variety =
        |tag: &str| tag.split('-').next().is_some_and(|primary| primary.eq_ignore_ascii_case(wanted));
    tags.clone().position(variety)
}

/// The elements of a list with their qualities in thousandths. Elements that are malformed are left out.
fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = (&'a str, u16)> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    let elements = lines.flat_map(|line| line.split(',')).take(MOST);
    elements.filter_map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let range = parts.next().filter(|range| !range.is_empty())?;
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        Some((range, weight.map_or(Some(1_000), thousandths)?))
    })
}

/// `0`, `0.5`, `1.000`: at most 1, at most three decimals.
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit()) && fraction.len() <= 3;
    match (whole, digits) {
        ("1", true) => Some(1_000),
        ("0", true) => format!("{fraction:0<3}").parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ACCEPT, ACCEPT_LANGUAGE, Form, HeaderMap, HeaderName, language};

    fn with(name: &HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in value.split('\n') {
            headers.append(name, line.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_problem_unless_another_form_is_preferred() {
        assert_eq!(Form::preferred(&HeaderMap::new()), Form::Problem);
        for (form, accepts) in [
            (
                Form::Problem,
                &[
                    "*/*",
                    "",
                    "application/*",
                    "application/problem+json, application/json",
                    "application/json;q=0.5, application/problem+json;q=0.9",
                    "application/json;q=0, */*",
                    "application/json;q=0.5, */*;q=0.9",
                    "application/json;q=2",
                    "image/png",
                    "text/html, application/problem+json;q=0.1",
                    "text/plain;q=0.5, application/problem+json",
                    "text/html;q=0, */*",
                ][..],
            ),
            (
                Form::Plain,
                &[
                    "application/json",
                    "Application/JSON; charset=utf-8",
                    "application/json, text/plain, */*",
                    "application/json;q=0.9, application/problem+json;q=0.899",
                    "text/html, application/json;q=0.1",
                    "*/*;q=0.9, application/json;q=0.95",
                    "text/html\napplication/json",
                    "application/problem+json;q=0, application/*",
                ],
            ),
            (
                Form::Text,
                &[
                    "text/plain",
                    "text/*",
                    "text/html",
                    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                    "text/plain, application/json;q=0.9",
                    "text/plain;q=0.5, */*;q=0.1",
                ],
            ),
        ] {
            for accept in accepts {
                assert_eq!(Form::preferred(&with(&ACCEPT, accept)), form, "{accept}");
            }
        }
    }

    #[test]
    fn a_language_is_looked_up() {
        const TAGS: [&str; 4] = ["en", "es", "pt-BR", "zh-Hant"];
        let chosen = |asked: &str| {
            language(&with(&ACCEPT_LANGUAGE, asked), &TAGS.into_iter())
                .and_then(|index| TAGS.get(index).copied())
        };
        assert_eq!(language(&HeaderMap::new(), &TAGS.into_iter()), None);
        for (asked, expected) in [
            ("en", Some("en")),
            ("*", None),
            ("fr", None),
            ("en, es", Some("en")),
            ("es;q=0.5, en", Some("en")),
            ("es;q=0.4, *;q=0.5", None),
            ("es;q=0", None),
            ("est", None),
            ("", None),
            ("ES-mx", Some("es")),
            ("es, en", Some("es")),
            ("en;q=0.5, es;q=0.501", Some("es")),
            ("fr, es;q=0.1", Some("es")),
            ("es-AR,es;q=0.9,en;q=0.8", Some("es")),
            ("pt", Some("pt-BR")),
            ("pt-PT, en;q=0.9", Some("pt-BR")),
            ("zh-Hant-TW", Some("zh-Hant")),
            ("fr-CH, fr;q=0.9, de;q=0.7, *;q=0.5", None),
        ] {
            assert_eq!(chosen(asked), expected, "{asked}");
        }
    }
}
