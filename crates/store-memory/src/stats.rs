//! What the store tells about itself.

/// A store's size, and what has happened since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// Keys in the store, those at rest and not yet reclaimed included.
    pub keys: usize,
    /// Overflow groups in the store.
    pub groups: usize,
    /// Bytes that the store has allocated.
    pub bytes: usize,
    /// States at rest that were reclaimed. Costs nothing: they were as good as absent.
    pub reclaimed: u64,
    /// States that were forgotten before they were at rest because the budget was spent. Above 0 the budget is too small
    /// for the traffic, or somebody floods.
    pub evicted_alive: u64,
    /// Decisions on an overflow group, because the key in question is new and everything around it is under active
    /// limitation. Above 0 some keys shared a limit.
    pub grouped: u64,
    /// Times that a sliding log was made coarser to stay within the budget.
    pub coarsened: u64,
}

impl Stats {
    /// Both together.
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            keys: self.keys + other.keys,
            groups: self.groups + other.groups,
            bytes: self.bytes + other.bytes,
            reclaimed: self.reclaimed + other.reclaimed,
            evicted_alive: self.evicted_alive + other.evicted_alive,
            grouped: self.grouped + other.grouped,
            coarsened: self.coarsened + other.coarsened,
        }
    }
}
