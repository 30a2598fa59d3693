//! The values of a response's fields, written one after another into one allocation that all of them share.

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;

/// Enough for two rules in both default dialects.
const ROOM: usize = 192;

/// Field values in the making.
pub(crate) struct Values<'a> {
    buffer: Vec<u8>,
    fields: SmallVec<[(&'a HeaderName, usize); 9]>,
}

impl<'a> Values<'a> {
    pub(crate) fn new() -> Self {
        Self { buffer: Vec::new(), fields: SmallVec::new() }
    }

    /// Adds `text`, which is visible ASCII, to the present value.
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve(ROOM);
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Adds `number` in decimal to the present value.
    pub(crate) fn number(&mut self, number: u64) {
        // 2^64 has 20 digits.
        let mut digits = [b'0'; 20];
        let mut rest = number;
        let mut first = digits.len();
        for (place, digit) in digits.iter_mut().enumerate().rev() {
            let [low, ..] = rest.checked_rem(10).unwrap_or(0).to_le_bytes();
            *digit |= low;
            first = place;
            rest = rest.checked_div(10).unwrap_or(0);
            if rest == 0 {
                break;
            }
        }
        self.bytes(digits.get(first..).unwrap_or_default());
    }

    /// Ends the present value, which is the one of `name`.
    pub(crate) fn end(&mut self, name: &'a HeaderName) {
        self.fields.push((name, self.buffer.len()));
    }

    /// A field whose value is a number.
    pub(crate) fn numeric(&mut self, name: &'a HeaderName, number: u64) {
        self.number(number);
        self.end(name);
    }

    /// Whether a field of this name is among them.
    pub(crate) fn has(&self, name: &HeaderName) -> bool {
        self.fields.iter().any(|(other, _)| *other == name)
    }

    /// Puts the fields into `headers`, in place of any of the same names.
    pub(crate) fn insert_into(self, headers: &mut HeaderMap) {
        headers.reserve(self.fields.len());
        let all = Bytes::from(self.buffer);
        let mut start = 0;
        for (name, end) in self.fields {
            // All that is written is visible ASCII, so no value is ever refused.
            if let Ok(value) = HeaderValue::from_maybe_shared(all.slice(start..end)) {
                headers.insert(name, value);
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HeaderMap, HeaderName, Values};

    #[test]
    fn numbers_are_decimal() {
        static NAME: HeaderName = HeaderName::from_static("n");
        for number in [0, 7, 10, 99, 100, 1_700_000_000, u64::MAX] {
            let mut values = Values::new();
            values.numeric(&NAME, number);
            let mut headers = HeaderMap::new();
            values.insert_into(&mut headers);
            assert_eq!(headers.get("n").unwrap(), &number.to_string());
        }
    }
}
