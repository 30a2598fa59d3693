//! A dialect or a policy's own names: what the writing of a response goes over.

use cupo_core::Timestamp;
use http::HeaderMap;
use http::header::HeaderName;

use super::{Dialect, Facts, FieldNames, Values, ietf_06, ietf_11, x_ratelimit};

#[derive(Clone, Copy)]
pub(crate) enum Style<'a> {
    /// Fields of one number each, of the binding rule.
    Names(&'a FieldNames),
    /// Lists of all rules.
    Lists,
}

impl Dialect {
    pub(crate) fn style(self) -> Style<'static> {
        match self {
            Self::XRateLimit => Style::Names(&x_ratelimit::NAMES),
            Self::Ietf06 => Style::Names(&ietf_06::NAMES),
            Self::Ietf11 => Style::Lists,
        }
    }
}

impl<'a> Style<'a> {
    pub(crate) fn field_names(self) -> impl Iterator<Item = &'a HeaderName> {
        let (names, lists) = match self {
            Self::Names(names) => (Some(names.iter()), None),
            Self::Lists => (None, Some(ietf_11::NAMES.iter())),
        };
        names.into_iter().flatten().chain(lists.into_iter().flatten())
    }

    pub(crate) fn write(self, facts: &Facts<'_>, values: &mut Values<'a>) {
        match self {
            Self::Names(names) => names.write(facts, values),
            Self::Lists => ietf_11::write(facts, values),
        }
    }

    /// Whether `headers` speak in this style, well-formed.
    pub(crate) fn is_spoken(self, headers: &HeaderMap, now: Timestamp) -> bool {
        match self {
            Self::Names(names) => names.read_once(headers, now).is_some(),
            Self::Lists => ietf_11::Theirs::read(headers).is_some_and(|theirs| !theirs.is_empty()),
        }
    }

    /// Writes the tighter of what `facts` and what `headers` say, or both where the style has room for both. Leaves the fields
    /// that are there where they are the tighter.
    pub(crate) fn write_tighter(self, facts: &Facts<'_>, headers: &HeaderMap, values: &mut Values<'a>) {
        match self {
            Self::Names(names) => {
                let theirs = names.read_once(headers, facts.outcome.at());
                if !theirs.is_some_and(|theirs| facts.is_looser_than(&theirs)) {
                    names.write(facts, values);
                }
            }
            Self::Lists => match ietf_11::Theirs::read(headers) {
                Some(theirs) if !theirs.is_empty() => ietf_11::write_merged(facts, theirs, values),
                _ => ietf_11::write(facts, values),
            },
        }
    }
}
