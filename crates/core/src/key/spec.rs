//! What a rule counts, as a policy writes it: `ip`, `api_key | ip`, `[user, route]`.

use core::fmt;

use smallvec::{SmallVec, smallvec};
use thiserror::Error;

use super::builder::{Key, KeyBuilder};
use super::kind::{Context, Kind};
use crate::attributes::Attributes;

/// The parts of a key, each with its alternatives in order.
///
/// ```
/// use cupo_core::KeySpec;
///
/// let spec = KeySpec::parse(&["api_key | ip", "route"])?;
/// assert_eq!(spec.to_string(), "[api_key | ip, route]");
/// # Ok::<(), cupo_core::KeySpecError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySpec {
    parts: SmallVec<[Alternatives; 2]>,
}

type Alternatives = SmallVec<[Kind; 2]>;

/// Why a text names no key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeySpecError {
    /// There is no part, or a part is blank.
    #[error("a key needs at least one part and none may be blank; write one of: {forms}")]
    Blank {
        /// What may be written.
        forms: Box<str>,
    },
    /// The part is of no known kind.
    #[error("`{part}` is not a part of a key; write one of: {forms}")]
    Unknown {
        /// The offending part.
        part: Box<str>,
        /// What may be written.
        forms: Box<str>,
    },
    /// The argument of the part is no name.
    #[error(
        "`{part}` needs a name between its brackets: letters, digits and the signs - _ . (in a claim also : and /)"
    )]
    Argument {
        /// The offending part.
        part: Box<str>,
    },
    /// The part comes twice in the key.
    #[error("`{part}` comes twice in the key; once says as much")]
    Twice {
        /// The offending part.
        part: Box<str>,
    },
    /// An alternative after one that is never missing.
    #[error("nothing after `{part}` is ever used, since `{part}` is never missing; drop what follows it")]
    NeverReached {
        /// The part that is always present.
        part: Box<str>,
    },
}

impl KeySpec {
    /// Parses the parts of a key; each may name alternatives, divided by `|`.
    ///
    /// # Errors
    /// [`KeySpecError`] where a part is blank, unknown, without its argument, double or never reached.
    pub fn parse<T: AsRef<str>>(parts: &[T]) -> Result<Self, KeySpecError> {
        let mut spec = Self { parts: SmallVec::new() };
        for part in parts {
            let alternatives = part
                .as_ref()
                .split('|')
                .map(|text| parse_kind(text.trim()))
                .collect::<Result<Alternatives, _>>()?;
            for (i, kind) in alternatives.iter().enumerate() {
                let before = alternatives.iter().take(i).chain(spec.parts.iter().flatten());
                if before.into_iter().any(|other| other == kind) {
                    return Err(KeySpecError::Twice { part: show(kind).into() });
                }
                if *kind == Kind::Global && i.saturating_add(1) < alternatives.len() {
                    return Err(KeySpecError::NeverReached { part: show(kind).into() });
                }
            }
            spec.parts.push(alternatives);
        }
        if spec.parts.is_empty() {
            Err(KeySpecError::Blank { forms: Kind::forms().into() })
        } else {
            Ok(spec)
        }
    }

    /// Counts by the client's address.
    pub(crate) fn ip() -> Self {
        Self { parts: smallvec![smallvec![Kind::Ip]] }
    }

    /// Its parts, each with its alternatives in order.
    pub fn parts(&self) -> impl Iterator<Item = &[Kind]> {
        self.parts.iter().map(|alternatives| alternatives.as_slice())
    }

    /// Every kind that the key may ask for.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.parts.iter().flatten()
    }

    /// The part at this place, as a policy writes it.
    pub(crate) fn part(&self, index: usize) -> Option<String> {
        self.parts.get(index).map(|kinds| show_all(kinds))
    }

    /// The request's key under `prefix`; where a part is missing, `share_missing` says whether it is shared by all that lack it.
    ///
    /// # Errors
    /// The place of the first part that is missing where it is not.
    pub(crate) fn key<A: Attributes + ?Sized>(
        &self,
        prefix: &Key,
        attributes: &A,
        context: &Context<'_>,
        share_missing: bool,
    ) -> Result<Key, usize> {
        let mut key: KeyBuilder = Key::continued(prefix);
        for (place, alternatives) in self.parts.iter().enumerate() {
            if !alternatives.iter().any(|kind| kind.write(attributes, context, &mut key)) {
                if !share_missing {
                    return Err(place);
                }
                key.push(0, "", b"");
            }
        }
        Ok(key.build())
    }
}

fn parse_kind(text: &str) -> Result<Kind, KeySpecError> {
    let forms = || Kind::forms().into();
    if text.is_empty() {
        return Err(KeySpecError::Blank { forms: forms() });
    }
    let unknown = || KeySpecError::Unknown { part: text.into(), forms: forms() };
    let Some((name, argument)) = text.split_once('(') else {
        return Kind::from_parts(text, None).ok_or_else(unknown);
    };
    let argument = argument.strip_suffix(')').ok_or_else(unknown)?.trim();
    // Header names are the same in any case; the others are names of the caller's.
    let name = name.trim();
    // Names of claims are often URIs.
    let legal = |b: u8| match b {
        b'-' | b'_' | b'.' => true,
        b':' | b'/' => name == "claim",
        b => b.is_ascii_alphanumeric(),
    };
    let lower = argument.to_ascii_lowercase();
    let argument = if name == "header" { lower.as_str() } else { argument };
    let kind = Kind::from_parts(name, Some(argument)).ok_or_else(unknown)?;
    if argument.is_empty() || !argument.bytes().all(legal) {
        return Err(KeySpecError::Argument { part: text.into() });
    }
    Ok(kind)
}

pub(super) fn show(kind: &Kind) -> String {
    match kind.parts() {
        (name, None) => name.to_owned(),
        (name, Some(argument)) => format!("{name}({argument})"),
    }
}

fn show_all(kinds: &[Kind]) -> String {
    kinds.iter().map(show).collect::<Vec<_>>().join(" | ")
}

impl fmt::Display for KeySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.parts.iter().map(|kinds| show_all(kinds)).collect();
        match parts.as_slice() {
            [one] => f.write_str(one),
            many => write!(f, "[{}]", many.join(", ")),
        }
    }
}
