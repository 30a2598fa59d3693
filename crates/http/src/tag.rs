//! Language tags (BCP 47).

use http::HeaderValue;

use crate::error::PresentationError;

/// A language tag, as it was written; letter case does not count.
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    text: Box<str>,
    /// The same for `Content-Language`.
    value: HeaderValue,
}

impl Tag {
    /// A language of two or three letters, and subtags of one to eight letters and digits.
    pub(crate) fn parse(text: &str) -> Result<Self, PresentationError> {
        let mut parts = text.split('-');
        let language = parts.next().is_some_and(|language| {
            matches!(language.len(), 2..=3) && language.bytes().all(|byte| byte.is_ascii_alphabetic())
        });
        let subtag =
            |part: &str| matches!(part.len(), 1..=8) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if language && parts.all(subtag) && text.len() <= 35 {
            let value = match text {
                // Nobody counts who shares these.
                "en" => HeaderValue::from_static("en"),
                "es" => HeaderValue::from_static("es"),
                _ => HeaderValue::from_str(text).map_err(|_| PresentationError::Language(text.into()))?,
            };
            Ok(Self { text: text.into(), value })
        } else {
            Err(PresentationError::Language(text.into()))
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn value(&self) -> HeaderValue {
        self.value.clone()
    }

    /// The language without its variety.
    pub(crate) fn primary(&self) -> &str {
        self.text.split('-').next().unwrap_or_default()
    }
}

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        self.text.eq_ignore_ascii_case(&other.text)
    }
}

impl Eq for Tag {}

#[cfg(test)]
mod tests {
    use super::Tag;

    #[test]
    fn tags_have_a_language_and_subtags() {
        for good in ["en", "es-MX", "zh-Hant-TW", "ast", "de-1996", "en-x-pirate"] {
            assert_eq!(Tag::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "e", "english", "en_GB", "en-", "-en", "e1", "en-abcdefghi", "*", "ñ", "en GB"] {
            assert!(Tag::parse(bad).is_err(), "{bad}");
        }
    }
}
