//! The summary of `cupo replay`.

use crate::process::{PolicyFile, Ran, run};

const POLICY: &str = "rules:
  - { name: per-client, key: ip, limit: { algorithm: token_bucket, capacity: 5, refill: 1/minute } }
  - { name: all, key: global, limit: { algorithm: fixed_window, rate: 1000/hour } }
  - { name: watch, key: ip, limit: { algorithm: token_bucket, capacity: 2, refill: 1/minute }, action: shadow }
";

const LOOSE: &str = "rules:
  - { name: per-client, key: ip, limit: { algorithm: token_bucket, capacity: 8, refill: 1/minute } }
  - { name: hooks, match: { path: /hooks }, key: header(x-team), limit: 1/minute, on_missing: deny }
";

fn event(t_us: u64, client: u8, path: &str) -> String {
    format!("{{\"t_us\":{t_us},\"peer\":\"192.0.2.{client}\",\"path\":\"{path}\"}}\n")
}

/// Ten requests of one client, seven of another, one of a third; the last second of each minute.
fn events() -> String {
    let mut events = String::new();
    (0..10).for_each(|n| events.push_str(&event(n * 1_000_000, 1, "/")));
    (10..17).for_each(|n| events.push_str(&event(n * 1_000_000, 2, "/")));
    events.push_str(&event(20_000_000, 3, "/hooks"));
    events
}

fn summary(policies: &[&PolicyFile], options: &[&str], events: &str) -> Ran {
    let paths: Vec<String> = policies.iter().map(|policy| policy.path()).collect();
    let mut arguments = vec!["replay"];
    arguments.extend(paths.iter().map(String::as_str));
    arguments.extend(options);
    run(&arguments, events)
}

#[test]
fn of_one_policy() {
    let policy = PolicyFile::new(POLICY);
    let ran = summary(&[&policy], &["--summary"], &events());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let name = policy.path();
    let width = name.len();
    let row = |label: &str, value: &str| format!("{label:26}  {value:>width$}");
    let expected = [
        "stdin (events)".to_owned(),
        "  1970-01-01 00:00:00 UTC to 1970-01-01 00:00:20 UTC (20 s)".to_owned(),
        "  requests: 18".to_owned(),
        String::new(),
        row("", &name),
        row("admitted", "11"),
        row("denied", "7"),
        row("denied, of all", "38.88 %"),
        row("per-client: matched", "18"),
        row("per-client: denied", "7"),
        row("all: matched", "18"),
        row("all: denied", "0"),
        row("watch: matched", "11"),
        row("watch: denied", "0"),
        row("watch: would deny (shadow)", "6"),
        String::new(),
        "keys denied most".to_owned(),
        "  5  per-client ip=192.0.2.1".to_owned(),
        "  2  per-client ip=192.0.2.2".to_owned(),
        String::new(),
        "longest waits".to_owned(),
        "  55 s  per-client ip=192.0.2.1  at 1970-01-01 00:00:05 UTC".to_owned(),
        "  55 s  per-client ip=192.0.2.2  at 1970-01-01 00:00:15 UTC".to_owned(),
    ];
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), expected);
    assert!(ran.err.ends_with(" lines a second\n") && ran.err.lines().count() == 1, "{}", ran.err);
}

#[test]
fn policies_beside_each_other() {
    let (strict, loose) = (PolicyFile::new(POLICY), PolicyFile::new(LOOSE));
    let ran = summary(&[&strict, &loose], &[], &events());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let cells = |label: &str| -> Vec<String> {
        let line = ran
            .out
            .lines()
            .find(|line| line.starts_with(label))
            .unwrap_or_else(|| panic!("{label}: {}", ran.out));
        line.trim_start_matches(label).split_whitespace().map(str::to_owned).collect()
    };
    // Each as if it were alone: on a store of its own.
    assert_eq!(cells("admitted "), ["11", "15"]);
    assert_eq!(cells("denied "), ["7", "3"]);
    assert_eq!(cells("denied, lacks a key "), ["0", "1"]);
    assert_eq!(cells("per-client: denied "), ["7", "2"]);
    assert_eq!(cells("all: matched "), ["18", "-"]);
    assert_eq!(cells("hooks: matched "), ["-", "1"]);
    assert_eq!(cells("hooks: denied "), ["-", "1"]);
    for policy in [&strict, &loose] {
        assert!(ran.out.contains(&format!("keys denied most, {}\n", policy.path())), "{}", ran.out);
        let alone = summary(&[policy], &["-s"], &events()).out;
        let keys = |out: &str| -> Vec<String> {
            let from =
                out.find(&format!(", {}", policy.path())).or_else(|| out.find("keys denied most")).unwrap();
            out[from..].lines().skip(1).take_while(|line| line.starts_with("  ")).map(str::to_owned).collect()
        };
        assert_eq!(keys(&ran.out), keys(&alone));
    }
    let many = vec![&strict; 9];
    assert_eq!(summary(&many, &[], "").code, Some(2));
}

#[test]
fn delays_and_costs_that_never_fit() {
    let policy = PolicyFile::new(
        "rules:\n  - { name: held, key: global, limit: { algorithm: leaky_bucket, rate: 2/second, queue: 3 }, action: delay }\n",
    );
    let events = "{\"t_us\":0}\n".repeat(3) + "{\"t_us\":0,\"cost\":100}\n";
    let out = summary(&[&policy], &["-s"], &events).out;
    for (label, value) in
        [("admitted with a delay", "2"), ("longest delay", "1 s"), ("denied, can never fit", "1")]
    {
        let line =
            out.lines().find(|line| line.starts_with(label)).unwrap_or_else(|| panic!("{label}: {out}"));
        assert!(line.ends_with(&format!("  {value}")), "{line}");
    }
}

#[test]
fn of_nothing() {
    let policy = PolicyFile::new(POLICY);
    let ran = summary(&[&policy], &["-s"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.starts_with("stdin (nothing)\n  requests: 0\n") && ran.out.contains("0.00 %"),
        "{}",
        ran.out
    );
}

/// More keys are denied than are counted: who is denied most is still found.
#[test]
fn who_is_denied_most_among_very_many() {
    let policy = PolicyFile::new("rules:\n  - { name: r, key: ip, limit: 0/minute }\n");
    let mut events = String::new();
    for number in 0..60_000_u32 {
        let [_, a, b, c] = number.to_be_bytes();
        let peer = if number % 100 == 0 { "203.0.113.9".to_owned() } else { format!("10.{a}.{b}.{c}") };
        events.push_str(&format!("{{\"t_us\":{number},\"peer\":\"{peer}\"}}\n"));
    }
    let out = summary(&[&policy], &["-s"], &events).out;
    let (_, keys) = out.split_once("keys denied most").unwrap();
    let mut lines = keys.lines();
    assert!(lines.next().unwrap().contains("may be too low by up to "), "{keys}");
    assert!(lines.next().unwrap().ends_with("  r ip=203.0.113.9"), "{keys}");
}
