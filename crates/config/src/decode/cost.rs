//! What a request costs, and when that is charged.

use core::ops::RangeInclusive;

use cupo_core::{ChargeSource, CostSource, Statuses, is_token};

use super::scalar::MAX;
use super::value::{Map, Value};
use crate::problem::{Expected, Problem};
use crate::tree::Content;

/// A number, or the fields that say where it is said.
pub(super) fn cost(value: &Value<'_>) -> Option<CostSource> {
    match value.content() {
        Content::Map(_) => {}
        Content::List(_) | Content::Nothing => return value.wrong_type(Expected::Cost),
        _ => return value.integer(0, MAX).map(CostSource::Fixed),
    }
    let map = value.map(&["header", "reserve", "max", "default", "body"])?;
    if let Some(body) = map.get("body") {
        alone(&map, "body", &["header", "reserve"])?;
        idle(&map, "default", "header")?;
        let unit = body.size(1, MAX);
        let max = map.need("max", "max: 100").and_then(|value| value.integer(0, MAX));
        return Some(CostSource::Body { unit: unit?, max: max? });
    }
    let header = map.need("header", "header: x-cost").and_then(|value| header(&value));
    if let Some(reserve) = map.get("reserve") {
        alone(&map, "reserve", &["max", "default"])?;
        let reserve = reserve.integer(0, MAX);
        return Some(CostSource::Response { header: header?, reserve: reserve? });
    }
    let Some(max) = map.get("max") else { return value.fault(Problem::CostUnbounded) };
    let max = max.integer(0, MAX);
    let default = map.or("default", max, |value| value.integer(0, MAX).map(Some));
    let (max, default) = (max?, default?);
    Some(CostSource::Request { header: header?, max, default: default? })
}

/// Reports the first field that cannot be said beside `one`.
fn alone(map: &Map<'_>, one: &'static str, others: &[&'static str]) -> Option<()> {
    match others.iter().find(|other| map.get(other).is_some()) {
        None => Some(()),
        Some(other) => {
            map.fault_at(other, Problem::Conflict { one, other });
            None
        }
    }
}

fn idle(map: &Map<'_>, field: &'static str, without: &'static str) -> Option<()> {
    if map.get(field).is_none() {
        return Some(());
    }
    map.fault_at(field, Problem::Idle { field, without });
    None
}

/// The name of a header, in lower case.
fn header(value: &Value<'_>) -> Option<String> {
    let text = value.text()?;
    if text.is_empty() || !text.bytes().all(is_token) {
        return value.fault(Problem::CostHeader(text.into()));
    }
    Some(text.to_ascii_lowercase())
}

/// When a cost is charged for good.
pub(super) fn charge(value: &Value<'_>) -> Option<ChargeSource> {
    let map = value.map(&["on", "when"])?;
    let on = map
        .need("on", "on: response")
        .and_then(|value| value.word("a moment to charge", &[On::Request, On::Response], On::name));
    match on? {
        On::Request => {
            idle(&map, "when", "on: response")?;
            Some(ChargeSource::OnRequest)
        }
        On::Response => {
            let when = map.need("when", "when: { status: [401, 403] }")?;
            let status = when.map(&["status"])?.need("status", "status: [401, 403]")?;
            Some(ChargeSource::OnResponse(statuses(&status)?))
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum On {
    Request,
    Response,
}

impl On {
    const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

/// One status or class, or a list of them.
fn statuses(value: &Value<'_>) -> Option<Statuses> {
    let items = match value.content() {
        Content::List(_) => value.list()?,
        _ => vec![value.clone()],
    };
    let ranges: Vec<Option<RangeInclusive<u16>>> = items.iter().map(status).collect();
    ranges.into_iter().collect()
}

fn status(value: &Value<'_>) -> Option<RangeInclusive<u16>> {
    let text = value.text()?;
    let class = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"));
    let range = match class {
        Some(class) => class.parse().ok().filter(|_| class.len() == 1).and_then(|class: u16| {
            let first = class.checked_mul(100)?;
            Some(first..=first.checked_add(99)?)
        }),
        None => text.parse().ok().filter(|_| text.len() == 3).map(|status: u16| status..=status),
    };
    let known = range.filter(|range| *range.start() >= 100 && *range.end() <= 599);
    known.or_else(|| value.fault(Problem::Status(text.into())))
}
