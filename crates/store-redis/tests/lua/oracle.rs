//! What a batch has to lead to: the checks one after the other, each all or nothing, by `Params::decide`.

use std::collections::HashMap;

use cupo_core::algorithm::State;
use cupo_core::{Decision, Limit, Timestamp};

use crate::server::{Item, tag};

/// States by key, with the tag and the limit that made them.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) kept: HashMap<Vec<u8>, (u8, Limit, State)>,
}

impl Oracle {
    fn state(&self, item: &Item) -> Option<&State> {
        // A state of another algorithm or of other ticks counts as absent.
        self.kept.get(&item.key).filter(|(made_by, ..)| *made_by == tag(&item.limit)).map(|(.., state)| state)
    }

    /// The decisions of a check at `now`, carried out.
    pub(crate) fn check(&mut self, items: &[Item], now: u64) -> Vec<Decision<u64>> {
        let tick = |item: &Item| item.limit.resolution().tick(Timestamp::from_micros(now));
        let decide = |item: &Item, cost| item.limit.params().decide(self.state(item), tick(item), cost);
        let mut all: Vec<_> = items.iter().map(|item| decide(item, item.cost)).collect();
        if all.iter().all(|(decision, _)| decision.is_admitted()) {
            for (item, (decision, change)) in items.iter().zip(&all) {
                assert!(decision.is_admitted());
                if item.cost > 0 {
                    let mut state = self.state(item).cloned();
                    item.limit.apply(&mut state, *change);
                    self.kept.insert(item.key.clone(), (tag(&item.limit), item.limit, state.unwrap()));
                }
            }
        } else {
            for (item, answer) in items.iter().zip(&mut all) {
                if answer.0.is_admitted() {
                    *answer = decide(item, 0);
                }
            }
        }
        all.into_iter().map(|(decision, _)| decision).collect()
    }
}
