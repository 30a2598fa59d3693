//! JSON in which a name that comes twice is an error: two readers would take two different values for it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Whole(i128),
    Fraction(f64),
    Text(String),
    List(Vec<Json>),
    Map(Object),
}

pub(super) type Object = BTreeMap<String, Json>;

/// The object that `bytes` are.
pub(super) fn object(bytes: &[u8]) -> Option<Object> {
    match serde_json::from_slice(bytes) {
        Ok(Json::Map(object)) => Some(object),
        _ => None,
    }
}

impl Json {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyJson;

        impl<'de> Visitor<'de> for AnyJson {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
                Ok(Json::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
                Ok(Json::Whole(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
                Ok(Json::Whole(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
                Ok(Json::Fraction(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Json, E> {
                Ok(Json::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
                let mut object = Object::new();
                while let Some((name, value)) = members.next_entry()? {
                    if object.insert(name, value).is_some() {
                        return Err(A::Error::custom("a name comes twice"));
                    }
                }
                Ok(Json::Map(object))
            }
        }

        deserializer.deserialize_any(AnyJson)
    }
}

#[cfg(test)]
mod tests {
    use super::{Json, object};

    #[test]
    fn a_name_comes_once_at_every_depth() {
        assert!(object(br#"{"a":1,"b":[{"c":null}]}"#).is_some());
        for twice in [
            &br#"{"a":1,"a":1}"#[..],
            br#"{"a":1,"\u0061":2}"#,
            br#"{"b":{"c":1,"c":2}}"#,
            br#"{"b":[{"c":1,"c":2}]}"#,
        ] {
            assert_eq!(object(twice), None, "{}", twice.escape_ascii());
        }
    }

    #[test]
    fn only_an_object_is_one() {
        for other in ["", "[]", "1", "null", "\"a\"", "{} {}", "{}x", "{", "{\"a\":NaN}", "{'a':1}"] {
            assert_eq!(object(other.as_bytes()), None, "{other}");
        }
        assert_eq!(object(&[b'{', b'"', 0xff, b'"', b':', b'1', b'}']), None, "no UTF-8");
        let deep = "{\"a\":".repeat(10_000);
        assert_eq!(object(deep.as_bytes()), None);
    }

    #[test]
    fn numbers_are_whole_or_not() {
        let number =
            |text: &str| object(format!("{{\"n\":{text}}}").as_bytes()).unwrap().remove("n").unwrap();
        assert_eq!(number("18446744073709551615"), Json::Whole(u64::MAX.into()));
        assert_eq!(number("-3"), Json::Whole(-3));
        assert_eq!(number("1.5"), Json::Fraction(1.5));
        assert_eq!(number("1e3"), Json::Fraction(1000.0));
    }
}
