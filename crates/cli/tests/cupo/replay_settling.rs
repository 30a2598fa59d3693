//! `cupo replay` with rules that wait for responses: the status that a log tells counts.

use serde_json::Value;

use crate::process::{PolicyFile, run};

const POLICY: &str = "rules:
  - { name: login, match: { path: /login }, key: global, limit: { algorithm: fixed_window, count: 2, window: 1d }, charge: { on: response, when: { status: [401, 403] } } }
  - { name: work, match: { path: /work }, key: global, limit: { algorithm: fixed_window, count: 20, window: 1d }, cost: { header: x-cost, reserve: 10 } }
";

/// Whether each request of the log passes.
fn passing(log: &str) -> Vec<bool> {
    let policy = PolicyFile::new(POLICY);
    let ran = run(&["replay", &policy.path()], log);
    assert_eq!(ran.code, Some(0), "{log}: {ran:?}");
    let answers = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers.map(|answer| answer["allowed"].as_bool().unwrap()).collect()
}

/// One line for each status, a second apart.
fn log(line: impl Fn(usize, &str) -> String) -> String {
    ["200", "401", "302", "403", "200"].iter().enumerate().map(|(n, status)| line(n, status)).collect()
}

#[test]
fn only_the_statuses_that_are_charged_count_in_every_format() {
    let logs = [
        log(|n, status| {
            format!(
                "192.0.2.1 - - [29/Nov/2026:21:00:0{n} +0000] \"POST /login HTTP/1.1\" {status} 5 \"-\" \"-\"\n"
            )
        }),
        log(|n, status| {
            format!(
                "{{\"time_iso8601\":\"2026-11-29T21:00:0{n}Z\",\"remote_addr\":\"192.0.2.1\",\"request_method\":\"POST\",\"request_uri\":\"/login\",\"status\":\"{status}\"}}\n"
            )
        }),
        log(|n, status| {
            format!(
                "{{\"start_time\":\"2026-11-29T21:00:0{n}Z\",\"downstream_remote_address\":\"192.0.2.1:7\",\"method\":\"POST\",\"path\":\"/login\",\"response_code\":{status}}}\n"
            )
        }),
        log(|n, status| {
            format!(
                "{{\"ts\":179598600{n}.5,\"duration\":0.1,\"status\":{status},\"request\":{{\"remote_ip\":\"192.0.2.1\",\"method\":\"POST\",\"host\":\"a\",\"uri\":\"/login\",\"headers\":{{}}}}}}\n"
            )
        }),
        log(|n, status| {
            format!(
                "{{\"t_us\":179598600{n}000000,\"method\":\"POST\",\"path\":\"/login\",\"status\":{status}}}\n"
            )
        }),
    ];
    for log in logs {
        assert_eq!(passing(&log), [true, true, true, true, false], "{log}");
    }
}

#[test]
fn what_no_log_tells_stays_reserved() {
    let event = |path: &str, status: &str| format!("{{\"t_us\":0,\"path\":\"{path}\"{status}}}\n");
    let unknown: String = (0..3).map(|_| event("/login", "")).collect();
    assert_eq!(passing(&unknown), [true, true, false]);
    let costs: String = (0..3).map(|_| event("/work", ",\"status\":200")).collect();
    assert_eq!(passing(&costs), [true, true, false]);
}
