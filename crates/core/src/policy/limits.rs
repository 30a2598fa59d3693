//! What a rule allows, for every tier and every multiplier.

use crate::key::Key;
use crate::limit::Limit;

/// The limits of a rule: a table of tiers (or of one row, where they do not matter) by multipliers.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) by_tier: bool,
    pub(super) columns: usize,
    /// `None` is unlimited.
    pub(super) cells: Box<[Option<Numbers>]>,
}

/// One limit, and what goes with it.
#[derive(Debug)]
pub(super) struct Numbers {
    /// What keys that are counted by it begin with.
    pub(super) prefix: Key,
    pub(super) limit: Limit,
    /// This node's share of it.
    pub(super) share: Limit,
}

impl Limits {
    /// What the rule allows to callers of this tier and multiplier; `None` where that is unlimited.
    pub(super) fn at(&self, tier: usize, times: usize) -> Option<&Numbers> {
        let row = if self.by_tier { tier } else { 0 };
        self.cells.get(row.checked_mul(self.columns)?.checked_add(times)?)?.as_ref()
    }

    /// Every limit, with the indices of its tier (or 0) and of its multiplier.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, usize, &Numbers)> {
        let columns = self.columns.max(1);
        self.cells.iter().enumerate().filter_map(move |(cell, numbers)| {
            let (row, column) = (cell.checked_div(columns)?, cell.checked_rem(columns)?);
            Some((row, column, numbers.as_ref()?))
        })
    }

    /// Whether keys with this beginning are counted by any of them.
    pub(super) fn counts_by(&self, prefix: &Key) -> bool {
        self.cells.iter().flatten().any(|numbers| numbers.prefix == *prefix)
    }
}
