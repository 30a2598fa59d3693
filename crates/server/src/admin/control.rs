//! What the program around the gateway does for administrators.

/// What the program around the gateway does for administrators. Calls may block: they are made on a thread that may wait.
pub trait Control: Send + Sync {
    /// The policy in force as it was written, without secrets; `None` where it was not written in a file.
    fn policy_text(&self) -> Option<PolicyText>;
}

/// A policy as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyText {
    /// What errors call the file.
    pub file: String,
    /// Its text, without secrets.
    pub text: String,
}
