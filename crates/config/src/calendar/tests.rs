//! The edges against jiff's own arithmetic, in every time zone that there is, and the days that are known for trouble.

use jiff::civil::{Date, date};
use jiff::{Timestamp, ToSpan as _};

use super::{TimeZone, Unit, WEEKDAYS, calendar, zone, zone_names};

const SECOND: u64 = 1_000_000;
const HOUR: i64 = 3_600;

fn named(name: &str) -> TimeZone {
    zone(name).unwrap_or_else(|| panic!("{name}"))
}

/// The window of `unit` in `name` that a UTC instant lies in, as local times, and its length in seconds.
fn window(unit: Unit, name: &str, at: &str) -> (String, String, i64) {
    let zone = named(name);
    let at: Timestamp = at.parse().unwrap();
    let (start, end) = of(unit, &zone, at);
    let local = |at: Timestamp| zone.to_datetime(at).to_string();
    (local(start), local(end), end.as_second() - start.as_second())
}

fn of(unit: Unit, zone: &TimeZone, at: Timestamp) -> (Timestamp, Timestamp) {
    let calendar = calendar(unit, zone, WEEKDAYS[0]).unwrap();
    let (start, end) = calendar.window(u64::try_from(at.as_second()).unwrap() * SECOND);
    let instant = |micros: u64| Timestamp::from_second(i64::try_from(micros / SECOND).unwrap()).unwrap();
    (instant(start), instant(end))
}

fn is(unit: Unit, name: &str, at: &str, start: &str, end: &str, seconds: i64) {
    assert_eq!(window(unit, name, at), (start.to_owned(), end.to_owned(), seconds), "{name} {at}");
}

#[test]
fn days_have_as_many_hours_as_they_have() {
    let day = |name, at, start, end, hours| is(Unit::Day, name, at, start, end, hours * HOUR);
    day("UTC", "2026-03-29T12:00Z", "2026-03-29T00:00:00", "2026-03-30T00:00:00", 24);
    day("Europe/Madrid", "2026-03-29T12:00Z", "2026-03-29T00:00:00", "2026-03-30T00:00:00", 23);
    day("Europe/Madrid", "2026-10-25T12:00Z", "2026-10-25T00:00:00", "2026-10-26T00:00:00", 25);
    day("America/New_York", "2026-11-01T12:00Z", "2026-11-01T00:00:00", "2026-11-02T00:00:00", 25);
    // The clock went forward at midnight: the day began at one.
    day("America/Sao_Paulo", "2018-11-04T12:00Z", "2018-11-04T01:00:00", "2018-11-05T00:00:00", 23);
    day("America/Sao_Paulo", "2019-02-16T12:00Z", "2019-02-16T00:00:00", "2019-02-17T00:00:00", 25);
    day("Asia/Beirut", "2022-03-27T12:00Z", "2022-03-27T01:00:00", "2022-03-28T00:00:00", 23);
    day("Africa/Cairo", "2024-04-26T12:00Z", "2024-04-26T01:00:00", "2024-04-27T00:00:00", 23);
    // A day that never was, and one that came twice.
    day("Pacific/Apia", "2011-12-30T09:59Z", "2011-12-29T00:00:00", "2011-12-31T00:00:00", 24);
    day("Pacific/Apia", "2011-12-30T10:00Z", "2011-12-31T00:00:00", "2012-01-01T00:00:00", 24);
    // A minute after midnight the clock went back to the day before, and that day goes on.
    day("America/St_Johns", "2010-11-07T12:00Z", "2010-11-07T00:00:00", "2010-11-08T00:00:00", 25);
    is(
        Unit::Day,
        "Australia/Lord_Howe",
        "2026-04-05T00:00Z",
        "2026-04-05T00:00:00",
        "2026-04-06T00:00:00",
        24 * HOUR + HOUR / 2,
    );
    is(
        Unit::Day,
        "Australia/Lord_Howe",
        "2026-10-04T00:00Z",
        "2026-10-04T00:00:00",
        "2026-10-05T00:00:00",
        24 * HOUR - HOUR / 2,
    );
}

#[test]
fn hours_are_cut_and_stretched_only_where_the_clock_moves_by_less() {
    let hour = |name, at, start, end, minutes: i64| is(Unit::Hour, name, at, start, end, minutes * 60);
    hour("Asia/Kolkata", "2026-05-05T12:00Z", "2026-05-05T17:00:00", "2026-05-05T18:00:00", 60);
    hour("Asia/Kathmandu", "2026-05-05T12:00Z", "2026-05-05T17:00:00", "2026-05-05T18:00:00", 60);
    // Two o'clock is skipped; an hour that comes twice is two.
    hour("Europe/Madrid", "2026-03-29T00:30Z", "2026-03-29T01:00:00", "2026-03-29T03:00:00", 60);
    hour("Europe/Madrid", "2026-10-25T00:30Z", "2026-10-25T02:00:00", "2026-10-25T02:00:00", 60);
    hour("Europe/Madrid", "2026-10-25T01:30Z", "2026-10-25T02:00:00", "2026-10-25T03:00:00", 60);
    hour("Australia/Lord_Howe", "2026-10-03T15:30Z", "2026-10-04T02:30:00", "2026-10-04T03:00:00", 30);
    hour("Australia/Lord_Howe", "2026-04-04T14:45Z", "2026-04-05T01:00:00", "2026-04-05T02:00:00", 90);
}

#[test]
fn weeks_begin_on_monday_unless_said_otherwise_and_months_on_the_first() {
    is(Unit::Week, "UTC", "2026-11-30T05:00Z", "2026-11-30T00:00:00", "2026-12-07T00:00:00", 168 * HOUR);
    is(Unit::Week, "UTC", "1970-01-08T00:00Z", "1970-01-05T00:00:00", "1970-01-12T00:00:00", 168 * HOUR);
    is(
        Unit::Week,
        "Europe/Madrid",
        "2026-03-29T12:00Z",
        "2026-03-23T00:00:00",
        "2026-03-30T00:00:00",
        167 * HOUR,
    );
    is(Unit::Month, "UTC", "2024-02-29T23:59Z", "2024-02-01T00:00:00", "2024-03-01T00:00:00", 696 * HOUR);
    is(
        Unit::Month,
        "Europe/Madrid",
        "2026-10-01T00:00Z",
        "2026-10-01T00:00:00",
        "2026-11-01T00:00:00",
        745 * HOUR,
    );
    for (n, weekday) in (0_i64..).zip(WEEKDAYS) {
        let calendar = calendar(Unit::Week, &named("America/Bogota"), weekday).unwrap();
        // 2026-11-30 is a Monday, and so is day 20,787 of Unix time.
        let (start, end) = calendar.window(20_800 * 86_400 * SECOND);
        assert_eq!(end - start, 7 * 86_400 * SECOND);
        let start = Timestamp::from_second(i64::try_from(start / SECOND).unwrap()).unwrap();
        let local = named("America/Bogota").to_datetime(start);
        assert_eq!(
            (local.weekday().to_monday_zero_offset(), local.time().hour()),
            (i8::try_from(n).unwrap(), 0)
        );
    }
}

/// The first instant of a date by jiff: what it makes of midnight.
fn midnight(zone: &TimeZone, date: Date) -> Timestamp {
    date.to_zoned_datetime(zone.clone()).unwrap().timestamp()
}

/// In every zone, on days in 142 years, and on all days around each change of its clock.
#[test]
fn edges_are_those_of_jiff_in_every_zone() {
    let names = zone_names();
    assert!(names.len() > 400, "{}", names.len());
    let (mut days, mut odd) = (0, Vec::new());
    for name in &names {
        let zone = named(name);
        let changes =
            zone.following(Timestamp::UNIX_EPOCH).take_while(|c| c.timestamp().as_second() < 4_400_000_000);
        let around =
            changes.flat_map(|c| [-1, 0, 1].map(|day| zone.to_datetime(c.timestamp()).date() + day.days()));
        let monthly = (0..1_680).step_by(5).map(|n| {
            date(1970 + n / 12, i8::try_from(n % 12).unwrap() + 1, 1 + i8::try_from(n % 28).unwrap())
        });
        for day in around.chain(monthly).filter(|day| *day > date(1970, 1, 2)) {
            days += 1;
            let (from, until) = (midnight(&zone, day), midnight(&zone, day + 1.day()));
            // Only where the whole day was skipped there is no window.
            if from == until {
                continue;
            }
            if of(Unit::Day, &zone, from) != (from, until) {
                odd.push(format!("{name} {day}"));
            }
            let first = day.first_of_month();
            let (from, until) = (midnight(&zone, first), midnight(&zone, first + 1.month()));
            if first > date(1970, 1, 2) && of(Unit::Month, &zone, midnight(&zone, day)) != (from, until) {
                odd.push(format!("{name} month {day}"));
            }
        }
    }
    assert!(days > 200_000, "{days}");
    assert_eq!(odd, Vec::<String>::new());
}

/// Every hour's edge is one where the local clock shows a full hour or comes from before one, and no hour is without its edge.
#[test]
fn hours_begin_where_the_clock_reaches_or_skips_a_full_hour() {
    for name in
        ["Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "Africa/Monrovia", "Europe/Madrid"]
    {
        let zone = named(name);
        let local = |at: i64| at + i64::from(zone.to_offset(Timestamp::from_second(at).unwrap()).seconds());
        let calendar = calendar(Unit::Hour, &zone, WEEKDAYS[0]).unwrap();
        // Minutes around every change until 2040, and of a day; Monrovia's clock had odd seconds until 1972.
        let changes = zone.following(Timestamp::UNIX_EPOCH).map(|c| c.timestamp().as_second());
        for at in changes.take_while(|at| *at < 2_208_988_800).chain([1_000_000_000]) {
            for at in (at - 3 * HOUR)..=(at + 3 * HOUR) {
                let (now, before) = (local(at), local(at - 1));
                let begins = now.rem_euclid(HOUR) == 0
                    || (now > before + 1 && now.div_euclid(HOUR) > before.div_euclid(HOUR));
                let micros = u64::try_from(at).unwrap() * SECOND;
                assert_eq!(calendar.window(micros).0 == micros, begins, "{name} {at}");
            }
        }
    }
}

#[test]
fn a_calendar_is_made_once_and_reaches_the_end_of_time() {
    let madrid = named("europe/madrid");
    let [one, other] = [(); 2].map(|()| calendar(Unit::Month, &madrid, WEEKDAYS[0]).unwrap());
    assert!(core::ptr::eq(one, other));
    assert_eq!(one.name(), "month of Europe/Madrid");
    let last = cupo_core::number::MAX_INSTANT;
    for unit in Unit::ALL {
        let (start, end) = calendar(unit, &madrid, WEEKDAYS[0]).unwrap().window(last);
        assert!(start <= last && last < end && end - start <= 31 * 86_400 * SECOND, "{unit:?}");
    }
    assert!(zone("Europe/Atlantis").is_none() && zone("").is_none() && zone("Etc/Unknown").is_none());
}
