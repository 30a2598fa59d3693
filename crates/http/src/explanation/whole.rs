//! Whole numbers in JSON.

use serde::{Deserialize as _, Deserializer, de};

/// A whole number, also where it is written with a fraction of nothing, as in `5.0`: to JSON Schema, and to programs that know one kind
/// of number, that is the same.
///
/// # Errors
/// It is no whole number, or below 0, or not below 2^64.
pub fn deserialize_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    let whole = number.as_u64().or_else(|| number.to_string().strip_suffix(".0")?.parse().ok());
    whole.ok_or_else(|| de::Error::custom(format_args!("`{number}` is not a whole number from 0 on")))
}

#[cfg(test)]
mod tests {
    use super::deserialize_whole;

    #[test]
    fn fractions_of_nothing_are_whole() {
        let read = |text: &str| deserialize_whole(&mut serde_json::Deserializer::from_str(text)).ok();
        for (text, number) in
            [("5", 5), ("5.0", 5), ("0.0", 0), ("2e2", 200), ("18446744073709551615", u64::MAX)]
        {
            assert_eq!(read(text), Some(number), "{text}");
        }
        for text in ["-1", "-1.0", "1.5", "1e300", "\"5\"", "null", "true", "[5]"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
