//! Conditions as plain values, before they are compiled.

use ipnet::IpNet;

/// The requests that a rule applies to: all that pass every condition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchSource {
    /// Methods, in upper case, any of which fits; empty for all. `GET` covers `HEAD`.
    pub methods: Vec<String>,
    /// A path template; `None` for all.
    pub path: Option<String>,
    /// Hosts without port, any of which fits; `*.example.org` is every host below `example.org`. Empty for all.
    pub hosts: Vec<String>,
    /// Headers, all of which have to fit.
    pub headers: Vec<HeaderSource>,
    /// Networks of the client, any of which fits; empty for all.
    pub clients: Vec<IpNet>,
    /// Plan tiers of the caller, any of which fits; empty for all.
    pub plans: Vec<String>,
    /// Requests that fit any of these are left out.
    pub not: Vec<Self>,
}

/// What a header has to be. Of a header of several lines one line has to be it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderSource {
    /// The name, in any letter case.
    pub name: String,
    /// What it has to be.
    pub test: HeaderTest,
}

/// What a line of a header has to be. Blanks around the line do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderTest {
    /// There, even if it is empty.
    Present,
    /// This text, in this letter case.
    Equals(String),
    /// Found by this regular expression, anywhere in the line unless it says `^` and `$`. It works on bytes, and `\d`, `\w`,
    /// `\s` and `(?i)` on ASCII.
    Regex(String),
}

impl MatchSource {
    /// Whether all requests pass.
    pub(super) fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether whatever passes `self` passes `other` as well, as far as equal texts tell.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        (other.methods.is_empty() || other.methods == self.methods)
            && (other.path.is_none() || other.path == self.path)
            && (other.hosts.is_empty() || other.hosts == self.hosts)
            && other.headers.iter().all(|header| self.headers.contains(header))
            && (other.clients.is_empty() || other.clients == self.clients)
            && (other.plans.is_empty() || other.plans == self.plans)
            && other.not.iter().all(|not| self.not.contains(not))
    }
}
