//! Objects of names and texts inside an event.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A string that is borrowed from the line where it has no escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The entries of a JSON object, in order. A value is a string or, where `LISTS`, a list of strings, which counts as so many
/// entries; without lists a name comes once.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a, const LISTS: bool>(pub(super) Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de: 'a, 'a, const LISTS: bool> Deserialize<'de> for Pairs<'a, LISTS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Object::<LISTS>)
    }
}

struct Object<const LISTS: bool>;

impl<'de, const LISTS: bool> Visitor<'de> for Object<LISTS> {
    type Value = Pairs<'de, LISTS>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of names and texts")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut pairs = Pairs(Vec::new());
        while let Some(Text(name)) = map.next_key()? {
            if !LISTS && pairs.0.iter().any(|(other, _)| *other == name) {
                return Err(Error::custom(format_args!("`{}` comes twice", name.escape_debug())));
            }
            map.next_value_seed(Value { name, pairs: &mut pairs })?;
        }
        Ok(pairs)
    }
}

/// The value of a name, on its way to the others.
struct Value<'de, 'b, const LISTS: bool> {
    name: Cow<'de, str>,
    pairs: &'b mut Pairs<'de, LISTS>,
}

impl<'de, const LISTS: bool> DeserializeSeed<'de> for Value<'de, '_, LISTS> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, const LISTS: bool> Visitor<'de> for Value<'de, '_, LISTS> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if LISTS { "a text or a list of texts" } else { "a text" })
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
        self.pairs.0.push((self.name, text.into()));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.pairs.0.push((self.name, text.to_owned().into()));
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut texts: S) -> Result<(), S::Error> {
        if !LISTS {
            return Err(Error::invalid_type(serde::de::Unexpected::Seq, &self));
        }
        while let Some(Text(text)) = texts.next_element()? {
            self.pairs.0.push((self.name.clone(), text));
        }
        Ok(())
    }
}
