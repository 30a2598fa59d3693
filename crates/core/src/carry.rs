//! What a limit takes over from the one that it replaces.

use crate::algorithm::{Change, State};
use crate::limit::Limit;
use crate::time::Timestamp;

impl Limit {
    /// Units of `state` that still count at `now`: what of the limit is not there to be taken. A part of a unit counts as one.
    #[must_use]
    pub fn used(&self, state: Option<&State>, now: Timestamp) -> u64 {
        self.quota().saturating_sub(self.decide(state, now, 0).0.remaining)
    }

    /// Charges at `now` what still counts of `old`, a state of the limit `from`, to `state`, a state of this one, as far as there is
    /// room. So what was consumed stays consumed, and nobody waits for longer than this limit ever makes anybody wait.
    ///
    /// [`Change::Keep`] where nothing counts any more, or `from` is of another algorithm.
    #[must_use]
    pub fn carry(&self, state: Option<&State>, from: &Self, old: &State, now: Timestamp) -> Change {
        if from.algorithm() != self.algorithm() {
            return Change::Keep;
        }
        let room = self.decide(state, now, 0).0.remaining;
        self.decide(state, now, from.used(Some(old), now).min(room)).1
    }
}
