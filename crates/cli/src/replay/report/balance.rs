//! How much a key had left over time.

use std::fmt::{self, Write as _};

use cupo_core::{Decision, Key, Ruling};

/// What a key had left in one stretch of time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Balance {
    pub(super) asked: u64,
    pub(super) denied: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) last: u64,
    pub(super) limit: u64,
}

impl Balance {
    pub(super) fn observe(&mut self, decision: &Decision) {
        self.merge(Self {
            asked: 1,
            denied: u64::from(!decision.verdict.is_admit()),
            least: decision.remaining,
            most: decision.remaining,
            last: decision.remaining,
            limit: decision.limit,
        });
    }

    pub(super) fn merge(&mut self, later: Self) {
        if later.asked == 0 {
            return;
        }
        let least = if self.asked == 0 { later.least } else { self.least.min(later.least) };
        *self = Self {
            asked: self.asked.saturating_add(later.asked),
            denied: self.denied.saturating_add(later.denied),
            least,
            most: self.most.max(later.most),
            last: later.last,
            limit: self.limit.max(later.limit),
        };
    }
}

/// A key whose balance is watched: known by how it is shown, and then by itself, in each policy.
pub(super) struct Watch {
    pub(super) text: Option<String>,
    keys: Vec<Option<Key>>,
}

impl Watch {
    pub(super) fn of(text: &str, policies: usize) -> Self {
        Self { text: Some(text.to_owned()), keys: vec![None; policies] }
    }

    pub(super) fn first_denied(policies: usize) -> Self {
        Self { text: None, keys: vec![None; policies] }
    }

    pub(super) fn matches(&mut self, policy: usize, ruling: &Ruling<'_>) -> bool {
        let Some(known) = self.keys.get_mut(policy) else { return false };
        if let Some(known) = known {
            return known == ruling.key;
        }
        let text = match &self.text {
            Some(text) => text,
            None if ruling.decision.verdict.is_admit() => return false,
            None => self.text.insert(ruling.key.to_string()),
        };
        let mut rest = Expected(text);
        let shown = write!(rest, "{}", ruling.key).is_ok() && rest.0.is_empty();
        if shown {
            *known = Some(ruling.key.clone());
        }
        shown
    }
}

/// Takes what is written as long as it is what is expected.
struct Expected<'a>(&'a str);

impl fmt::Write for Expected<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        Ok(())
    }
}
