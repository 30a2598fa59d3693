//! `cupo replay`: decisions in virtual time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use serde_json::{Value, json};

use crate::process::{BOUND, PolicyFile, Ran, cupo, root, run, run_to_end};

fn replay(policy: &str, events: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let events: String = events.into_iter().map(|event| format!("{event}\n")).collect();
    answers(&run(&["replay", &PolicyFile::new(policy).path()], events))
}

fn answers(ran: &Ran) -> Vec<Value> {
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const WALK: &str =
    "rules:\n  - { name: w, key: ip, limit: { algorithm: token_bucket, capacity: 5, refill: 2/second } }\n";

#[test]
fn the_well_known_walk() {
    let times = [0, 0, 0, 0, 0, 0, 0, 0, 1_500_000, 1_500_000, 1_500_000, 1_500_000];
    let told: Vec<_> = replay(WALK, times.map(|t| json!({"t_us": t, "peer": "203.0.113.9"})))
        .iter()
        .map(|answer| {
            let decision = &answer["decisions"][0];
            assert_eq!(answer["allowed"], decision["verdict"] == "admit");
            (
                answer["allowed"].as_bool().unwrap(),
                decision["remaining"].as_u64().unwrap(),
                decision["retry_after_us"].as_u64(),
            )
        })
        .collect();
    let refused = (false, 0, Some(500_000));
    let burst = [(true, 4, None), (true, 3, None), (true, 2, None), (true, 1, None), (true, 0, None)];
    let later = [(true, 2, None), (true, 1, None), (true, 0, None), refused];
    assert_eq!(told, [burst.as_slice(), &[refused; 3], &later].concat());
}

#[test]
fn an_answer_has_the_form_that_is_promised() {
    let event = json!({"t_us": 7, "peer": "203.0.113.9", "method": "GET", "path": "/", "headers": {"x-key": "k1"}, "descriptors": {}, "cost": 1});
    assert_eq!(
        replay(WALK, [event]),
        [json!({"t_us": 7, "allowed": true, "binding": "w", "decisions": [{
            "rule": "w", "key": "w ip=203.0.113.9", "verdict": "admit", "limit": 5, "remaining": 4,
            "retry_after_us": null, "reset_after_us": 500_000, "delay_us": 0,
        }]})]
    );
}

#[test]
fn time_that_steps_back_grants_nothing() {
    let times =
        [10_000_000, 10_000_000, 10_000_000, 10_000_000, 10_000_000, 0, 9_999_999, 10_000_000, 10_500_000];
    let allowed: Vec<bool> = replay(WALK, times.map(|t| json!({"t_us": t})))
        .iter()
        .map(|answer| answer["allowed"].as_bool().unwrap())
        .collect();
    assert_eq!(allowed, [true, true, true, true, true, false, false, false, true]);
}

#[test]
fn costs_from_nothing_to_everything() {
    let costs = [0, 2, 0, 4, 3, 0, u64::MAX, 6];
    let told: Vec<_> = replay(WALK, costs.map(|cost| json!({"t_us": 0, "cost": cost})))
        .iter()
        .map(|answer| {
            let decision = &answer["decisions"][0];
            (
                decision["verdict"].as_str().unwrap().to_owned(),
                decision["remaining"].as_u64().unwrap(),
                decision["retry_after_us"].as_u64(),
            )
        })
        .collect();
    let expected = [
        ("admit", 5, None),
        ("admit", 3, None),
        ("admit", 3, None),
        ("deny", 3, Some(500_000)),
        ("admit", 0, None),
        ("admit", 0, None),
        ("impossible", 0, None),
        ("impossible", 0, None),
    ];
    assert_eq!(told, expected.map(|(verdict, left, wait)| (verdict.to_owned(), left, wait)));
}

#[test]
fn the_latest_instant_is_decided() {
    let last = (1_u64 << 52) - 1;
    let told = replay(WALK, [json!({"t_us": last, "cost": 5}), json!({"t_us": last})]);
    assert_eq!((&told[0]["allowed"], &told[1]["allowed"]), (&true.into(), &false.into()));
    assert_eq!(told[1]["t_us"], last);
}

#[test]
fn descriptors_and_lists_of_headers_count() {
    let policy = "trusted_proxies: [10.0.0.0/8]
rules:
  - { name: jobs, key: descriptor(job), limit: 1/minute, on_missing: skip }
  - { name: clients, key: ip, limit: 100/minute }
";
    let told = replay(
        policy,
        [
            json!({"t_us": 0, "descriptors": {"job": "a"}}),
            json!({"t_us": 0, "descriptors": {"job": "a"}}),
            json!({"t_us": 0, "descriptors": {"job": "b", "other": "a"}}),
            json!({"t_us": 0, "peer": "10.0.0.1", "headers": {"X-Forwarded-For": ["6.6.6.6", "203.0.113.9, 10.0.0.2"]}}),
        ],
    );
    let allowed: Vec<&Value> = told.iter().map(|answer| &answer["allowed"]).collect();
    assert_eq!(allowed, [true, false, true, true]);
    assert_eq!(told[3]["decisions"][0]["key"], "clients ip=203.0.113.9");
}

#[test]
fn blank_lines_and_other_line_ends_are_fine() {
    let policy = PolicyFile::new(WALK);
    let told = answers(&run(
        &["replay", &policy.path()],
        "\r\n{\"t_us\":1}\r\n\n  \t\n{\"t_us\":2}\n\r\n {\"t_us\":3} ",
    ));
    let times: Vec<u64> = told.iter().map(|answer| answer["t_us"].as_u64().unwrap()).collect();
    assert_eq!(times, [1, 2, 3]);
    for nothing in ["", "\n", "\r\n\r\n"] {
        assert_eq!(answers(&run(&["replay", &policy.path()], nothing)), Vec::<Value>::new());
    }
}

#[test]
fn the_examples_events_replay() {
    let events = std::fs::read_to_string(root().join("examples/events.jsonl")).unwrap();
    let policy = root().join("examples/cupo.yaml");
    let told = answers(&run(&["replay", policy.to_str().unwrap()], events.as_str()));
    assert_eq!(told.len(), events.lines().count());
    let refused: Vec<(usize, &str)> = (1..)
        .zip(&told)
        .filter(|(_, answer)| answer["allowed"] == false)
        .map(|(line, answer)| (line, answer["binding"].as_str().unwrap()))
        .collect();
    assert_eq!(refused, [(7, "login"), (12, "search"), (18, "per-client")]);
    let held: Vec<u64> = told
        .iter()
        .flat_map(|answer| answer["decisions"].as_array().unwrap())
        .filter_map(|d| d["delay_us"].as_u64())
        .filter(|delay| *delay > 0)
        .collect();
    assert_eq!(held, [100_000, 200_000]);
}

/// Starts a replay whose pipes are in our hands.
fn interactive(policy: &PolicyFile) -> std::process::Child {
    let mut command = cupo();
    command.args(["replay", &policy.path()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn who_writes_one_event_reads_one_answer_before_the_next() {
    let policy = PolicyFile::new(WALK);
    let mut child = interactive(&policy);
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, lines) = channel();
    thread::spawn(move || BufReader::new(output).lines().try_for_each(|line| sender.send(line.unwrap())));
    // Whatever follows the event on the way: nothing, a blank line, the beginning of the next.
    for (written, t_us) in [
        ("{\"t_us\":1}\n", 1),
        ("{\"t_us\":2}\n\n", 2),
        ("{\"t_us\":3}\r\n\r\n", 3),
        ("{\"t_us\":4}\n{\"t_", 4),
        ("us\":5}\n  ", 5),
        ("{\"t_us\":6}\n\n\n{", 6),
    ] {
        input.write_all(written.as_bytes()).unwrap();
        let line = lines.recv_timeout(BOUND).unwrap_or_else(|_| panic!("no answer to {written:?}"));
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["t_us"], t_us);
    }
    input.write_all(b"\"t_us\":7}").unwrap();
    drop(input);
    let line = lines.recv_timeout(BOUND).unwrap();
    assert!(line.starts_with("{\"t_us\":7,"), "{line}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let policy = PolicyFile::new(WALK);
    let mut child = interactive(&policy);
    let (mut input, output, mut errors) =
        (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let writer = thread::spawn(move || {
        // More than all pipes and buffers hold: it ends only when the other end has.
        let events = "{\"t_us\":1}\n".repeat(1_000);
        while input.write_all(events.as_bytes()).is_ok() {}
    });
    let mut line = String::new();
    let mut output = BufReader::new(output);
    output.read_line(&mut line).unwrap();
    drop(output);
    assert!(line.starts_with("{\"t_us\":1,"));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut errors, &mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
    writer.join().unwrap();

    for command in [format!("check {}", policy.path()), "--help".to_owned()] {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("({} {command}; echo $? >&2) | true", env!("CARGO_BIN_EXE_cupo"))]);
        assert_eq!(run_to_end(shell, "").err.trim(), "0", "{command}");
    }
}
