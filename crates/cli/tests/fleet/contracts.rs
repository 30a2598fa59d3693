//! Windows of a calendar and from the first request, as callers see them: the same on memory and on Redis.

use cupo_testkit::redis::RedisServer;
use serde_json::{Value, json};

use crate::client::Client;
use crate::process::{Gateway, PolicyFile, root, run};
use crate::upstream;

const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

fn rule(limit: &str) -> String {
    format!("rules:\n  - {{ name: plan, key: ip, limit: {{ algorithm: fixed_window, {limit} }} }}\n")
}

/// Decides events of `cost` units at instants in microseconds, in memory and in Redis, which have to say the same.
fn replay(server: &RedisServer, limit: &str, events: &[(u64, u64)]) -> Vec<Value> {
    let policy = PolicyFile::new(&rule(limit));
    let events: String =
        events.iter().map(|(at, cost)| format!("{}\n", json!({"t_us": at, "cost": cost}))).collect();
    let [memory, redis] = ["memory", &server.url()].map(|store| {
        let ran = run(&["replay", &policy.path(), "--store", store], events.clone());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{limit}, {store}");
        ran.out
    });
    assert_eq!(memory, redis, "{limit}");
    server.assert_every_key_has_a_ttl();
    memory.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["decisions"][0].clone()).collect()
}

/// Verdict, what remains, and the waits in microseconds.
fn told(decision: &Value) -> (&str, u64, Option<u64>, u64) {
    (
        decision["verdict"].as_str().unwrap(),
        decision["remaining"].as_u64().unwrap(),
        decision["retry_after_us"].as_u64(),
        decision["reset_after_us"].as_u64().unwrap(),
    )
}

/// Windows whose first and last instants are known from elsewhere, in Unix seconds.
#[test]
fn windows_of_the_calendar_begin_and_end_where_they_do_in_their_zone() {
    let server = RedisServer::standalone().start();
    for (limit, start, end, minutes) in [
        ("calendar: day, time_zone: Europe/Madrid", 1_774_738_800, 1_774_821_600, 1_380),
        ("calendar: day, time_zone: Europe/Madrid", 1_792_879_200, 1_792_969_200, 1_500),
        // 3 November 2018 had 24 hours; the day after began at one o'clock.
        ("calendar: day, time_zone: America/Sao_Paulo", 1_541_214_000, 1_541_300_400, 1_440),
        ("calendar: day, time_zone: America/Sao_Paulo", 1_550_282_400, 1_550_372_400, 1_500),
        ("calendar: day, time_zone: Asia/Beirut", 1_648_332_000, 1_648_414_800, 1_380),
        ("calendar: day, time_zone: australia/lord_howe", 1_775_307_600, 1_775_395_800, 1_470),
        ("calendar: hour, time_zone: Asia/Kolkata", 1_777_833_000, 1_777_836_600, 60),
        ("calendar: week, time_zone: Asia/Kolkata", 1_777_833_000, 1_778_437_800, 10_080),
        (
            "calendar: week, week_starts: sunday, time_zone: America/New_York",
            1_772_946_000,
            1_773_547_200,
            10_020,
        ),
        ("calendar: month, time_zone: Europe/Madrid", 1_790_805_600, 1_793_487_600, 44_700),
        ("calendar: month", 1_706_745_600, 1_709_251_200, 41_760),
    ] {
        let (start, end, limit) = (start * SECOND, end * SECOND, format!("count: 3, {limit}"));
        let length = end - start;
        assert_eq!(length, minutes * 60 * SECOND, "{limit}");
        let decisions = replay(
            &server,
            &limit,
            &[(start - 1, 3), (start, 2), (end - 1, 2), (end - 1, 1), (end, 3), (start - 1, 1), (end, 4)],
        );
        let told: Vec<_> = decisions.iter().map(told).collect();
        assert_eq!(told[0], ("admit", 0, None, 1), "{limit}: a microsecond before");
        assert_eq!(told[1], ("admit", 1, None, length), "{limit}: at its first");
        assert_eq!(told[2], ("deny", 1, Some(1), 1), "{limit}: in its last");
        assert_eq!(told[3], ("admit", 0, None, 1), "{limit}: the rest of it");
        assert_eq!((told[4].0, told[4].1), ("admit", 0), "{limit}: at the next one's first");
        assert_eq!((told[5].0, told[5].1), ("deny", 0), "{limit}: the clock steps back");
        assert_eq!((told[6].0, told[6].2), ("impossible", None), "{limit}");
    }
}

/// The example of docs/algorithms/fixed_window.md.
#[test]
fn the_documents_example_is_what_is_decided() {
    let document = std::fs::read_to_string(root().join("docs/algorithms/fixed_window.md")).unwrap();
    let limit = "count: 5, calendar: day, time_zone: Europe/Madrid";
    assert!(document.contains(&format!("with `{limit}`")));
    let rows: Vec<Vec<&str>> = document
        .lines()
        .filter(|line| line.starts_with("| 2026-"))
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    // 2026-03-28T00:00:00Z.
    let march_28 = 1_774_656_000;
    let micros = |instant: &str| {
        let number = |from: usize| instant[from..from + 2].parse::<u64>().unwrap();
        (march_28 + (number(8) - 28) * DAY + number(11) * HOUR + number(14) * 60 + number(17)) * SECOND
    };
    let events: Vec<_> = rows.iter().map(|row| (micros(row[0]), row[2].parse().unwrap())).collect();
    let decisions = replay(&RedisServer::standalone().start(), limit, &events);
    assert_eq!(rows.len(), 4);
    for (row, decision) in rows.iter().zip(&decisions) {
        let (verdict, remaining, _, reset) = told(decision);
        let (hours, seconds) = (reset / SECOND / HOUR, reset / SECOND % HOUR);
        let reset = if seconds == 0 { format!("{hours} h") } else { format!("{hours} h {seconds} s") };
        assert_eq!(
            (row[3], row[4], row[5]),
            (verdict, remaining.to_string().as_str(), reset.as_str()),
            "{row:?}"
        );
    }
}

#[test]
fn a_window_from_the_first_request_is_each_clients_own() {
    let server = RedisServer::standalone().start();
    let start = 1_795_986_000_123_456;
    let hour = HOUR * SECOND;
    let events = [
        (start, 0),
        (start, 1),
        (start + hour - 1, 1),
        (start + hour - 1, 1),
        (start + hour, 2),
        (start + 9 * hour, 1),
    ];
    let decisions = replay(&server, "rate: 2/hour, anchor: first_request", &events);
    let told: Vec<_> = decisions.iter().map(told).collect();
    assert_eq!(
        told,
        [
            ("admit", 2, None, 0),
            ("admit", 1, None, hour),
            ("admit", 0, None, 1),
            ("deny", 0, Some(1), 1),
            ("admit", 0, None, hour),
            ("admit", 1, None, hour),
        ]
    );
}

/// Day of the month of an instant in Unix seconds, by counting years and months.
fn day_of_month(at: u64) -> u64 {
    let (mut days, mut year) = (at / DAY, 1970);
    loop {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for length in [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            if days < length {
                return days + 1;
            }
            days -= length;
        }
        year += 1;
    }
}

/// A limit, the lengths that its windows may have, and whether an instant is one of its edges.
type Case<'a> = (&'a str, &'a [u64], &'a dyn Fn(u64) -> bool);

#[test]
fn the_fields_of_a_response_name_the_edge() {
    let server = RedisServer::standalone().start();
    let url = format!("store: {{ redis: {{ url: \"{}\", deadline: 20s }} }}\n", server.url());
    for store in ["", &url] {
        let serve = |limit: &str| {
            Gateway::with_policy(&PolicyFile::new(&format!("{store}{}", rule(limit))), upstream::ok())
        };
        let kolkata = 19_800;
        let cases: [Case<'_>; 4] = [
            ("calendar: day, time_zone: Asia/Kolkata", &[DAY], &|at| (at + kolkata) % DAY == 0),
            ("calendar: hour, time_zone: Asia/Kolkata", &[HOUR], &|at| (at + kolkata) % HOUR == 0),
            // 4 January 1970 was a Sunday.
            ("calendar: week, week_starts: sunday", &[7 * DAY], &|at| at % (7 * DAY) == 3 * DAY),
            ("calendar: month", &[28 * DAY, 29 * DAY, 30 * DAY, 31 * DAY], &|at| {
                at % DAY == 0 && day_of_month(at) == 1
            }),
        ];
        for (limit, windows, is_edge) in cases {
            let gateway = serve(&format!("count: 2, {limit}"));
            let mut client = Client::new(gateway.address);
            let responses = [client.get("/"), client.get("/"), client.get("/")];
            let first = &responses[0];
            let (reset, window) = (first.number("x-ratelimit-reset").unwrap(), first.of_rules("w")["plan"]);
            assert!(
                is_edge(reset) && windows.contains(&window) && is_edge(reset - window),
                "{limit}: {first:?}"
            );
            // Where the edge passes between two of them there is another window.
            if responses.iter().any(|response| response.number("x-ratelimit-reset") != Some(reset)) {
                continue;
            }
            assert_eq!(responses.each_ref().map(|response| response.status), [200, 200, 429], "{limit}");
            let [.., denied] = &responses;
            let (wait, left) = (denied.number("retry-after").unwrap(), denied.of_rules("t")["plan"]);
            assert!(wait <= window && wait.abs_diff(left) <= 1, "{limit}: {denied:?}");
            assert!(first.of_rules("t")["plan"] >= left, "{limit}");
        }
        let gateway = serve("rate: 2/hour, anchor: first_request");
        let mut client = Client::new(gateway.address);
        let [first, second, third] = [client.get("/"), client.get("/"), client.get("/")];
        assert_eq!([first.status, second.status, third.status], [200, 200, 429]);
        assert_eq!((first.of_rules("t")["plan"], first.of_rules("w")["plan"]), (HOUR, HOUR));
        let reset = |response: &crate::client::Response| response.number("x-ratelimit-reset");
        assert!(reset(&first) == reset(&second) && reset(&first) == reset(&third), "{first:?} {third:?}");
        assert!((HOUR - 60..=HOUR).contains(&third.number("retry-after").unwrap()), "{third:?}");
    }
    server.assert_every_key_has_a_ttl();
}

#[test]
fn a_node_without_its_store_allows_its_share_of_the_window() {
    let text = format!(
        "replicas: 3\nstore: {{ redis: {{ url: \"redis://127.0.0.1:1\" }} }}\n{}",
        rule("count: 9, calendar: month, time_zone: Europe/Madrid")
            .replace("key: ip", "key: ip, on_store_error: local")
    );
    let gateway = Gateway::with_policy(&PolicyFile::new(&text), upstream::ok());
    let mut client = Client::new(gateway.address);
    let statuses: Vec<u16> = (0..4).map(|_| client.get("/").status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
}

#[test]
fn check_says_whose_calendar_it_is() {
    let out = run(&["check", root().join("examples/contracts.yaml").to_str().unwrap()], "").out;
    for part in [
        "allows         fixed_window, 100000 per month of Europe/Madrid",
        "at most 100000 in each month of Europe/Madrid, by its clock and calendar; up to twice that across an edge",
        "allows         fixed_window, 50 per week of Africa/Cairo from sunday",
        "allows         fixed_window, 20 per 1h from the first request",
        "at most 20 in each 1h that begins with a first request",
    ] {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
}
