use core::time::Duration;

use super::{DisplayDuration, Rate, RateError, parse_duration};

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

#[test]
fn the_forms_of_the_handbook_parse() {
    let second = Duration::from_secs(1);
    for (text, count, period) in [
        ("100/minute", 100, second * 60),
        ("5 per 10s", 5, second * 10),
        ("5per10s", 5, second * 10),
        ("20/500ms", 20, Duration::from_millis(500)),
        ("1/day", 1, second * 86_400),
        (" 7 / 2 hours ", 7, second * 7_200),
        ("7\t/\t2\thours", 7, second * 7_200),
        ("3/S", 3, second),
        ("0/s", 0, second),
        ("9007199254740991/d", 9_007_199_254_740_991, second * 86_400),
    ] {
        assert_eq!(rate(text), Rate::new(count, period), "{text}");
    }
}

#[test]
fn what_is_not_a_rate_is_quoted_back_with_the_remedy() {
    for text in [
        "",
        " ",
        "/",
        "per",
        "100",
        "100 minute",
        "/minute",
        "-1/s",
        "+1/s",
        "1.5/s",
        "1,000/s",
        "1_000/s",
        "1e3/s",
        "ten/s",
        "9007199254740992/s",
        "99999999999999999999999/s",
        "1/0s",
        "1/-5s",
        "1/1.5s",
        "1/5",
        "1/",
        "1/fortnight",
        "1/µs",
        "1/s/s",
        "1/26001d",
        "1/99999999999999999999999d",
        "1//s",
        "1/10 10s",
        "١/s",
        "1/１s",
    ] {
        let error = text.parse::<Rate>().expect_err(text);
        let message = error.to_string();
        assert!(message.contains(&format!("`{text}`")), "{text:?} is quoted in: {message}");
        assert!(
            message.contains("write ") || message.contains("use ") || message.contains("add "),
            "the remedy is in: {message}"
        );
    }
}

#[test]
fn the_right_part_is_blamed() {
    assert!(matches!("x/s".parse::<Rate>(), Err(RateError::Count { .. })));
    assert!(matches!("1/0s".parse::<Rate>(), Err(RateError::Length { .. })));
    assert!(matches!("1/-1s".parse::<Rate>(), Err(RateError::Length { .. })));
    assert!(matches!("1/fortnight".parse::<Rate>(), Err(RateError::Unit { .. })));
    assert!(matches!("1/week".parse::<Rate>(), Err(RateError::Calendar { days: 7, calendar: "week", .. })));
    assert!(matches!("2 months".parse::<Rate>(), Err(RateError::NotARate { .. })));
    assert!(matches!("1/2 months".parse::<Rate>(), Err(RateError::Calendar { calendar: "month", .. })));
    assert!(matches!("1".parse::<Rate>(), Err(RateError::NotARate { .. })));
}

#[test]
fn a_bare_number_is_no_duration_and_a_bare_unit_only_a_period() {
    assert!(matches!(parse_duration("10"), Err(RateError::NoUnit { .. })));
    assert!(matches!(parse_duration("minute"), Err(RateError::Length { .. })));
    assert_eq!(parse_duration(" 1 M ").unwrap(), Duration::from_secs(60));
    assert_eq!(parse_duration("26000d").unwrap(), Duration::from_secs(26_000 * 86_400));
}

#[test]
fn durations_show_in_their_largest_whole_unit() {
    let shown = |micros| DisplayDuration(Duration::from_micros(micros)).to_string();
    assert_eq!(shown(0), "0s");
    assert_eq!(shown(1_500), "1500us");
    assert_eq!(shown(90_000_000), "90s");
    assert_eq!(shown(120_000_000), "2m");
    assert_eq!(shown(86_400_000_000), "1d");
}
