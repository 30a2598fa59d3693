//! What has to hold of a rule's cost, whatever its limit.

use super::super::limits::Limits;
use super::super::{ChargeSource, CostSource, OnStoreError, Problem, RuleSource};
use super::{Errors, is_header_name};

pub(super) fn check(index: usize, rule: &RuleSource, limits: Option<&Limits>, errors: &mut Errors) {
    let mut add = |field: &str, problem| errors.add(&format!("rules[{index}].{field}"), problem);
    let (header, units) = match &rule.cost {
        CostSource::Fixed(units) => (None, *units),
        CostSource::Response { header, reserve } => {
            if *reserve == 0 {
                add("cost.reserve", Problem::ZeroReserve);
            }
            // Not told twice.
            (Some(header), 1)
        }
        CostSource::Request { header, max, default } => {
            if *default == 0 && *max > 0 {
                add("cost.default", Problem::ZeroCost);
            } else if default > max {
                add("cost.default", Problem::DefaultAboveMax { default: *default, max: *max });
            }
            (Some(header), *max)
        }
        CostSource::Body { unit, max } => {
            if *unit == 0 {
                add("cost.body", Problem::ZeroUnit);
            }
            (None, *max)
        }
    };
    if units == 0 {
        add(most_at(&rule.cost), Problem::ZeroCost);
    }
    if let Some(header) = header.filter(|header| !is_header_name(header)) {
        add("cost.header", Problem::HeaderName(header.clone()));
    }
    if let ChargeSource::OnResponse(statuses) = &rule.charge {
        if statuses.ranges().len() == 0 {
            add("charge.when.status", Problem::NoStatuses);
        }
        for range in statuses.ranges() {
            let (from, to) = (*range.start(), *range.end());
            if from < 100 || to > 599 || from > to {
                add("charge.when.status", Problem::Status { from, to });
            }
        }
    }
    if let (OnStoreError::Local, Some(limits)) = (rule.on_store_error, limits) {
        let cost = rule.cost.most();
        let all = limits.cells.iter().flatten();
        // What never fits the limit itself has been told.
        let share =
            all.filter(|numbers| cost <= numbers.limit.quota()).map(|numbers| numbers.share.quota()).min();
        if let Some(share) = share.filter(|share| cost > *share) {
            add(most_at(&rule.cost), Problem::CostAboveShare { cost, share });
        }
    }
}

/// The field that says the most units of a request.
pub(super) const fn most_at(cost: &CostSource) -> &'static str {
    match cost {
        CostSource::Fixed(_) => "cost",
        CostSource::Response { .. } => "cost.reserve",
        CostSource::Request { .. } | CostSource::Body { .. } => "cost.max",
    }
}

/// The field that makes a rule wait for the response.
pub(super) const fn awaited_at(rule: &RuleSource) -> &'static str {
    match rule.charge {
        ChargeSource::OnResponse(_) => "charge",
        ChargeSource::OnRequest => "cost",
    }
}
