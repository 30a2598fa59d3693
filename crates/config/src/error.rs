//! Errors as users see them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::slice;
use std::vec;

use crate::excerpt::{Excerpt, masked_logins};
use crate::fault::Fault;
use crate::hint::hint;
use crate::problem::Problem;
use crate::source::Source;
use crate::tree::Mark;

/// One thing that is wrong with a policy file: what, where, and what to do about it. `Display` shows all of it, with the line
/// and a caret.
#[derive(Debug)]
pub struct ConfigError {
    source: Source,
    mark: Mark,
    path: Box<str>,
    problem: Problem,
}

impl ConfigError {
    /// The file.
    #[must_use]
    pub fn file(&self) -> &str {
        self.source.name()
    }

    /// The line, from 1.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.mark.line
    }

    /// The column, from 1, in characters.
    #[must_use]
    pub const fn column(&self) -> usize {
        self.mark.column
    }

    /// The place in the policy, such as `rules[2].limit.window`; empty for the file as a whole.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// What is wrong, in one line.
    #[must_use]
    pub fn message(&self) -> String {
        printable(&masked_logins(&self.problem.to_string()))
    }

    /// What to do about it, in one line; never empty.
    #[must_use]
    pub fn hint(&self) -> String {
        printable(&masked_logins(&hint(&self.problem)))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mark { line, column, .. } = self.mark;
        let margin = " ".repeat(line.to_string().len());
        writeln!(f, "error: {}", self.message())?;
        writeln!(f, "{margin}--> {}:{line}:{column}", printable(self.file()))?;
        if let Some(excerpt) = Excerpt::of(self.source.text(), self.mark, self.problem.is_secret()) {
            writeln!(f, "{margin} |")?;
            writeln!(f, "{line} | {}", excerpt.text)?;
            writeln!(f, "{margin} | {}{}", " ".repeat(excerpt.indent), "^".repeat(excerpt.width))?;
        }
        if !self.path.is_empty() {
            writeln!(f, "{margin} = at: {}", self.path)?;
        }
        write!(f, "{margin} = hint: {}", self.hint())
    }
}

impl std::error::Error for ConfigError {}

/// Everything that is wrong with a policy file, and then with its file of callers, in the order of the file; never empty. `Display` shows the first 50.
#[derive(Debug)]
pub struct ConfigErrors {
    errors: Vec<ConfigError>,
    files: Vec<PathBuf>,
}

impl ConfigErrors {
    pub(crate) fn new(source: &Source, faults: Vec<Fault>) -> Self {
        let mut errors = Self { errors: Vec::new(), files: vec![source.name().into()] };
        errors.add(source, faults);
        errors
    }

    /// Adds what is wrong with a file.
    pub(crate) fn add(&mut self, source: &Source, mut faults: Vec<Fault>) {
        faults.sort_by_key(|fault| (fault.mark.line, fault.mark.column));
        let error = |Fault { mark, path, problem }| ConfigError {
            source: source.clone(),
            mark,
            path: printable(&masked_logins(&path)).into(),
            problem,
        };
        self.errors.extend(faults.into_iter().map(error));
    }

    pub(crate) fn one(source: &Source, mark: Mark, problem: Problem) -> Self {
        Self::new(source, vec![Fault { mark, path: String::new(), problem }])
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// The same errors of a policy that stands on these files.
    pub(crate) fn standing_on(self, files: Vec<PathBuf>) -> Self {
        Self { files, ..self }
    }

    /// The files to look at again: the policy's own, and those that it names as far as it could be read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// The errors.
    pub fn iter(&self) -> slice::Iter<'_, ConfigError> {
        self.errors.iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.errors.iter().take(MAX_ERRORS).enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{error}")?;
        }
        match self.errors.len().saturating_sub(MAX_ERRORS) {
            0 => Ok(()),
            more => write!(f, "\n\nand {more} more"),
        }
    }
}

impl std::error::Error for ConfigErrors {}

impl<'a> IntoIterator for &'a ConfigErrors {
    type Item = &'a ConfigError;
    type IntoIter = slice::Iter<'a, ConfigError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for ConfigErrors {
    type Item = ConfigError;
    type IntoIter = vec::IntoIter<ConfigError>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

/// At most this many errors are shown.
const MAX_ERRORS: usize = 50;

/// At most this many characters of a message are shown.
const MAX_SHOWN: usize = 400;

/// `text` in one line of bounded length that leaves a terminal as it was.
fn printable(text: &str) -> String {
    let mut shown: String = text.chars().take(MAX_SHOWN).map(Excerpt::shown).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
