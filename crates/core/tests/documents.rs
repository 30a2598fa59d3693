//! The documents of the algorithms say what the code does: their worked examples are asked again, number by number.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use core::time::Duration;
use std::fmt::Write as _;
use std::path::Path;

use cupo_core::{Algorithm, Limit, LimitError, Rate, Resolution, State, Timestamp, Verdict};

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The limits of the worked examples, as a policy writes them; of each algorithm first the one that its two tables show.
fn limits() -> [(&'static str, Limit); 6] {
    let (window, rate) = (Duration::from_secs(10), Rate::new(2, Duration::from_secs(1)));
    [
        ("{ algorithm: fixed_window, count: 5, window: 10s }", Limit::fixed_window(5, window).unwrap()),
        (
            "{ algorithm: sliding_window_log, count: 5, window: 10s }",
            Limit::sliding_window_log(5, window).unwrap(),
        ),
        ("5/10s", Limit::sliding_window_counter(5, window).unwrap()),
        ("{ algorithm: token_bucket, capacity: 5, refill: 2/second }", Limit::token_bucket(5, rate).unwrap()),
        ("{ algorithm: leaky_bucket, rate: 2/second, queue: 3 }", Limit::leaky_bucket(rate, 3).unwrap()),
        (
            "{ algorithm: fixed_window, rate: 5/10s, anchor: first_request }",
            Limit::fixed_window_from_first(5, window).unwrap(),
        ),
    ]
}

/// Microseconds as the documents write them: `2.5 s`.
fn seconds(micros: u128) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    let fraction = format!("{rest:06}");
    match fraction.trim_end_matches('0') {
        "" => format!("{whole} s"),
        fraction => format!("{whole}.{fraction} s"),
    }
}

fn micros(text: &str) -> u64 {
    let number = text.strip_suffix(" s").unwrap_or_else(|| panic!("`{text}` is not a number of seconds"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    format!("{whole}{fraction:0<6}").parse().unwrap()
}

fn state_in_words(state: Option<&State>) -> String {
    let at = |tick: u64| seconds(tick.into());
    match state {
        None => "none".to_owned(),
        Some(State::FixedWindow(s)) => format!("start {}, count {}", at(s.start), s.count),
        Some(State::EndingWindow(s)) => format!("end {}, count {}", at(s.end), s.count),
        Some(State::SlidingWindowCounter(s)) => {
            format!("start {}, previous {}, current {}", at(s.start), s.previous, s.current)
        }
        Some(State::TokenBucket(s)) => format!("missing {}, at {}", s.missing, at(s.at)),
        Some(State::LeakyBucket(s)) => format!("backlog {}, at {}", s.backlog, at(s.at)),
        Some(State::SlidingWindowLog(s)) => {
            let entries: Vec<_> = s.entries().map(|e| format!("{}: {}", at(e.at), e.cost)).collect();
            entries.join(", ")
        }
    }
}

/// Asks again what the rows of a table ask, and writes the table that the code would write.
fn replay(limit: &Limit, header: &[&str], rows: &[Vec<&str>]) -> String {
    let mut state = None;
    let mut table = String::new();
    for row in rows {
        let now = Timestamp::from_micros(micros(row[0]));
        let (decision, change) = limit.decide(state.as_ref(), now, row[1].parse().unwrap());
        limit.apply(&mut state, change);
        let mut cells = vec![row[0].to_owned(), row[1].to_owned()];
        for &column in &header[2..] {
            cells.push(match column {
                "verdict" => match decision.verdict {
                    Verdict::Admit => "admit".to_owned(),
                    Verdict::Deny { .. } => "deny".to_owned(),
                    Verdict::Impossible => "impossible".to_owned(),
                },
                "`remaining`" => decision.remaining.to_string(),
                "`retry_after`" => {
                    decision.retry_after().map_or_else(|| "none".to_owned(), |d| seconds(d.as_micros()))
                }
                "`reset_after`" => seconds(decision.reset_after.as_micros()),
                "`delay`" => seconds(decision.delay.as_micros()),
                "state after" => state_in_words(state.as_ref()),
                other => panic!("no decision has a column {other}"),
            });
        }
        writeln!(table, "| {} |", cells.join(" | ")).unwrap();
    }
    table
}

#[test]
fn worked_examples_are_what_the_code_decides() {
    let mut wrong = String::new();
    for (text, limit) in limits() {
        assert_eq!(limit.resolution(), Resolution::Micros);
        let name = format!("{}.md", limit.algorithm());
        let document = read(&name);
        assert!(document.contains(&format!("Limit: `{text}`.")), "{name} does not name its limit, `{text}`");
        let mut lines = document.lines().peekable();
        let mut tables = 0;
        let mut shown = "";
        while let Some(line) = lines.next() {
            if let Some((_, rest)) = line.split_once("Limit: `") {
                shown = rest.split_once('`').unwrap().0;
            }
            if shown != text || !line.starts_with("| at | cost |") {
                continue;
            }
            tables += 1;
            let header: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            lines.next();
            let mut written = String::new();
            let mut rows = Vec::new();
            while let Some(row) = lines.next_if(|row| row.starts_with('|')) {
                writeln!(written, "{row}").unwrap();
                rows.push(row.trim_matches('|').split('|').map(str::trim).collect());
            }
            let replayed = replay(&limit, &header, &rows);
            if replayed != written {
                writeln!(wrong, "\n{name}, table {tables}, should say:\n{replayed}").unwrap();
            }
        }
        let expected = if text.contains("anchor") { 1 } else { 2 };
        assert_eq!(tables, expected, "{name}, {text}: a worked example, and one where the clock steps");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_algorithm_has_its_document_and_picture_in_the_index() {
    let index = read("README.md");
    for algorithm in Algorithm::ALL {
        assert!(index.contains(&format!("({algorithm}.md)")), "the index does not link {algorithm}");
        assert!(read(&format!("{algorithm}.md")).contains(&format!("(img/{algorithm}.svg)")));
    }
}

#[test]
fn the_index_names_the_last_numbers_of_each_tick() {
    let index = read("README.md");
    let day = Duration::from_secs(86_400);
    let counter = |n| Limit::sliding_window_counter(n, day);
    let token = |n| Limit::token_bucket(n, Rate::new(1, day));
    let leaky = |n| Limit::leaky_bucket(Rate::new(1, day), n);
    let resolution = |limit: Result<Limit, LimitError>| limit.ok().map(|l| l.resolution());
    let check = |limit: &dyn Fn(u64) -> Result<Limit, LimitError>, micros: u64, millis: u64| {
        assert_eq!(resolution(limit(micros)), Some(Resolution::Micros));
        assert_eq!(resolution(limit(micros + 1)), Some(Resolution::Millis));
        assert_eq!(resolution(limit(millis)), Some(Resolution::Millis));
        assert_eq!(resolution(limit(millis + 1)), None);
        assert!(index.contains(&with_commas(micros)) && index.contains(&with_commas(millis)));
    };
    check(&counter, 104_248, 104_249_990);
    check(&token, 26_062, 26_062_497);
    check(&leaky, 26_061, 26_062_496);
    let million = Limit::token_bucket(1_000_000, Rate::new(1_000_000, day)).unwrap();
    assert_eq!(million.resolution(), Resolution::Micros);
}

fn with_commas(n: u64) -> String {
    if n < 1_000 { n.to_string() } else { format!("{},{:03}", with_commas(n / 1_000), n % 1_000) }
}

#[test]
fn states_are_as_large_as_the_documents_say() {
    use cupo_core::algorithm::{
        fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log, token_bucket,
    };
    let sizes = [
        (Algorithm::FixedWindow, size_of::<fixed_window::State>()),
        (Algorithm::SlidingWindowLog, size_of::<sliding_window_log::Entry>()),
        (Algorithm::SlidingWindowCounter, size_of::<sliding_window_counter::State>()),
        (Algorithm::TokenBucket, size_of::<token_bucket::State>()),
        (Algorithm::LeakyBucket, size_of::<leaky_bucket::State>()),
    ];
    for (algorithm, bytes) in sizes {
        let document = read(&format!("{algorithm}.md"));
        assert!(document.contains(&format!("{bytes} bytes")), "{algorithm}: {bytes} bytes");
    }
}
