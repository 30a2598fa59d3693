//! Checks whose keys lie in several slots of a cluster: no script reaches more than one.
//!
//! The parts are executed one after the other, the one that most likely denies first. When one denies, what the earlier ones
//! were charged is refunded, and the balances of all others are shown by a peek. So such a check may deny a little more than a single step
//! would for a moment, and never admits more: everything that passes was charged everywhere.

use core::pin::pin;
use core::time::Duration;
use std::sync::Arc;

use cupo_core::{Charge, Decision, Decisions, Executed, StoreError, Timestamp, Verdict};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::codec::{Adjustment, Line, Lines};
use crate::lane::Answer;
use crate::store::Inner;

/// The items of a check in one slot.
pub(crate) struct Part {
    pub(crate) slot: u16,
    pub(crate) lines: Lines,
    /// Where each stands in the check.
    pub(crate) places: Vec<usize>,
    answer: Option<Answer>,
}

/// Executes a check and answers by `reply` no later than `until`. What has to be given back is, also when the caller is gone.
pub(crate) async fn execute(
    inner: Arc<Inner>,
    lines: Lines,
    now: Timestamp,
    until: Instant,
    reply: oneshot::Sender<Result<Answer, StoreError>>,
) {
    let count = lines.len();
    let mut parts = split(lines);
    // Room for the fewest such requests is used up first; whatever is known of denials is in the cache of denials already.
    parts.sort_by_key(|part| part.lines.iter().map(room).min());
    let mut denied = None;
    for i in 0..parts.len() {
        let Some(part) = parts.get_mut(i) else { break };
        // Nobody wants the rest of it any more.
        let gone = reply.is_closed().then_some(StoreError::Timeout);
        let answer = match gone {
            Some(error) => Err(error),
            None => inner.ask(part.slot, part.lines.clone(), now, until).await,
        };
        match answer {
            Ok(answer) => {
                let admitted = answer.executed.is_admitted();
                part.answer = Some(answer);
                if !admitted {
                    denied = Some(i);
                    break;
                }
            }
            Err(error) => {
                // The caller need not wait until it is given back.
                let _ = reply.send(Err(error));
                refund(&inner, charged(parts.get(..i).unwrap_or_default()), now).await;
                return;
            }
        }
    }
    let mut refunds =
        pin!(refund(&inner, charged(parts.get(..denied.unwrap_or(0)).unwrap_or_default()), now));
    let is_given_back = timeout_at(until, &mut refunds).await.is_ok();
    if let (Some(denied), true) = (denied, is_given_back) {
        for (i, part) in parts.iter_mut().enumerate() {
            if i != denied
                && let Ok(answer) = inner.ask(part.slot, peek(&part.lines), now, until).await
            {
                part.answer = Some(answer);
            }
        }
    }
    let _ = reply.send(join(&parts, count).ok_or(StoreError::Unavailable));
    if !is_given_back {
        refunds.await;
    }
}

/// How many requests like this the limit can hold.
fn room(line: &Line) -> u64 {
    line.limit.quota().checked_div(line.cost.max(1)).unwrap_or(0)
}

pub(crate) fn split(lines: Lines) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (place, line) in lines.into_iter().enumerate() {
        let slot = line.name.slot;
        match parts.iter_mut().find(|part| part.slot == slot) {
            Some(part) => {
                part.lines.push(line);
                part.places.push(place);
            }
            None => {
                parts.push(Part { slot, lines: Lines::from_iter([line]), places: vec![place], answer: None });
            }
        }
    }
    parts
}

/// The same lines, which take nothing.
pub(crate) fn peek(lines: &Lines) -> Lines {
    lines.iter().map(|line| Line { cost: 0, ..line.clone() }).collect()
}

/// Charges with their lines, by slot.
type Charges = Vec<(u16, Vec<Adjustment>)>;

/// What `parts` were charged.
fn charged(parts: &[Part]) -> Charges {
    let of_part = |part: &Part| {
        let executed = &part.answer.as_ref()?.executed;
        let at = executed.at;
        let charges = part.lines.iter().enumerate().map(|(i, line)| {
            let reset_after = executed.decisions.get(i).map_or(Duration::ZERO, |d| d.reset_after);
            Adjustment::refund(line.clone(), Charge { at, end: at.after(reset_after), cost: line.cost })
        });
        Some((part.slot, charges.collect()))
    };
    parts.iter().filter_map(of_part).collect()
}

/// Gives charges back. A refund that fails leaves its part charged, which errs towards denial.
async fn refund(inner: &Inner, charges: Charges, now: Timestamp) {
    for (slot, charges) in charges {
        let _ = inner.adjust(slot, &charges, now).await;
    }
}

/// The decision of an item that does not deny and of which no more is known.
fn used_up(line: &Line) -> Decision {
    Decision {
        verdict: Verdict::Admit,
        limit: line.limit.quota(),
        remaining: 0,
        reset_after: line.limit.window(),
        delay: Duration::ZERO,
    }
}

/// The decisions in the order of the check.
fn join(parts: &[Part], count: usize) -> Option<Answer> {
    let answers = || parts.iter().filter_map(|part| part.answer.as_ref());
    let mut placed: Vec<(usize, Decision)> = Vec::with_capacity(count);
    for part in parts {
        // The check is denied, and an error here must not let it pass: what could not be asked is shown as used up.
        let unknown = || part.lines.iter().map(used_up).collect();
        let decisions: Decisions =
            part.answer.as_ref().map_or_else(unknown, |answer| answer.executed.decisions.clone());
        placed.extend(part.places.iter().copied().zip(decisions));
    }
    Some(Answer {
        executed: Executed { at: answers().map(|a| a.executed.at).max()?, decisions: join_places(placed) },
        sent: answers().map(|a| a.sent).min()?,
        received: answers().map(|a| a.received).max()?,
    })
}

/// Decisions in the order of their places.
pub(crate) fn join_places(mut placed: Vec<(usize, Decision)>) -> Decisions {
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, decision)| decision).collect()
}
