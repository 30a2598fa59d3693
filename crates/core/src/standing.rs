//! How a caller stands: every limit that could apply, with its balance. Nothing is taken.

use core::fmt;
use std::sync::Arc;

use crate::decision::Decision;
use crate::limit::Limit;
use crate::policy::{Applicable, Policy, Rule};
use crate::settled::Settled;
use crate::time::Timestamp;

/// How a caller stands with a policy: every enforced limit that could apply to requests of theirs.
#[derive(Debug, Clone)]
pub struct Standing {
    policy: Arc<Policy>,
    at: Timestamp,
    settled: Option<Settled>,
    places: Vec<Kept>,
    truncated: bool,
}

/// One limit, by its rule's index.
#[derive(Debug, Clone)]
struct Kept {
    rule: usize,
    endpoint: Option<Endpoint>,
    limit: Limit,
    /// As a peek shows it, and when that was.
    balance: Option<(Timestamp, Decision)>,
}

/// The requests that a limit counts, where it does not count all: shown as `POST /orders/{id}`, or without the method where
/// it is for every method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The method; `None` for every one.
    pub method: Option<Box<str>>,
    /// The path template; `None` for every path.
    pub template: Option<Box<str>>,
}

/// One limit of a caller's.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The requests that it counts here, where it does not count all.
    pub endpoint: Option<&'a Endpoint>,
    /// The limit that this caller has by it.
    pub limit: &'a Limit,
    /// The instant of the balance, by the clock that decides.
    pub at: Timestamp,
    /// The balance, as a peek shows it; `None` where every endpoint has a counter of its own and none was asked for.
    pub decision: Option<Decision>,
}

impl Standing {
    /// The answer to a caller whose requests pass uncounted.
    pub(crate) const fn settle(policy: Arc<Policy>, at: Timestamp, settled: Settled) -> Self {
        Self { policy, at, settled: Some(settled), places: Vec::new(), truncated: false }
    }

    /// What was found, and the balances of those places that have an item, in their order.
    pub(crate) fn new(
        policy: Arc<Policy>,
        at: Timestamp,
        found: Applicable,
        balances: Vec<(Timestamp, Decision)>,
    ) -> Self {
        let mut balances = balances.into_iter();
        let places = found.places.into_iter().map(|place| Kept {
            balance: place.item.and_then(|_| balances.next()),
            rule: place.rule,
            endpoint: place.endpoint,
            limit: place.limit,
        });
        Self { places: places.collect(), policy, at, settled: None, truncated: found.truncated }
    }

    /// What lets every request of this caller pass uncounted, if something does.
    #[must_use]
    pub const fn settled(&self) -> Option<&Settled> {
        self.settled.as_ref()
    }

    /// The limits, in the order of the policy.
    pub fn places(&self) -> impl Iterator<Item = Place<'_>> {
        self.places.iter().filter_map(|kept| {
            Some(Place {
                rule: self.policy.rule(kept.rule)?,
                endpoint: kept.endpoint.as_ref(),
                limit: &kept.limit,
                at: kept.balance.map_or(self.at, |(at, _)| at),
                decision: kept.balance.map(|(_, decision)| decision),
            })
        })
    }

    /// Whether there are more limits than are listed.
    #[must_use]
    pub const fn is_truncated(&self) -> bool {
        self.truncated
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.method, &self.template) {
            (Some(method), Some(template)) => write!(f, "{method} {template}"),
            (Some(only), None) | (None, Some(only)) => f.write_str(only),
            (None, None) => f.write_str("every request"),
        }
    }
}
