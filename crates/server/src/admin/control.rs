//! What the program around the gateway does for administrators.

use cupo_core::Timestamp;

/// What the program around the gateway does for administrators. Calls may block: they are made on a thread that may wait.
pub trait Control: Send + Sync {
    /// The policy in force as it was written, without secrets; `None` where it was not written in a file.
    fn policy_text(&self) -> Option<PolicyText>;

    /// Reads the policy again, and puts it in force if it is right; `who` asks for it.
    ///
    /// # Errors
    /// [`NotReloaded`], and then nothing has changed.
    fn reload(&self, who: &str) -> Result<Reloaded, NotReloaded>;

    /// Puts a policy in force again that was before: that of the revision `to`, or the one before this.
    ///
    /// # Errors
    /// [`NotReloaded`], and then nothing has changed.
    fn rollback(&self, to: Option<&str>, who: &str) -> Result<Reloaded, NotReloaded>;

    /// The policies that are kept, newest first; the first is in force.
    fn history(&self) -> Vec<Revision>;
}

/// A policy as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyText {
    /// What errors call the file.
    pub file: String,
    /// Its text, without secrets.
    pub text: String,
}

/// What became of a reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// The revision that was in force.
    pub before: String,
    /// The one that is now; the same where nothing is new.
    pub after: String,
    /// Settings that wait for a restart.
    pub waiting: Vec<String>,
}

/// Why the policy stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotReloaded {
    /// There is nothing to read again or to go back to.
    #[error("{0}")]
    Impossible(Box<str>),
    /// What is written is wrong: as `cupo check` says it.
    #[error("{0}")]
    Refused(Box<str>),
    /// There is no such revision.
    #[error("{0}")]
    Unknown(Box<str>),
}

/// A policy that is in force or was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its name.
    pub id: String,
    /// Since when it is in force, or was.
    pub since: Timestamp,
    /// Who put it there.
    pub by: String,
    /// Whether by going back to it.
    pub rollback: bool,
    /// How many rules it has.
    pub rules: usize,
}
