//! Fields of a JSON object, as they stand.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;

use super::Unreadable;
use crate::replay::pairs::Text;

/// Calls `each` with every field of the object.
pub(super) fn walk<'a>(text: &'a str, each: impl FnMut(&str, &'a RawValue)) -> Result<(), Unreadable> {
    let mut deserializer = Deserializer::from_str(text);
    deserializer.deserialize_map(Fields(each)).and_then(|()| deserializer.end()).map_err(Unreadable::Json)
}

struct Fields<F>(F);

impl<'de, F: FnMut(&str, &'de RawValue)> Visitor<'de> for Fields<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
        while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
            (self.0)(&name, value);
        }
        Ok(())
    }
}

/// A text or a number as it is written; nothing where the log has no value: `null`, `""`, `-`.
pub(super) fn scalar(value: &RawValue) -> Option<Cow<'_, str>> {
    let text: Cow<'_, str> = match value.get().strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) if !text.contains('\\') => text.into(),
        Some(_) => serde_json::from_str::<String>(value.get()).ok()?.into(),
        None if value.get().starts_with(|first: char| first.is_ascii_digit()) => value.get().into(),
        None => return None,
    };
    (!matches!(&*text, "" | "-")).then_some(text)
}
