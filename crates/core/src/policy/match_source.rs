//! Conditions as plain values, before they are compiled.

use ipnet::IpNet;

use crate::path::Template;

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

    /// Whether whatever passes `self` passes `other` as well, as far as can be told without asking requests.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        within(&self.methods, &other.methods, |own, other| own == other || (other == "GET" && own == "HEAD"))
            && other
                .path
                .as_ref()
                .is_none_or(|other| self.path.as_ref().is_some_and(|own| covers(other, own)))
            && within(&self.hosts, &other.hosts, |own, other| {
                own == other || other.strip_prefix('*').is_some_and(|end| own.ends_with(end))
            })
            && other.headers.iter().all(|header| self.headers.contains(header))
            && within(&self.clients, &other.clients, |own, other| other.contains(own))
            && within(&self.plans, &other.plans, |own, other| own == other)
            && other.not.iter().all(|not| self.not.contains(not))
    }
}

/// Whether everything that is among `own` is among `other`; an empty list is everything.
fn within<T>(own: &[T], other: &[T], is_in: impl Fn(&T, &T) -> bool) -> bool {
    let is_in_other = |own: &T| other.iter().any(|other| is_in(own, other));
    other.is_empty() || (!own.is_empty() && own.iter().all(is_in_other))
}

fn covers(path: &str, own: &str) -> bool {
    let parsed = (Template::parse(path), Template::parse(own));
    path == own || matches!(parsed, (Ok(path), Ok(own)) if path.covers(&own))
}
