//! A policy that is read and checked aside, before anybody is decided by it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cupo_config::{Config, ConfigErrors, StoreSource};
use cupo_tower::Answers;
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;
use crate::jwt::Tokens;
use crate::serve::{admin, settings};
use crate::{presentation, store};

/// A policy that can be put in force.
pub(crate) struct Candidate {
    pub(crate) config: Config,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) answers: Answers,
    /// Until the admin API listens.
    pub(crate) admin: Option<admin::Said>,
    pub(super) id: Box<str>,
    /// What the files say that matter to a start only.
    pub(super) files_of_the_start: Vec<(&'static str, Vec<u8>)>,
}

impl Candidate {
    /// Reads and checks all that the policy at `path` says. `before` is what has been verifying tokens.
    pub(crate) fn load(path: &Path, before: Option<&Tokens>) -> Result<Self, Failure> {
        let config = cupo_config::load(path)?;
        let presentation = presentation::of(&config)?;
        if let StoreSource::Redis(redis) = &config.store {
            store::settings(redis).map_err(|error| error.within(&config))?;
        }
        let tokens = Tokens::open_after(&config, before)?;
        let admin = admin::Said::of(&config)?;
        let mut answers = Answers::default().presentation(Arc::new(presentation));
        if let Some(path) = settings::status_path(&config.gateway) {
            answers = answers.status_at(path);
        }
        if let Some(path) = settings::health_path(&config.gateway) {
            answers = answers.health_at(&path);
        }
        if let Some(tokens) = &tokens {
            answers = answers.identify_by(tokens.verifier.clone());
        }
        let files_of_the_start = read(&config);
        let id = id(&config, tokens.as_ref());
        Ok(Self { config, tokens, answers, admin, id, files_of_the_start })
    }

    /// Whether the files still say what they said.
    pub(super) fn is_current(&self) -> bool {
        self.config.is_current()
            && self.tokens.as_ref().is_none_or(Tokens::is_current)
            && read(&self.config) == self.files_of_the_start
    }

    /// How much was read for it, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let callers = self.config.callers.as_ref().map_or(0, |callers| callers.bytes);
        self.config.source.text().len().saturating_add(callers)
    }
}

/// A hash of each of the files.
fn read(config: &Config) -> Vec<(&'static str, Vec<u8>)> {
    let read = |path: PathBuf| cupo_config::read_file(&path, store::MAX_PEM_BYTES).unwrap_or_default();
    let files = config.files_of_the_start().into_iter();
    files.map(|(field, path)| (field, Sha256::digest(read(path)).to_vec())).collect()
}

/// A short name for all that was read and that swaps: the same wherever the same was.
fn id(config: &Config, tokens: Option<&Tokens>) -> Box<str> {
    let mut hash = Sha256::new();
    hash.update(Sha256::digest(config.source.text()));
    hash.update(config.callers.as_ref().map_or(0, |callers| callers.fingerprint).to_le_bytes());
    hash.update(Sha256::digest(tokens.map_or(&[][..], Tokens::keys_text)));
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

/// Why a policy was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// As `cupo check` tells it.
    pub(crate) whole: String,
    /// In one line.
    pub(crate) line: String,
    /// The files to look at again.
    pub(super) files: Vec<PathBuf>,
}

impl Refused {
    pub(super) fn new(path: &Path, failure: &Failure) -> Self {
        let (line, files) = match failure {
            Failure::Config(errors) => (first(errors), errors.files().map(Path::to_path_buf).collect()),
            failure => (failure.to_string(), vec![path.to_path_buf()]),
        };
        Self { whole: failure.to_string(), line, files }
    }
}

/// The first error with its place. The folder is nobody else's business.
fn first(errors: &ConfigErrors) -> String {
    let Some(first) = errors.iter().next() else { return String::new() };
    let file = Path::new(first.file()).file_name().unwrap_or_default().to_string_lossy();
    let more = errors.iter().count().saturating_sub(1);
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    format!("{file}:{}:{}: {}{more}", first.line(), first.column(), first.message())
}
