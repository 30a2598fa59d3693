//! The answer for a whole request: all decisions, and the one that binds.

use core::cmp::Reverse;
use core::time::Duration;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::check::{CheckItem, Executed};
use crate::decision::{Decision, Verdict};
use crate::policy::{Action, Policy, Prepared, Rule};
use crate::time::Timestamp;

/// The answer for a whole request.
#[derive(Debug, Clone)]
pub struct Outcome {
    policy: Arc<Policy>,
    at: Timestamp,
    verdict: Verdict,
    delay: Duration,
    decided: SmallVec<[Decided; 4]>,
    shadow: SmallVec<[Decided; 1]>,
    binding: Option<usize>,
    lacking: Option<usize>,
    held: SmallVec<[(CheckItem, Timestamp); 1]>,
}

#[derive(Debug, Clone, Copy)]
struct Decided {
    rule: usize,
    cost: u64,
    decision: Decision,
}

/// A decision with its rule.
#[derive(Debug, Clone, Copy)]
pub struct Ruling<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// Units that the request takes from it.
    pub cost: u64,
    /// The decision.
    pub decision: Decision,
}

impl Outcome {
    /// Folds what the store said about the enforced rules into one answer.
    pub(crate) fn fold(policy: Arc<Policy>, prepared: &Prepared, executed: &Executed) -> Self {
        let items = prepared.check.items();
        let decided: SmallVec<[Decided; 4]> = prepared
            .rules
            .iter()
            .zip(items)
            .zip(&executed.decisions)
            .map(|((&rule, item), &decision)| Decided { rule, cost: item.cost, decision })
            .collect();
        let verdict = decided.iter().fold(Verdict::Admit, |whole, d| worse(whole, d.decision.verdict));
        let binding = if verdict.is_admit() { tightest(&decided) } else { longest_wait(&decided) };
        let mut outcome = Self {
            policy,
            at: executed.at,
            verdict,
            delay: Duration::ZERO,
            decided,
            shadow: SmallVec::new(),
            binding,
            lacking: None,
            held: SmallVec::new(),
        };
        if verdict.is_admit() {
            outcome.hold(items);
        }
        outcome
    }

    /// The answer to a request that lacks what the rule of this index counts by.
    pub(crate) fn lacking(policy: Arc<Policy>, at: Timestamp, rule: usize) -> Self {
        Self {
            policy,
            at,
            verdict: Verdict::Impossible,
            delay: Duration::ZERO,
            decided: SmallVec::new(),
            shadow: SmallVec::new(),
            binding: None,
            lacking: Some(rule),
            held: SmallVec::new(),
        }
    }

    fn hold(&mut self, items: &[CheckItem]) {
        for (decided, item) in self.decided.iter().zip(items) {
            let delays =
                self.policy.rules().get(decided.rule).is_some_and(|rule| rule.action() == Action::Delay);
            if delays && !decided.decision.delay.is_zero() {
                self.delay = self.delay.max(decided.decision.delay);
                self.held.push((item.clone(), self.at.after(decided.decision.reset_after)));
            }
        }
    }

    pub(crate) fn add_shadow(&mut self, rule: usize, cost: u64, decision: Decision) {
        self.shadow.push(Decided { rule, cost, decision });
    }

    /// What a cancelled request may give back: each item with the instant at which its bucket would have been empty.
    pub(crate) fn held(&self) -> &[(CheckItem, Timestamp)] {
        &self.held
    }

    /// The policy that decided.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The instant of the decision, by the clock that decided.
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// The verdict on the whole request: [`Verdict::Impossible`] where one rule says so, else the longest wait of a denial.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Whether the request may pass, if need be after [`delay`](Self::delay).
    #[must_use]
    pub const fn is_admitted(&self) -> bool {
        self.verdict.is_admit()
    }

    /// The wait after which every rule that denies now admits; `None` where the request is admitted or can never be.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.verdict.retry_after()
    }

    /// How long an admitted request has to be held; only rules with `action: delay` hold.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Every decision of an enforced rule, in the order of the policy.
    pub fn decisions(&self) -> impl ExactSizeIterator<Item = Ruling<'_>> + Clone {
        RulingIter { outcome: self, decided: self.decided.iter() }
    }

    /// Every decision of a rule with `action: shadow`; there are none where the request is not admitted.
    pub fn shadow_decisions(&self) -> impl ExactSizeIterator<Item = Ruling<'_>> + Clone {
        RulingIter { outcome: self, decided: self.shadow.iter() }
    }

    /// The decision that binds: of an admitted request the one with the fewest such requests left, of a denied one the one
    /// with the longest wait. `None` where no enforced rule applies or the request [lacks](Self::lacks) what a rule asks for.
    #[must_use]
    pub fn binding(&self) -> Option<Ruling<'_>> {
        self.decided.get(self.binding?).and_then(|decided| self.ruling(decided))
    }

    /// The rule that refuses the request because it lacks what the rule counts by (`on_missing: deny`).
    #[must_use]
    pub fn lacks(&self) -> Option<&Rule> {
        self.policy.rules().get(self.lacking?)
    }

    fn ruling(&self, decided: &Decided) -> Option<Ruling<'_>> {
        let rule = self.policy.rules().get(decided.rule)?;
        Some(Ruling { rule, cost: decided.cost, decision: decided.decision })
    }
}

fn worse(a: Verdict, b: Verdict) -> Verdict {
    match (a, b) {
        (Verdict::Impossible, _) | (_, Verdict::Impossible) => Verdict::Impossible,
        (Verdict::Deny { retry_after: a }, Verdict::Deny { retry_after: b }) => {
            Verdict::Deny { retry_after: a.max(b) }
        }
        (Verdict::Deny { .. }, Verdict::Admit) => a,
        (Verdict::Admit, _) => b,
    }
}

/// Of an admitted request: the rule that has room for the fewest more like it, then the one that takes longest to be whole.
fn tightest(decided: &[Decided]) -> Option<usize> {
    let order = |d: &Decided| {
        let more = d.decision.remaining.checked_div(d.cost.max(1)).unwrap_or(0);
        (more, Reverse(d.decision.reset_after))
    };
    decided.iter().enumerate().min_by_key(|(_, d)| order(d)).map(|(i, _)| i)
}

/// Of a denied request: the rule that can never admit it, else the one with the longest wait.
fn longest_wait(decided: &[Decided]) -> Option<usize> {
    let order = |d: &Decided| match d.decision.verdict {
        Verdict::Impossible => (2, Duration::ZERO),
        Verdict::Deny { retry_after } => (1, retry_after),
        Verdict::Admit => (0, Duration::ZERO),
    };
    // The first of equals, as in `tightest`.
    decided.iter().enumerate().min_by_key(|(_, d)| Reverse(order(d))).map(|(i, _)| i)
}

#[derive(Clone)]
struct RulingIter<'a> {
    outcome: &'a Outcome,
    decided: core::slice::Iter<'a, Decided>,
}

impl<'a> Iterator for RulingIter<'a> {
    type Item = Ruling<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.decided.next().and_then(|decided| self.outcome.ruling(decided))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.decided.size_hint()
    }
}

impl ExactSizeIterator for RulingIter<'_> {}
