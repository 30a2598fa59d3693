//! Spans of time in the words of a language.

use core::fmt::Write as _;
use core::time::Duration;

/// The languages whose words for units of time are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    English,
    Spanish,
    /// Another language: symbols of units, which are the same everywhere.
    Symbols,
}

/// Units in milliseconds with their names, the largest first: singular, plural, symbol.
type Unit = (u128, [&'static str; 2], [&'static str; 2], &'static str);
const UNITS: [Unit; 5] = [
    (86_400_000, ["day", "days"], ["día", "días"], "d"),
    (3_600_000, ["hour", "hours"], ["hora", "horas"], "h"),
    (60_000, ["minute", "minutes"], ["minuto", "minutos"], "min"),
    (1_000, ["second", "seconds"], ["segundo", "segundos"], "s"),
    (1, ["millisecond", "milliseconds"], ["milisegundo", "milisegundos"], "ms"),
];

impl Words {
    /// The words of a language by its tag.
    pub(super) fn of(tag: &str) -> Self {
        let primary = tag.split('-').next().unwrap_or_default();
        match primary {
            _ if primary.eq_ignore_ascii_case("en") => Self::English,
            _ if primary.eq_ignore_ascii_case("es") => Self::Spanish,
            _ => Self::Symbols,
        }
    }

    /// Writes `span` in the largest unit that it is a whole number of: `1 minute`, `90 seconds`. Less than a millisecond counts
    /// as one. Where the words are not known it is seconds, `60 s`, so that nobody has to know which unit `min` is.
    pub(super) fn span(self, span: Duration, text: &mut String) -> core::fmt::Result {
        let millis = span.as_nanos().div_ceil(1_000_000);
        let seconds_or_less = |unit: u128| self != Self::Symbols || unit <= 1_000;
        let fits = |(unit, ..): &&Unit| seconds_or_less(*unit) && millis.checked_rem(*unit) == Some(0);
        let Some((unit, english, spanish, symbol)) = UNITS.iter().find(|unit| millis > 0 && fits(unit))
        else {
            return self.zero(text);
        };
        let count = millis.checked_div(*unit).unwrap_or_default();
        let [one, many] = match self {
            Self::English => english,
            Self::Spanish => spanish,
            Self::Symbols => &[*symbol, *symbol],
        };
        write!(text, "{count} {}", if count == 1 { one } else { many })
    }

    fn zero(self, text: &mut String) -> core::fmt::Result {
        text.write_str(match self {
            Self::English => "0 seconds",
            Self::Spanish => "0 segundos",
            Self::Symbols => "0 s",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Words};

    #[test]
    fn a_span_is_whole_in_its_unit() {
        for (millis, english, spanish, symbols) in [
            (0, "0 seconds", "0 segundos", "0 s"),
            (1, "1 millisecond", "1 milisegundo", "1 ms"),
            (500, "500 milliseconds", "500 milisegundos", "500 ms"),
            (1_000, "1 second", "1 segundo", "1 s"),
            (90_000, "90 seconds", "90 segundos", "90 s"),
            (60_000, "1 minute", "1 minuto", "60 s"),
            (7_200_000, "2 hours", "2 horas", "7200 s"),
            (86_400_000, "1 day", "1 día", "86400 s"),
            (86_401_000, "86401 seconds", "86401 segundos", "86401 s"),
        ] {
            let span = Duration::from_millis(millis);
            for (words, expected) in
                [(Words::English, english), (Words::Spanish, spanish), (Words::Symbols, symbols)]
            {
                let mut text = String::new();
                words.span(span, &mut text).unwrap();
                assert_eq!(text, expected);
            }
        }
    }

    #[test]
    fn a_region_has_the_words_of_its_language() {
        assert_eq!(Words::of("es-MX"), Words::Spanish);
        assert_eq!(Words::of("EN"), Words::English);
        assert_eq!(Words::of("est"), Words::Symbols);
    }
}
