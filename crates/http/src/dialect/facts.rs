//! What there is to say of an outcome, in whole seconds.

use core::cmp::Reverse;
use core::time::Duration;

use cupo_core::{Decision, Outcome, Ruling, Verdict};

use crate::advice::Quota;
use crate::{retry_after, seconds};

pub(crate) struct Facts<'a> {
    pub(crate) outcome: &'a Outcome,
    pub(crate) binding: Ruling<'a>,
    /// `Retry-After` as it is written.
    wait: Option<u64>,
    /// Seconds that every wait is made longer by.
    jitter: u64,
}

impl<'a> Facts<'a> {
    /// `None` where no enforced rule applies.
    pub(crate) fn of(outcome: &'a Outcome, jitter: u64) -> Option<Self> {
        let wait = outcome.retry_after().map(|wait| retry_after::whole(wait, jitter));
        Some(Self { outcome, binding: outcome.binding()?, wait, jitter })
    }

    /// The seconds until a rule has more quota: on a denial its own wait, else the time until the limit is whole. `None`
    /// where that is later than `Retry-After` says, since a response must not contradict itself.
    pub(super) fn more_after(&self, decision: &Decision) -> Option<u64> {
        let whole = seconds::ceil(decision.reset_after);
        match (decision.verdict, self.wait) {
            // With the jitter, so that clients which go by this are spread like the others.
            (Verdict::Deny { retry_after: own }, Some(wait)) => {
                Some(retry_after::whole(own, self.jitter).min(wait))
            }
            (Verdict::Deny { retry_after: own }, None) => Some(seconds::ceil(own)),
            (_, Some(wait)) => Some(whole).filter(|t| *t <= wait),
            (_, None) => Some(whole),
        }
    }

    /// Whether `other` leaves less, or the same for longer. What does not say what is left is no comparison.
    pub(super) fn is_looser_than(&self, other: &Quota) -> bool {
        let own = &self.binding.decision;
        let seconds = |span| Reverse(seconds::ceil(span));
        other.remaining.is_some_and(|remaining| {
            let theirs = (remaining, seconds(other.reset_after.unwrap_or_default()));
            theirs < (seconds::cap_units(own.remaining), seconds(own.reset_after))
        })
    }

    /// When the whole limit of the binding rule is there again, in Unix seconds. Where there is a wait it is later by the jitter, as
    /// `Retry-After` is, and so never before that: clients which go by this are spread like the others.
    pub(super) fn whole_at(&self) -> u64 {
        let at = self.outcome.at();
        let whole = at.after(self.binding.decision.reset_after).as_secs_ceil();
        match (self.wait, self.jitter) {
            (Some(wait), jitter @ 1..) => {
                whole.saturating_add(jitter).max(at.after(Duration::from_secs(wait)).as_secs_ceil())
            }
            _ => whole,
        }
    }
}
