//! Checks: what a store executes. Plain data.

use smallvec::SmallVec;
use thiserror::Error;

use crate::decision::Decision;
use crate::key::Key;
use crate::limit::Limit;
use crate::time::Timestamp;

/// One line of a check: `cost` units of `limit`, counted under `key`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckItem {
    /// What is counted.
    pub key: Key,
    /// How much of it is allowed.
    pub limit: Limit,
    /// Units that the request takes; 0 is a peek.
    pub cost: u64,
}

/// The list of (key, limit, cost) that one request must pass, decided all or nothing. No key appears twice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Check {
    items: SmallVec<[CheckItem; 2]>,
}

/// The key is already in the check: two decisions on one state in one step would not see each other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the key {key:?} is in the check already: put the costs together, or give each rule its own scope")]
pub struct DuplicateKey {
    /// The offending key.
    pub key: Key,
}

impl Check {
    /// A check of nothing, which every store admits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A check of a single item.
    #[must_use]
    pub fn one(key: Key, limit: Limit, cost: u64) -> Self {
        Self::from(CheckItem { key, limit, cost })
    }

    /// Adds an item.
    ///
    /// # Errors
    /// [`DuplicateKey`] where the key is in the check already.
    pub fn push(&mut self, key: Key, limit: Limit, cost: u64) -> Result<(), DuplicateKey> {
        if self.items.iter().any(|item| item.key == key) {
            return Err(DuplicateKey { key });
        }
        self.items.push(CheckItem { key, limit, cost });
        Ok(())
    }

    /// Adds an item whose key is known to be new.
    pub(crate) fn push_new(&mut self, item: CheckItem) {
        debug_assert!(self.items.iter().all(|other| other.key != item.key), "keys of different rules differ");
        self.items.push(item);
    }

    /// The items, in the order in which they were added.
    #[must_use]
    pub fn items(&self) -> &[CheckItem] {
        &self.items
    }
}

impl From<CheckItem> for Check {
    fn from(item: CheckItem) -> Self {
        let mut items = SmallVec::new();
        items.push(item);
        Self { items }
    }
}

/// The decisions of a check, in the order of its items.
pub type Decisions = SmallVec<[Decision; 2]>;

/// What a store answers to a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// The instant at which the store decided, by the clock that it decides by.
    pub at: Timestamp,
    /// One decision per item, in the order of the items. Where one does not admit, none was charged: the balance of the
    /// others is shown without this request.
    pub decisions: Decisions,
}

/// What a store would answer to a check now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The instant that it goes by, by the clock that decides.
    pub at: Timestamp,
    /// The balance of each item as it is: what a peek says.
    pub balances: Decisions,
    /// What [`Store::check`](crate::Store::check) would say.
    pub decisions: Decisions,
}

impl Executed {
    /// Whether every decision admits, which is when all were charged.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        self.decisions.iter().all(Decision::is_admitted)
    }
}
