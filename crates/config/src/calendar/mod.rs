//! Calendars in time zones: from a unit and a name of the IANA time zone database to the edges that core counts by.
//!
//! The database is the one that was compiled in, so that all nodes of one version have the same windows, whatever the machine that
//! they run on knows of time zones.

mod edges;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use cupo_core::Calendar;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use parking_lot::Mutex;

/// A window of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    /// From one full hour of the local clock to the next.
    Hour,
    /// From midnight to midnight.
    Day,
    /// Seven days.
    Week,
    /// From the first of a month to the next.
    Month,
}

impl Unit {
    pub(crate) const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::Week, Self::Month];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// The days that a week may begin with; weeks of ISO 8601 begin with the first of them.
pub(crate) const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The time zone called `name`, in any letter case.
pub(crate) fn zone(name: &str) -> Option<TimeZone> {
    DATABASE.get(name).ok().filter(|zone| !zone.is_unknown() && zone.iana_name().is_some())
}

/// The names of all time zones.
pub(crate) fn zone_names() -> Vec<String> {
    DATABASE.available().map(|name| name.as_str().to_owned()).collect()
}

/// Every calendar that a policy has asked for. Limits are plain values, so what they refer to stays; and there are only so many
/// time zones, however often a policy is read.
static CALENDARS: Mutex<Vec<&'static Calendar>> = Mutex::new(Vec::new());

/// The calendar of `unit` in `zone`, whose weeks begin with `weekday` of [`WEEKDAYS`].
pub(crate) fn calendar(unit: Unit, zone: &TimeZone, weekday: &'static str) -> Option<&'static Calendar> {
    let mut name = format!("{} of {}", unit.name(), zone.iana_name()?);
    if unit == Unit::Week && weekday != WEEKDAYS[0] {
        name = format!("{name} from {weekday}");
    }
    if let Some(known) = CALENDARS.lock().iter().find(|known| known.name() == name) {
        return Some(known);
    }
    let first_day = WEEKDAYS.iter().position(|day| *day == weekday).and_then(|day| i64::try_from(day).ok());
    let edges = edges::edges(unit, zone, first_day.unwrap_or(0));
    // Edges that ascend to the end of the domain are always a calendar.
    let made: &'static Calendar = Box::leak(Box::new(Calendar::from_edges(&name, edges).ok()?));
    CALENDARS.lock().push(made);
    Some(made)
}
