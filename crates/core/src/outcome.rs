//! The answer for a whole request: all decisions, and the one that binds.

use core::cmp::Reverse;
use core::time::Duration;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::algorithm::Charge;
use crate::check::{Check, CheckItem, Executed};
use crate::decision::{Decision, Verdict};
use crate::in_force::InForce;
use crate::key::Key;
use crate::limit::Limit;
use crate::policy::{Action, Policy, Rule};
use crate::settled::Settled;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The answer for a whole request.
#[derive(Debug, Clone)]
pub struct Outcome {
    in_force: Arc<InForce>,
    at: Timestamp,
    verdict: Verdict,
    delay: Duration,
    check: Check,
    decided: SmallVec<[Decided; 2]>,
    /// Each with the instant at which it was decided.
    shadow: Vec<(CheckItem, Decided, Timestamp)>,
    binding: Option<usize>,
    settled: Option<Settled>,
    store_error: Option<StoreError>,
}

#[derive(Debug, Clone, Copy)]
struct Decided {
    rule: usize,
    decision: Decision,
}

/// What a rule was charged.
pub(crate) struct Charged<'a> {
    pub(crate) index: usize,
    pub(crate) rule: &'a Rule,
    pub(crate) item: &'a CheckItem,
    pub(crate) charge: Charge<Timestamp>,
}

/// A decision with its rule.
#[derive(Debug, Clone, Copy)]
pub struct Ruling<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The key that it counted the request under.
    pub key: &'a Key,
    /// The limit that decided: the rule's, or this node's share of it where the store could not decide.
    pub limit: &'a Limit,
    /// Units that the request takes from it.
    pub cost: u64,
    /// The decision.
    pub decision: Decision,
}

impl Outcome {
    /// Folds what the store said about the enforced rules into one answer.
    pub(crate) fn fold(in_force: Arc<InForce>, check: Check, rules: &[usize], executed: &Executed) -> Self {
        let decided: SmallVec<[Decided; 2]> = rules
            .iter()
            .zip(&executed.decisions)
            .map(|(&rule, &decision)| Decided { rule, decision })
            .collect();
        let verdict = decided.iter().fold(Verdict::Admit, |whole, d| worse(whole, d.decision.verdict));
        let mut outcome = Self { check, decided, verdict, ..Self::empty(in_force, executed.at) };
        outcome.binding = if verdict.is_admit() { outcome.tightest() } else { outcome.longest_wait() };
        outcome.delay = outcome.held().map(|(_, decision)| decision.delay).max().unwrap_or_default();
        outcome
    }

    /// The answer to a request that was settled before anything was counted.
    pub(crate) fn settle(in_force: Arc<InForce>, at: Timestamp, settled: Settled) -> Self {
        let verdict = match settled {
            Settled::Allowed(_) | Settled::Uncounted => Verdict::Admit,
            Settled::Lacks { .. } | Settled::Blocked(_) | Settled::BadCredentials => Verdict::Impossible,
        };
        Self { verdict, settled: Some(settled), ..Self::empty(in_force, at) }
    }

    /// The same outcome for a request with bad credentials: what the limits refuse stays refused for that.
    pub(crate) fn with_bad_credentials(self) -> Self {
        if !self.verdict.is_admit() {
            return self;
        }
        let settled = Some(Settled::BadCredentials);
        Self { verdict: Verdict::Impossible, delay: Duration::ZERO, settled, ..self }
    }

    fn empty(in_force: Arc<InForce>, at: Timestamp) -> Self {
        Self {
            in_force,
            at,
            verdict: Verdict::Admit,
            delay: Duration::ZERO,
            check: Check::new(),
            decided: SmallVec::new(),
            shadow: Vec::new(),
            binding: None,
            settled: None,
            store_error: None,
        }
    }

    /// The same outcome, decided without the store because of `error`.
    pub(crate) fn without_store(self, error: StoreError) -> Self {
        Self { store_error: Some(error), ..self }
    }

    pub(crate) fn add_shadow(&mut self, rule: usize, item: CheckItem, decision: Decision, at: Timestamp) {
        self.shadow.push((item, Decided { rule, decision }, at));
    }

    /// The decisions that an admitted request is held for.
    fn held(&self) -> impl Iterator<Item = (&CheckItem, &Decision)> {
        let holds = |d: &Decided| {
            let delays = self.policy().rule(d.rule).is_some_and(|rule| rule.action() == Action::Delay);
            delays && !d.decision.delay.is_zero()
        };
        let admitted = self.verdict.is_admit();
        self.check
            .items()
            .iter()
            .zip(&self.decided)
            .filter(move |(_, d)| admitted && holds(d))
            .map(|(i, d)| (i, &d.decision))
    }

    /// What a cancelled request may give back: each item with the instant at which its bucket would have been empty.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (&CheckItem, Timestamp)> {
        self.held().map(|(item, decision)| (item, self.at.after(decision.reset_after)))
    }

    /// What the rules were charged, those that only watch too; nothing of a request that was not admitted.
    pub(crate) fn charged(&self) -> impl Iterator<Item = Charged<'_>> {
        let enforced = self.check.items().iter().zip(&self.decided).map(|(item, d)| (item, d, self.at));
        let shadow = self.shadow.iter().map(|(item, decided, at)| (item, decided, *at));
        let admitted = self.verdict.is_admit();
        let all = enforced
            .chain(shadow)
            .filter(move |(item, decided, _)| admitted && item.cost > 0 && decided.decision.is_admitted());
        all.filter_map(|(item, decided, at)| {
            let rule = self.policy().rule(decided.rule)?;
            let charge = Charge { at, end: at.after(decided.decision.reset_after), cost: item.cost };
            Some(Charged { index: decided.rule, rule, item, charge })
        })
    }

    /// The policy that decided.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        self.in_force.policy()
    }

    /// What was in force for the request.
    #[must_use]
    pub const fn in_force(&self) -> &Arc<InForce> {
        &self.in_force
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
    pub fn decisions(&self) -> impl Iterator<Item = Ruling<'_>> + Clone {
        self.check.items().iter().zip(&self.decided).filter_map(|(item, decided)| self.ruling(item, decided))
    }

    /// Every decision of a rule with `action: shadow`; there are none where the request is not admitted.
    pub fn shadow_decisions(&self) -> impl Iterator<Item = Ruling<'_>> + Clone {
        self.shadow.iter().filter_map(|(item, decided, _)| self.ruling(item, decided))
    }

    /// Why the store could not decide, where it could not: the decisions are then those of rules with `on_store_error: local`,
    /// each on this node's share of its limit.
    #[must_use]
    pub const fn store_error(&self) -> Option<&StoreError> {
        self.store_error.as_ref()
    }

    /// What settled the request other than its limits, where something did.
    #[must_use]
    pub const fn settled(&self) -> Option<&Settled> {
        self.settled.as_ref()
    }

    /// The decision that binds: of a request that the limits have room for the one with the fewest such requests left, of
    /// another the one with the longest wait. `None` where no enforced rule applies or nothing was counted.
    #[must_use]
    pub fn binding(&self) -> Option<Ruling<'_>> {
        let index = self.binding?;
        self.ruling(self.check.items().get(index)?, self.decided.get(index)?)
    }

    /// The rule that refuses the request because it lacks what the rule counts by (`on_missing: deny`).
    #[must_use]
    pub fn lacks(&self) -> Option<&Rule> {
        match self.settled {
            Some(Settled::Lacks { rule }) => self.policy().rule(rule),
            _ => None,
        }
    }

    fn ruling<'a>(&'a self, item: &'a CheckItem, decided: &Decided) -> Option<Ruling<'a>> {
        let rule = self.policy().rule(decided.rule)?;
        Some(Ruling { rule, key: &item.key, limit: &item.limit, cost: item.cost, decision: decided.decision })
    }

    /// Of an admitted request: the rule that has room for the fewest more like it, then the one that takes longest to be
    /// whole, then the first.
    fn tightest(&self) -> Option<usize> {
        let order = |cost: u64, decision: &Decision| {
            let more = decision.remaining.checked_div(cost.max(1)).unwrap_or(0);
            (more, Reverse(decision.reset_after))
        };
        let decided = self.check.items().iter().zip(&self.decided).enumerate();
        decided.min_by_key(|(_, (item, d))| order(item.cost, &d.decision)).map(|(i, _)| i)
    }

    /// Of a denied request: the first rule that can never admit it, else the first with the longest wait.
    fn longest_wait(&self) -> Option<usize> {
        let order = |d: &Decided| match d.decision.verdict {
            Verdict::Impossible => (2, Duration::ZERO),
            Verdict::Deny { retry_after } => (1, retry_after),
            Verdict::Admit => (0, Duration::ZERO),
        };
        self.decided.iter().enumerate().min_by_key(|(_, d)| Reverse(order(d))).map(|(i, _)| i)
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
