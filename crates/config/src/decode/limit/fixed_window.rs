//! A fixed window: aligned to the Unix epoch, from the first request, or of a calendar.

use cupo_core::Limit;

use super::{counted, made};
use crate::calendar::{Unit, WEEKDAYS, calendar, zone, zone_names};
use crate::decode::scalar::MAX;
use crate::decode::value::{Map, Value};
use crate::problem::Problem;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Epoch,
    FirstRequest,
}

impl Anchor {
    const ALL: [Self; 2] = [Self::Epoch, Self::FirstRequest];

    const fn name(self) -> &'static str {
        match self {
            Self::Epoch => "epoch",
            Self::FirstRequest => "first_request",
        }
    }
}

pub(super) fn fixed_window(map: &Map<'_>) -> Option<Limit> {
    map.allow(&[
        "algorithm",
        "count",
        "window",
        "rate",
        "burst",
        "anchor",
        "calendar",
        "time_zone",
        "week_starts",
    ]);
    if let Some(unit) = map.get("calendar") {
        return by_calendar(map, &unit);
    }
    for field in ["time_zone", "week_starts"] {
        if let Some(value) = map.get(field) {
            return value.fault(Problem::Idle { field, without: "calendar" });
        }
    }
    let anchor =
        map.or("anchor", Anchor::Epoch, |value| value.word("an anchor", &Anchor::ALL, Anchor::name))?;
    match anchor {
        Anchor::Epoch => counted(map, Limit::fixed_window),
        Anchor::FirstRequest => counted(map, Limit::fixed_window_from_first),
    }
}

/// `count` in each window of a calendar.
fn by_calendar(map: &Map<'_>, unit: &Value<'_>) -> Option<Limit> {
    for other in ["window", "rate", "anchor"] {
        if map.get(other).is_some() {
            return unit.fault(Problem::Conflict { one: "calendar", other });
        }
    }
    let unit = unit.word("a window of the calendar", &Unit::ALL, Unit::name);
    let count = map.need("count", "count: 100").and_then(|value| value.integer(0, MAX));
    let burst = map.or("burst", 0, |value| value.integer(0, MAX));
    let zone = map.or("time_zone", zone("UTC"), |value| {
        let name = value.text()?;
        let found = zone(name);
        found.map_or_else(
            || value.fault(Problem::TimeZone { name: name.into(), all: zone_names() }),
            |z| Some(Some(z)),
        )
    });
    let weekday = map.or("week_starts", WEEKDAYS[0], |value| {
        if unit.is_some_and(|unit| unit != Unit::Week) {
            return value.fault(Problem::Idle { field: "week_starts", without: "calendar: week" });
        }
        value.word("a day of the week", &WEEKDAYS, |day| day)
    });
    let calendar = calendar(unit?, &zone??, weekday?)?;
    let (count, burst) = (count?, burst?);
    made(map.value(), Limit::fixed_window_of(count, calendar).and_then(|limit| limit.with_burst(burst)))
}
