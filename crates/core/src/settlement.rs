//! What requests cost in the end: charges that are corrected once that is known.

use std::sync::Arc;

use crate::algorithm::{Change, Charge, State};
use crate::key::Key;
use crate::limit::Limit;
use crate::outcome::{Charged, Outcome};
use crate::policy::{ChargeSource, CostSource, Policy, Rule, whole_units};
use crate::response::ResponseAttributes;
use crate::time::Timestamp;

/// A charge, and what the request cost in the end: plain data for a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// What it was counted under.
    pub key: Key,
    /// The limit that it was charged to.
    pub limit: Limit,
    /// The charge, of which `cost` units were taken.
    pub charge: Charge<Timestamp>,
    /// Units that the request cost.
    pub actual: u64,
}

impl Settlement {
    /// What is to be given back, if anything is.
    #[must_use]
    pub const fn refund(&self) -> Option<Charge<Timestamp>> {
        match self.charge.cost.checked_sub(self.actual) {
            None | Some(0) => None,
            Some(cost) => Some(Charge { cost, ..self.charge }),
        }
    }

    /// Units that are to be charged beyond those that were.
    #[must_use]
    pub const fn extra(&self) -> u64 {
        self.actual.saturating_sub(self.charge.cost)
    }
}

impl Limit {
    /// Settles a charge of which `actual` units stay, at `now`: what was charged beyond them is [refunded](Self::refund); what is
    /// lacking is charged now, as far as there is room. The change, and the units that found no room: they are no debt, and
    /// nobody pays them.
    #[must_use]
    pub fn settle(
        &self,
        state: Option<&State>,
        now: Timestamp,
        charge: Charge<Timestamp>,
        actual: u64,
    ) -> (Change, u64) {
        let tick = |at| self.resolution().tick(at);
        let charge = Charge { at: tick(charge.at), end: tick(charge.end), cost: charge.cost };
        self.params().settle(state, tick(now), charge, actual)
    }
}

/// What has to be settled of an outcome: made by it, carried out by [`Engine::settle`](crate::Engine::settle).
#[derive(Debug, Clone)]
pub struct Settling {
    policy: Arc<Policy>,
    /// Whether this node decided by itself.
    is_local: bool,
    /// The rule of each settlement, by index.
    rules: Vec<usize>,
    settlements: Vec<Settlement>,
    /// The rules that were to learn a cost and did not, by index.
    unknown: Vec<usize>,
}

/// What is known of a request once it was served.
enum Found<'a, R: ?Sized> {
    /// The response.
    Response(&'a R),
    /// So many units, for the rules whose cost was open.
    Units(u64),
    /// It was never served: the rules that wait for a response get everything back.
    NotServed,
    /// It was never made: every rule gets everything back.
    Nothing,
}

impl Outcome {
    /// Whether a rule that was charged waits for the response: for what it cost, or for its status.
    #[must_use]
    pub fn awaits_response(&self) -> bool {
        self.policy().awaits_responses() && self.charged().any(|charged| charged.rule.awaits_response())
    }

    /// What the response settles: each rule that waits for one is charged what it says. A response that does not say what the
    /// request cost leaves the reservation charged.
    pub fn settled_by<R: ResponseAttributes + ?Sized>(&self, response: &R) -> Settling {
        self.settling(&Found::Response(response))
    }

    /// What is to be settled where the request cost `actual` units: the rules whose cost was open
    /// ([`CostSource::Response`]) are charged so many; the others keep what they were charged.
    #[must_use]
    pub fn settled_at(&self, actual: u64) -> Settling {
        self.settling::<NoResponse>(&Found::Units(actual))
    }

    /// What is to be settled where the request was certainly never served: the rules that wait for a response give back what
    /// they reserved.
    #[must_use]
    pub fn not_served(&self) -> Settling {
        self.settling::<NoResponse>(&Found::NotServed)
    }

    /// Gives back all that the request was charged, by every rule.
    #[must_use]
    pub fn undone(&self) -> Settling {
        self.settling::<NoResponse>(&Found::Nothing)
    }

    fn settling<R: ResponseAttributes + ?Sized>(&self, found: &Found<'_, R>) -> Settling {
        let mut settling = Settling {
            policy: Arc::clone(self.policy()),
            is_local: self.store_error().is_some(),
            rules: Vec::new(),
            settlements: Vec::new(),
            unknown: Vec::new(),
        };
        if !self.policy().awaits_responses() && !matches!(found, Found::Nothing) {
            return settling;
        }
        for Charged { index, rule, item, charge } in self.charged() {
            let reserved = charge.cost;
            let actual = match found {
                Found::Nothing => 0,
                Found::NotServed if rule.awaits_response() => 0,
                Found::Units(units) if rule.cost_source().is_open() => *units,
                Found::NotServed | Found::Units(_) => reserved,
                Found::Response(response) => rule.actual(*response, reserved).unwrap_or_else(|| {
                    settling.unknown.push(index);
                    reserved
                }),
            };
            if actual != reserved {
                settling.rules.push(index);
                let (key, limit) = (item.key.clone(), item.limit);
                settling.settlements.push(Settlement { key, limit, charge, actual });
            }
        }
        settling
    }
}

/// Says nothing.
struct NoResponse;

impl ResponseAttributes for NoResponse {}

impl Settling {
    /// Whether nothing is left to do: all that was charged stays charged.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.settlements.is_empty() && self.unknown.is_empty()
    }

    /// The settlements.
    #[must_use]
    pub fn settlements(&self) -> &[Settlement] {
        &self.settlements
    }

    /// The rules that were to learn from the response what the request cost, and did not: the reservation stands.
    pub fn unknown(&self) -> impl Iterator<Item = &Rule> {
        self.unknown.iter().filter_map(|&index| self.policy.rule(index))
    }

    pub(crate) const fn is_local(&self) -> bool {
        self.is_local
    }

    /// The rule of each settlement.
    pub(crate) fn rules(&self) -> impl Iterator<Item = Option<&Rule>> {
        self.rules.iter().map(|&index| self.policy.rule(index))
    }
}

impl Rule {
    /// Whether it is charged for good only when the response is there.
    #[must_use]
    pub const fn awaits_response(&self) -> bool {
        self.cost_source().is_open() || matches!(self.charge_source(), ChargeSource::OnResponse(_))
    }

    /// What the response says that the request cost, of which `reserved` units were charged; `None` where it was to say that and
    /// does not.
    fn actual<R: ResponseAttributes + ?Sized>(&self, response: &R, reserved: u64) -> Option<u64> {
        if let ChargeSource::OnResponse(statuses) = self.charge_source()
            && !response.status().is_some_and(|status| statuses.contains(status))
        {
            // Of a response without a status nobody knows which it is.
            return if response.status().is_some() { Some(0) } else { None };
        }
        match self.cost_source() {
            CostSource::Response { header, .. } => whole_units(&response.header(header)?),
            _ => Some(reserved),
        }
    }
}
