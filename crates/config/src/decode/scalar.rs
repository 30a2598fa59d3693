//! Numbers, words, durations, rates and sizes.

use std::time::Duration;

use cupo_core::{Rate, number, parse_duration};

use super::value::Value;
use crate::problem::{Expected, Problem};
use crate::tree::Content;

/// The largest number that counts: 2^53 − 1.
pub(crate) const MAX: u64 = number::DOMAIN - 1;

impl<'a> Value<'a> {
    /// Decimal digits without quotes; nothing else that YAML would call a number.
    pub(crate) fn integer(&self, min: u64, max: u64) -> Option<u64> {
        let Content::Text { text, quoted: false } = self.content() else {
            return self.wrong_type(Expected::Number);
        };
        if !is_whole(text) {
            return self.fault(Problem::NotWhole(text.as_str().into()));
        }
        self.ranged(text, text.parse().ok(), min, max, "")
    }

    /// A whole number of bytes, or one with a unit.
    pub(crate) fn size(&self, min: u64, max: u64) -> Option<u64> {
        let Content::Text { text, .. } = self.content() else { return self.wrong_type(Expected::Size) };
        let (number, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
        let bytes_per_unit: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            _ => return self.fault(Problem::NotASize(text.as_str().into())),
        };
        if !is_whole(number) {
            return self.fault(Problem::NotASize(text.as_str().into()));
        }
        let bytes = number.parse().ok().and_then(|number: u64| number.checked_mul(bytes_per_unit));
        self.ranged(text, bytes, min, max, "bytes")
    }

    pub(crate) fn boolean(&self) -> Option<bool> {
        match self.content() {
            Content::Text { text, quoted: false } if text == "true" => Some(true),
            Content::Text { text, quoted: false } if text == "false" => Some(false),
            _ => self.wrong_type(Expected::Bool),
        }
    }

    pub(crate) fn duration(&self) -> Option<Duration> {
        parse_duration(self.text()?).map_err(|error| self.fault::<()>(Problem::Rate(error))).ok()
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        self.text()?.parse().map_err(|error| self.fault::<()>(Problem::Rate(error))).ok()
    }

    /// One of `all`; `what` says what they are, with its article.
    pub(crate) fn word<T: Copy>(
        &self,
        what: &'static str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Option<T> {
        let text: &'a str = self.text()?;
        let allowed = || all.iter().map(|one| name(*one)).collect();
        let found = all.iter().copied().find(|one| name(*one) == text);
        found.or_else(|| self.fault(Problem::UnknownWord { what, text: text.into(), allowed: allowed() }))
    }

    fn ranged(&self, text: &str, number: Option<u64>, min: u64, max: u64, unit: &'static str) -> Option<u64> {
        let inside = number.filter(|number| (min..=max).contains(number));
        inside.or_else(|| self.fault(Problem::OutOfRange { text: text.into(), min, max, unit }))
    }
}

/// Whether `text` is decimal digits that nobody reads as octal.
fn is_whole(text: &str) -> bool {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits && (text.len() == 1 || !text.starts_with('0'))
}
