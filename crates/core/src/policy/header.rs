//! Conditions on a header.

use core::fmt;

use regex::bytes::{Regex, RegexBuilder};

use super::compile::is_header_name;
use super::error::Problem;
use super::match_source::{HeaderSource, HeaderTest};
use crate::attributes::Attributes;

/// Bytes that a compiled regular expression may take; what an operator writes takes a few hundred.
const REGEX_BYTES: usize = 64 << 10;

/// Bytes of memory that a regular expression may work with on each thread.
const REGEX_CACHE_BYTES: usize = 256 << 10;

/// A compiled [`HeaderSource`].
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    name: Box<str>,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Present,
    Equals(Box<str>),
    Regex(Regex),
}

impl PartialEq for Test {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Present, Self::Present) => true,
            (Self::Equals(one), Self::Equals(other)) => one == other,
            (Self::Regex(one), Self::Regex(other)) => one.as_str() == other.as_str(),
            _ => false,
        }
    }
}

impl Header {
    pub(super) fn compile(source: HeaderSource) -> Result<Self, Problem> {
        let name = source.name.to_ascii_lowercase();
        if !is_header_name(&name) {
            return Err(Problem::HeaderName(source.name));
        }
        if name == "host" {
            return Err(Problem::HostHeader);
        }
        let test = match source.test {
            HeaderTest::Present => Test::Present,
            HeaderTest::Equals(text) if text.trim_ascii() != text => {
                return Err(Problem::HeaderBlanks(text.into()));
            }
            HeaderTest::Equals(text) => Test::Equals(text.into()),
            HeaderTest::Regex(pattern) => Test::Regex(regex(&pattern)?),
        };
        Ok(Self { name: name.into(), test })
    }

    /// The name, in lower case.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the request has it. `in_doubt` is the answer where one of its lines fits and another does not, since nobody
    /// knows which of them counts elsewhere.
    pub(super) fn fits<A: Attributes + ?Sized>(&self, attributes: &A, in_doubt: bool) -> bool {
        let (mut one, mut all) = (false, true);
        attributes.header_lines(&self.name, &mut |line| {
            let fits = self.test.fits(line.trim_ascii());
            one |= fits;
            all &= fits;
        });
        one && (all || in_doubt)
    }
}

impl Test {
    fn fits(&self, line: &[u8]) -> bool {
        match self {
            Self::Present => true,
            Self::Equals(text) => text.as_bytes() == line,
            Self::Regex(regex) => regex.is_match(line),
        }
    }
}

fn regex(pattern: &str) -> Result<Regex, Problem> {
    let built = RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(REGEX_BYTES)
        .dfa_size_limit(REGEX_CACHE_BYTES)
        .build();
    built.map_err(|error| {
        let reason = match error {
            regex::Error::CompiledTooBig(bytes) => format!("it takes more than {bytes} bytes"),
            // The last line says what is wrong; those before draw where.
            other => {
                let text = other.to_string();
                let last = text.lines().last().unwrap_or_default();
                last.strip_prefix("error: ").unwrap_or(last).to_owned()
            }
        };
        Problem::Regex { pattern: pattern.into(), reason: reason.into() }
    })
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.test {
            Test::Present => f.write_str(&self.name),
            Test::Equals(text) => write!(f, "{} equal to `{text}`", self.name),
            Test::Regex(regex) => write!(f, "{} like `{regex}`", self.name),
        }
    }
}
