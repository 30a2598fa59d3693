//! The laws that hold for every algorithm, as functions: each tries a history on fresh subjects of one limit and says
//! where the law is broken. They run against the pure algorithms and against stores alike.

use core::fmt;

use cupo_core::{Decision, Limit, Verdict};

use crate::bound;
use crate::subject::{Make, Subject};
use crate::walk::{Step, forwards};

/// A law, and how it was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The law's number.
    pub law: u8,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "law {} is broken: {}", self.law, self.seen)
    }
}

/// A law: a limit, fresh subjects of it, and a history.
pub type Law = fn(&Limit, Make<'_>, &[Step]) -> Result<(), Broken>;

/// Every law with its number and name.
pub const ALL: [(u8, &str, Law); 9] = [
    (1, "a_denial_changes_nothing", a_denial_changes_nothing),
    (2, "retry_after_is_exact", retry_after_is_exact),
    (3, "impossible_is_not_deny", impossible_is_not_deny),
    (4, "remaining_is_the_real_balance", remaining_is_the_real_balance),
    (5, "expiry_is_unobservable", expiry_is_unobservable),
    (6, "a_peek_changes_nothing", a_peek_changes_nothing),
    (7, "a_clock_that_steps_back_grants_nothing", a_clock_that_steps_back_grants_nothing),
    (8, "admissions_stay_within_the_bound", admissions_stay_within_the_bound),
    (9, "limit_zero_blocks_everything", limit_zero_blocks_everything),
];

macro_rules! hold {
    ($law:literal, $condition:expr, $($seen:tt)+) => {
        if !$condition {
            return Err(Broken { law: $law, seen: format!($($seen)+) });
        }
    };
}

/// A fresh subject that has been asked all of `steps`.
fn after<'a>(make: Make<'a>, steps: &[Step]) -> Box<dyn Subject + 'a> {
    let mut subject = make();
    for step in steps {
        subject.ask(step.now, step.cost);
    }
    subject
}

/// Law 1: a denial changes nothing and consumes nothing. A subject that is asked only what was admitted answers the
/// same, and so does a peek after a denial.
pub fn a_denial_changes_nothing(_: &Limit, make: Make<'_>, steps: &[Step]) -> Result<(), Broken> {
    let (mut all, mut admitted) = (make(), make());
    for step in steps {
        let decision = all.ask(step.now, step.cost);
        if decision.is_admitted() {
            let other = admitted.ask(step.now, step.cost);
            hold!(1, decision == other, "{step:?}: {decision:?}, without the denials {other:?}");
        }
        let (peek, other) = (all.ask(step.now, 0), admitted.ask(step.now, 0));
        hold!(1, peek == other, "after {step:?} {decision:?}: {peek:?}, without the denials {other:?}");
        let made = all.is_absent() == Some(false) && admitted.is_absent() == Some(true);
        hold!(1, !made, "after {step:?}: a denial created a key");
    }
    Ok(())
}

/// Law 2: wait exactly `retry_after` and be admitted; one tick less, or anything shorter, and be denied. Never zero.
/// The clock of this law runs forwards: a wait is measured on the key's clock.
pub fn retry_after_is_exact(_: &Limit, make: Make<'_>, steps: &[Step]) -> Result<(), Broken> {
    let steps = forwards(steps);
    let mut subject = make();
    for (i, step) in steps.iter().enumerate() {
        let Verdict::Deny { retry_after } = subject.ask(step.now, step.cost).verdict else { continue };
        hold!(2, retry_after > 0, "{step:?}: denied with a wait of zero");
        let mut probe = after(make, &steps[..=i]);
        for wait in [0, 1, retry_after / 2, retry_after - 1] {
            if wait < retry_after {
                let early = probe.ask(step.now + wait, step.cost);
                let rest = retry_after - wait;
                hold!(
                    2,
                    early.verdict == Verdict::Deny { retry_after: rest },
                    "{step:?}: told to wait {retry_after}, after {wait} {early:?}"
                );
            }
        }
        let late = probe.ask(step.now + retry_after, step.cost);
        hold!(2, late.is_admitted(), "{step:?}: waited {retry_after} as told, then {late:?}");
    }
    Ok(())
}

/// Law 3: a cost is impossible exactly if it is above the quota, now and for ever.
pub fn impossible_is_not_deny(limit: &Limit, make: Make<'_>, steps: &[Step]) -> Result<(), Broken> {
    let mut subject = make();
    let idle = bound::longest_wait(limit.params());
    let mut latest = 0;
    for step in steps {
        latest = step.now.max(latest);
        let verdict = subject.ask(step.now, step.cost).verdict;
        let impossible = verdict == Verdict::Impossible;
        hold!(3, impossible == (step.cost > limit.quota()), "{step:?}: {verdict:?}");
    }
    for cost in [limit.quota() + 1, u64::MAX] {
        let verdict = subject.ask(latest + idle, cost).verdict;
        hold!(3, verdict == Verdict::Impossible, "{cost} units when all is free: {verdict:?}");
    }
    Ok(())
}

/// Law 4: `remaining` is in `[0, limit]` and real, also on a denial: so much is admitted at once, one more is not.
pub fn remaining_is_the_real_balance(limit: &Limit, make: Make<'_>, steps: &[Step]) -> Result<(), Broken> {
    let mut subject = make();
    for (i, step) in steps.iter().enumerate() {
        let decision = subject.ask(step.now, step.cost);
        hold!(4, decision.limit == limit.quota(), "{step:?}: {decision:?} of {}", limit.quota());
        hold!(4, decision.remaining <= decision.limit, "{step:?}: {decision:?}");
        let mut probe = after(make, &steps[..=i]);
        let more = probe.ask(step.now, decision.remaining + 1);
        hold!(4, !more.is_admitted(), "{step:?}: {decision:?}, but one more gave {more:?}");
        let rest = probe.ask(step.now, decision.remaining);
        hold!(4, rest.is_admitted(), "{step:?}: {decision:?}, but asking for it gave {rest:?}");
        let clock = forwards(&steps[..=i])[i].now;
        let mut whole = after(make, &steps[..=i]);
        if decision.reset_after > 0 {
            let early = whole.ask(clock + decision.reset_after - 1, 0).remaining;
            // The clock of the key may lag behind the latest that was shown: only then is it not exact.
            hold!(4, early < limit.quota() || clock > step.now, "{step:?}: {decision:?} but whole before");
        }
        let back = whole.ask(clock + decision.reset_after, limit.quota());
        hold!(4, back.is_admitted(), "{step:?}: {decision:?}, but after the reset {back:?}");
    }
    Ok(())
}

/// Law 5: expiry is unobservable. A subject that forgets what has expired before every request answers the same.
pub fn expiry_is_unobservable(_: &Limit, make: Make<'_>, steps: &[Step]) -> Result<(), Broken> {
    let (mut keeps, mut forgets) = (make(), make());
    for step in forwards(steps) {
        forgets.forget_expired(step.now);
        let (kept, forgot) = (keeps.ask(step.now, step.cost), forgets.ask(step.now, step.cost));
        hold!(5, kept == forgot, "{step:?}: {kept:?}, but {forgot:?} where expired states are forgotten");
    }
    Ok(())
}

/// Law 6: a peek changes nothing and creates no key; peek then check agree.
pub fn a_peek_changes_nothing(_: &Limit, make: Make<'_>, steps: &[Step]) -> Result<(), Broken> {
    let (mut quiet, mut peeked) = (make(), make());
    for step in steps {
        let absent = peeked.is_absent();
        let peek = peeked.ask(step.now, 0);
        hold!(6, peek.is_admitted() && peek.delay == 0, "{step:?}: a peek said {peek:?}");
        let created = absent == Some(true) && peeked.is_absent() == Some(false);
        hold!(6, !created, "{step:?}: a peek created a key");
        let (decision, other) = (quiet.ask(step.now, step.cost), peeked.ask(step.now, step.cost));
        hold!(6, decision == other, "{step:?}: {decision:?}, but {other:?} after a peek");
        let room = step.cost <= peek.remaining;
        hold!(6, decision.is_admitted() == room, "{step:?}: {peek:?}, then {decision:?}");
        if decision.is_admitted() {
            let left = peek.remaining - step.cost;
            hold!(6, decision.remaining == left, "{step:?}: {peek:?}, then {decision:?}");
        }
    }
    Ok(())
}

/// Law 7: a clock that steps back grants nothing extra and locks nobody out longer than the ordinary wait. What is
/// admitted at the earlier instant would be at the latest one; no wait is longer than the limit's longest, and it is
/// enough once the clock has caught up.
pub fn a_clock_that_steps_back_grants_nothing(
    limit: &Limit,
    make: Make<'_>,
    steps: &[Step],
) -> Result<(), Broken> {
    let mut subject = make();
    let longest = bound::longest_wait(limit.params());
    let mut latest = 0;
    for (i, step) in steps.iter().enumerate() {
        let decision = subject.ask(step.now, step.cost);
        latest = step.now.max(latest);
        if latest > step.now {
            let there = after(make, &steps[..i]).ask(latest, step.cost);
            let extra = decision.is_admitted() && !there.is_admitted();
            hold!(7, !extra, "{step:?}: {decision:?}, but at {latest} {there:?}");
            let more = decision.remaining > there.remaining && decision.is_admitted() == there.is_admitted();
            hold!(7, !more, "{step:?}: {decision:?}, but at {latest} {there:?}");
        }
        let wait = decision.retry_after().unwrap_or(0);
        hold!(7, wait.max(decision.reset_after) <= longest, "{step:?}: {decision:?}, ordinary {longest}");
        if wait > 0 {
            let then = after(make, &steps[..=i]).ask(latest + wait, step.cost);
            hold!(7, then.is_admitted(), "{step:?}: {decision:?}, waited from {latest}, then {then:?}");
        }
    }
    Ok(())
}

/// Law 8: what is admitted in any interval stays within the algorithm's stated bound (see [`bound`]), on the key's own
/// clock: that of the latest admission.
pub fn admissions_stay_within_the_bound(limit: &Limit, make: Make<'_>, steps: &[Step]) -> Result<(), Broken> {
    let mut subject = make();
    let mut clock = 0;
    let mut admitted: Vec<(u64, Step, Decision<u64>)> = Vec::new();
    for step in steps {
        let decision = subject.ask(step.now, step.cost);
        if decision.is_admitted() && step.cost > 0 {
            clock = step.now.max(clock);
            admitted.push((clock, *step, decision));
        }
    }
    within_bound(limit, &admitted)
}

/// Whether admissions, each with the instant of the key's clock, keep within the bound in every interval.
fn within_bound(limit: &Limit, admitted: &[(u64, Step, Decision<u64>)]) -> Result<(), Broken> {
    let params = limit.params();
    for (i, (from, ..)) in admitted.iter().enumerate() {
        let (mut units, mut in_window) = (0, 0);
        for (to, step, _) in &admitted[i..] {
            units += i128::from(step.cost);
            let most = bound::units_within(params, to - from);
            hold!(8, units <= most, "{units} units from {from} to {to}, at most {most} are allowed");
            if let (Some((most, window)), Some((_, other))) =
                (bound::units_of_window(params, *from), bound::units_of_window(params, *to))
                && window == other
            {
                in_window += i128::from(step.cost);
                hold!(8, in_window <= most, "{in_window} units in the window of {from} and {to}");
            }
        }
    }
    let mut releases: Vec<u64> = admitted.iter().map(|(at, _, decision)| at + decision.delay).collect();
    hold!(8, releases.is_sorted(), "released out of order: {releases:?}");
    releases.sort_unstable();
    for (i, from) in releases.iter().enumerate() {
        for (requests, to) in (1..).zip(&releases[i..]) {
            let fit = bound::releases_fit(params, requests, to - from);
            hold!(8, fit, "{requests} requests released from {from} to {to}");
        }
    }
    Ok(())
}

/// Law 9: limit 0 blocks everything. Says nothing of limits that hold anything.
pub fn limit_zero_blocks_everything(limit: &Limit, make: Make<'_>, steps: &[Step]) -> Result<(), Broken> {
    if limit.quota() > 0 {
        return Ok(());
    }
    let mut subject = make();
    for step in steps {
        let decision = subject.ask(step.now, step.cost);
        let blocked = step.cost == 0 || decision.verdict == Verdict::Impossible;
        hold!(9, blocked && decision.remaining == 0 && decision.limit == 0, "{step:?}: {decision:?}");
        hold!(9, subject.is_absent() != Some(false), "{step:?}: something is kept");
    }
    Ok(())
}
