//! What the caller would rather read: `Accept` and `Accept-Language` (RFC 9110, section 12.5).

use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_LANGUAGE, HeaderName};

use super::message::Language;

/// The form of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `application/problem+json`.
    Problem,
    /// `application/json`.
    Plain,
}

impl Form {
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Problem => "application/problem+json",
            Self::Plain => "application/json",
        }
    }

    /// Plain JSON where it is preferred: by quality, or by being named where a problem is only covered by a wildcard.
    pub(super) fn preferred(request: &HeaderMap) -> Self {
        let plain = quality(request, "application/json");
        let problem = quality(request, "application/problem+json");
        if plain > problem { Self::Plain } else { Self::Problem }
    }
}

impl Language {
    /// Spanish where it is preferred: by quality, or by coming first.
    pub(super) fn preferred(request: &HeaderMap) -> Self {
        let (mut english, mut spanish) = (None, None);
        for (place, (range, quality)) in elements(request, &ACCEPT_LANGUAGE).enumerate() {
            let primary = range.split('-').next().unwrap_or_default();
            let rank = (quality, core::cmp::Reverse(place));
            if primary.eq_ignore_ascii_case("es") {
                spanish = spanish.max(Some(rank));
            } else if primary.eq_ignore_ascii_case("en") || primary == "*" {
                english = english.max(Some(rank));
            }
        }
        let wanted = spanish.is_some_and(|(quality, _)| quality > 0);
        if wanted && spanish > english { Self::Spanish } else { Self::English }
    }
}

/// The quality of a media type, then how precisely it is named; (0, 0) where it is not accepted.
fn quality(request: &HeaderMap, media_type: &str) -> (u16, u8) {
    let precision = |range: &str| {
        if range.eq_ignore_ascii_case(media_type) {
            Some(3)
        } else if range.eq_ignore_ascii_case("application/*") {
            Some(2)
        } else if range == "*/*" {
            Some(1)
        } else {
            None
        }
    };
    // The most precise range decides, whatever its quality.
    let ranges = elements(request, &ACCEPT).filter_map(|(range, q)| Some((precision(range)?, q)));
    let (precision, quality) = ranges.max().unwrap_or_default();
    if quality == 0 { (0, 0) } else { (quality, precision) }
}

/// The elements of a list with their qualities in thousandths. Elements that are malformed are left out.
fn elements<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = (&'a str, u16)> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).filter_map(|element| {
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
    use super::{ACCEPT, ACCEPT_LANGUAGE, Form, HeaderMap, HeaderName, Language};

    fn with(name: &HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in value.split('\n') {
            headers.append(name, line.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_problem_unless_plain_json_is_preferred() {
        assert_eq!(Form::preferred(&HeaderMap::new()), Form::Problem);
        for accept in [
            "*/*",
            "",
            "application/*",
            "text/html,application/xml;q=0.9,*/*;q=0.8",
            "application/problem+json, application/json",
            "application/json;q=0.5, application/problem+json;q=0.9",
            "application/json;q=0, */*",
            "application/json;q=0.5, */*;q=0.9",
            "application/json;q=2",
            "text/html",
        ] {
            assert_eq!(Form::preferred(&with(&ACCEPT, accept)), Form::Problem, "{accept}");
        }
        for accept in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/json, text/plain, */*",
            "application/json;q=0.9, application/problem+json;q=0.899",
            "text/html, application/json;q=0.1",
            "*/*;q=0.9, application/json;q=0.95",
            "text/html\napplication/json",
            "application/problem+json;q=0, */*",
        ] {
            assert_eq!(Form::preferred(&with(&ACCEPT, accept)), Form::Plain, "{accept}");
        }
    }

    #[test]
    fn english_unless_spanish_is_preferred() {
        assert_eq!(Language::preferred(&HeaderMap::new()), Language::English);
        for languages in ["en", "*", "fr", "en, es", "es;q=0.5, en", "es;q=0.4, *;q=0.5", "es;q=0", "est", ""]
        {
            let headers = with(&ACCEPT_LANGUAGE, languages);
            assert_eq!(Language::preferred(&headers), Language::English, "{languages}");
        }
        for languages in
            ["es", "ES-mx", "es, en", "en;q=0.5, es;q=0.501", "fr, es;q=0.1", "es-AR,es;q=0.9,en;q=0.8"]
        {
            let headers = with(&ACCEPT_LANGUAGE, languages);
            assert_eq!(Language::preferred(&headers), Language::Spanish, "{languages}");
        }
    }
}
