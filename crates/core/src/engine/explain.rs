//! What would become of a request, by the way that requests go, without taking anything.

use std::sync::Arc;

use super::Engine;
use crate::attributes::Attributes;
use crate::check::{Check, Executed, Preview};
use crate::clock::Clock;
use crate::explanation::{Counted, Explanation};
use crate::in_force::InForce;
use crate::observer::Observer;
use crate::outcome::Outcome;
use crate::policy::{Prepared, Traced};
use crate::store::{Store, StoreError};
use crate::time::Timestamp;

impl<S: Store, C: Clock, O: Observer> Engine<S, C, O> {
    /// What [`decide`](Self::decide) would answer to a request now, and why. Charges nothing, creates no key, and is not
    /// observed, but for failures of the store.
    pub async fn explain<A: Attributes + Sync + ?Sized>(&self, attributes: &A) -> Explanation {
        self.explain_under(self.in_force(), attributes).await
    }

    /// The same under what was [in force](Self::in_force) when it was asked.
    pub async fn explain_under<A: Attributes + Sync + ?Sized>(
        &self,
        in_force: Arc<InForce>,
        attributes: &A,
    ) -> Explanation {
        let now = self.clock.now();
        let policy = Arc::clone(in_force.policy());
        let Traced { caller, rules, mut prepared } = policy.trace(attributes);
        if let Some(blocked) =
            self.blocks.load().and_then(|known| policy.settle_blocked(attributes, &known, now))
        {
            prepared = Err(blocked);
        }
        let (counted, outcome) = match prepared {
            Err(settled) => (Vec::new(), Ok(Outcome::settle(in_force, now, settled))),
            Ok(prepared) => self.explain_prepared(in_force, prepared, now).await,
        };
        Explanation::new(policy, (caller, rules), counted, outcome)
    }

    async fn explain_prepared(
        &self,
        in_force: Arc<InForce>,
        mut prepared: Prepared,
        now: Timestamp,
    ) -> (Vec<Counted>, Result<Outcome, StoreError>) {
        let items = prepared.rules.iter().copied().zip(prepared.check.items().iter().cloned());
        let mut counted: Vec<Counted> = items.map(|(rule, item)| Counted::new(rule, item)).collect();
        let shadow = core::mem::take(&mut prepared.shadow);
        let mut outcome = match self.preview(&in_force, &prepared.rules, &prepared.check, now).await {
            Ok(Preview { at, balances, decisions }) => {
                for (counted, (balance, decision)) in counted.iter_mut().zip(balances.iter().zip(&decisions))
                {
                    (counted.balance, counted.decision) = (Some(*balance), Some(*decision));
                }
                prepared.fold(in_force, &Executed { at, decisions })
            }
            Err(error) => {
                let outcome = self.decide_without_store(in_force, prepared, now, error, |fallback, check| {
                    let Preview { at, decisions, .. } = fallback.preview(check, now);
                    Executed { at, decisions }
                });
                for ruling in outcome.iter().flat_map(Outcome::decisions) {
                    if let Some(counted) = counted.iter_mut().find(|counted| counted.item.key == *ruling.key)
                    {
                        (counted.item.limit, counted.decision) = (*ruling.limit, Some(ruling.decision));
                    }
                }
                counted.extend(shadow.into_iter().map(|(rule, item)| Counted::new(rule, item)));
                return (counted, outcome);
            }
        };
        // Who is refused is not counted for rules that only watch.
        let watches = outcome.is_admitted();
        for (rule, item) in shadow {
            let mut shown = Counted::new(rule, item);
            let check = Check::from(shown.item.clone());
            if let Ok(preview) = self.preview(outcome.in_force(), &[rule], &check, now).await {
                shown.balance = preview.balances.first().copied();
                shown.decision = preview.decisions.first().copied().filter(|_| watches);
            }
            if let Some(decision) = shown.decision {
                let at = outcome.at();
                outcome.add_shadow(rule, shown.item.clone(), decision, at);
            }
            counted.push(shown);
        }
        (counted, Ok(outcome))
    }

    /// Previews a check, with the rule of each of its items, under what is in force. What was counted under earlier policies is
    /// taken over first, which changes no answer.
    async fn preview(
        &self,
        in_force: &InForce,
        rules: &[usize],
        check: &Check,
        now: Timestamp,
    ) -> Result<Preview, StoreError> {
        if check.items().is_empty() {
            return Ok(Preview { at: now, balances: Default::default(), decisions: Default::default() });
        }
        self.carry(in_force, rules, check, now).await?;
        self.store.preview(check, now).await.inspect_err(|error| self.observer.store_failed(error))
    }
}
