//! The file of callers that a policy names: read beside it, and anew when it changes.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

use cupo_core::CallerSource;

use crate::decode;
use crate::fault::{Fault, Faults};
use crate::file::{self, Unread};
use crate::problem::Problem;
use crate::reader;
use crate::source::Source;
use crate::tree::Node;

/// The longest file of callers that is read, in bytes: 64 MiB.
pub const MAX_CALLERS_BYTES: usize = 64 << 20;

/// The file of callers that a policy names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallersFile {
    /// Where it is.
    pub path: PathBuf,
    /// Changes when the text does.
    pub fingerprint: u64,
    /// How many callers it is about.
    pub callers: usize,
    /// The length of its text, in bytes.
    pub bytes: usize,
}

impl CallersFile {
    /// Whether the file still says what it said. Blocks on file I/O.
    #[must_use]
    pub fn is_current(&self) -> bool {
        file::read(&self.path, MAX_CALLERS_BYTES).is_ok_and(|source| fingerprint(&source) == self.fingerprint)
    }
}

fn fingerprint(source: &Source) -> u64 {
    let mut hasher = DefaultHasher::new();
    source.text().hash(&mut hasher);
    hasher.finish()
}

/// Where the file is that `said` names, beside the policy file `policy`.
pub(crate) fn path(policy: &str, said: &str) -> PathBuf {
    Path::new(policy).parent().unwrap_or(Path::new("")).join(said)
}

/// A file of callers on its way into a policy.
pub(crate) struct Callers {
    pub(crate) path: PathBuf,
    pub(crate) source: Source,
    pub(crate) root: Option<Node>,
    pub(crate) faults: Faults,
    pub(crate) entries: Vec<CallerSource>,
    /// The index in the file of each of them.
    pub(crate) indices: Vec<usize>,
}

impl Callers {
    /// Reads the file that `said` names, beside the policy file `policy`; as an error why it cannot be opened.
    pub(crate) fn load(policy: &str, said: &str) -> Result<Self, (PathBuf, io::Error)> {
        let path = path(policy, said);
        let faults = Faults::default();
        match file::read(&path, MAX_CALLERS_BYTES) {
            Ok(source) => {
                let root = reader::read(source.text(), &faults);
                let decoded = root.as_ref().map(|root| decode::callers(root, &faults));
                let (indices, entries) = decoded.into_iter().flatten().unzip();
                Ok(Self { path, source, root, faults, entries, indices })
            }
            Err(unread) => match *unread {
                Unread { problem: Problem::Read(error), .. } => Err((path, error)),
                Unread { source, mark, problem } => {
                    faults.add(mark, String::new(), problem);
                    Ok(Self { path, source, root: None, faults, entries: Vec::new(), indices: Vec::new() })
                }
            },
        }
    }

    pub(crate) fn file(&self) -> CallersFile {
        CallersFile {
            path: self.path.clone(),
            fingerprint: fingerprint(&self.source),
            callers: self.indices.len(),
            bytes: self.source.text().len(),
        }
    }

    pub(crate) fn into_faults(self) -> (Source, Vec<Fault>) {
        let told = |fault: Fault| match fault.problem {
            Problem::Empty => Fault { problem: Problem::EmptyCallers, ..fault },
            _ => fault,
        };
        (self.source, self.faults.into_inner().into_iter().map(told).collect())
    }
}
