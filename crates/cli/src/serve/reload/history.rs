//! The policies that were in force: the last good ones are kept, to go back to.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use cupo_config::Source;
use cupo_core::{Policy, Timestamp};
use cupo_server::ForwardSettings;
use cupo_tower::Answers;

/// So many are kept, with the one in force.
const KEPT: usize = 10;

/// The one before is kept in any case; more of them while what was read for all is not more than this, in bytes: 64 MiB.
const KEPT_BYTES: usize = 64 << 20;

/// Who changed the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum By {
    /// Whoever started the gateway.
    Start,
    /// Whoever wrote a file.
    File,
    /// Whoever sent SIGHUP.
    Signal,
    /// An administrator.
    Admin(Box<str>),
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::File => f.write_str("file"),
            Self::Signal => f.write_str("SIGHUP"),
            Self::Admin(name) => write!(f, "admin {name}"),
        }
    }
}

/// A policy with all that swaps with it.
pub(crate) struct Revision {
    /// A short name, the same wherever the same was read.
    pub(crate) id: Box<str>,
    /// The policy file; `None` where the policy is made of options.
    pub(crate) source: Option<Source>,
    pub(crate) policy: Arc<Policy>,
    pub(super) answers: Answers,
    /// `None` where the policy is made of options.
    pub(super) forward: Option<ForwardSettings>,
    /// How much was read for it.
    pub(super) bytes: usize,
}

/// A policy that is or was in force.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) revision: Arc<Revision>,
    /// Since when it is in force, or was last put in force.
    pub(crate) since: Timestamp,
    /// Who put it in force then.
    pub(crate) by: By,
    /// Whether that was a rollback.
    pub(crate) rollback: bool,
}

/// The policies that were in force, each once, the one in force last; never empty.
pub(super) struct History {
    before: VecDeque<Entry>,
    in_force: Entry,
}

impl History {
    pub(super) const fn new(first: Entry) -> Self {
        Self { before: VecDeque::new(), in_force: first }
    }

    pub(super) const fn in_force(&self) -> &Entry {
        &self.in_force
    }

    /// The newest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        std::iter::once(&self.in_force).chain(self.before.iter().rev())
    }

    pub(super) fn push(&mut self, entry: Entry) {
        let was = std::mem::replace(&mut self.in_force, entry);
        self.before.push_back(was);
        let now = &self.in_force.revision.id;
        self.before.retain(|entry| entry.revision.id != *now);
        let bytes = |entry: &Entry| entry.revision.bytes;
        while self.before.len() > 1
            && (self.before.len() >= KEPT || self.iter().map(bytes).sum::<usize>() > KEPT_BYTES)
        {
            self.before.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cupo_core::{Policy, PolicySource, RuleSource, Timestamp};
    use cupo_tower::Answers;

    use super::{By, Entry, History, KEPT, KEPT_BYTES, Revision};

    fn entry(id: usize, bytes: usize) -> Entry {
        let limit = cupo_core::Limit::fixed_window(1, std::time::Duration::from_secs(1)).unwrap();
        let rule = RuleSource::new("a", cupo_core::KeySpec::parse(&["ip"]).unwrap(), limit);
        let policy = Policy::compile(PolicySource { rules: vec![rule], ..PolicySource::default() }).unwrap();
        let (id, answers) = (id.to_string().into(), Answers::default());
        let revision = Arc::new(Revision { id, source: None, policy, answers, forward: None, bytes });
        Entry { revision, since: Timestamp::from_micros(0), by: By::Start, rollback: false }
    }

    fn ids(history: &History) -> Vec<usize> {
        history.iter().map(|entry| entry.revision.id.parse().unwrap()).collect()
    }

    #[test]
    fn the_last_ones_are_kept_each_once() {
        let mut history = History::new(entry(0, 1));
        for id in 1..KEPT + 3 {
            history.push(entry(id, 1));
        }
        assert_eq!(ids(&history), (3..KEPT + 3).rev().collect::<Vec<_>>());
        history.push(entry(5, 1));
        assert_eq!(ids(&history)[..3], [5, 12, 11]);
        assert_eq!(ids(&history).len(), KEPT);
        assert_eq!(&*history.in_force().revision.id, "5");
    }

    #[test]
    fn large_ones_are_few_but_there_is_one_to_go_back_to() {
        let mut history = History::new(entry(0, 1));
        history.push(entry(1, KEPT_BYTES));
        assert_eq!(ids(&history), [1, 0]);
        history.push(entry(2, KEPT_BYTES));
        assert_eq!(ids(&history), [2, 1]);
        history.push(entry(3, 1));
        history.push(entry(4, 1));
        assert_eq!(ids(&history), [4, 3]);
    }
}
