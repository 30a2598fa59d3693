//! `--help` of each command is a page that one can work from.

use crate::process::{root, run};

fn has_all(arguments: &[&str], parts: &[&str]) -> String {
    let ran = run(arguments, "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    for part in parts {
        assert!(ran.out.contains(part), "{arguments:?}: {part} is not in\n{}", ran.out);
    }
    ran.out
}

const CODES: [&str; 3] = ["Exit codes:\n  0  ", "\n  1  ", "\n  3  "];

#[test]
fn of_the_command() {
    let out = has_all(
        &["--help"],
        &["serve ", "check ", "explain ", "replay ", "schema ", "admin ", "-V, --version", "\n  2  "],
    );
    assert!(CODES.iter().all(|code| out.contains(code)), "{out}");
    assert_eq!(run(&["help"], "").out, out);
    assert_eq!(has_all(&["--version"], &["cupo "]), format!("cupo {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn of_serve() {
    let options = [
        "-c, --config <FILE>",
        "--upstream <URL>",
        "--listen <ADDRESS:PORT>",
        "--store <STORE>",
        "--limit <RATE>",
        "--algorithm <NAME>",
        "--burst <N>",
        "--key <KEY>",
        "--log <LEVEL>",
        "-h, --help",
    ];
    let out = has_all(&["serve", "--help"], &options);
    let documented = out.lines().filter(|line| line.trim_start().starts_with('-')).count();
    // And --version.
    assert_eq!(documented, options.len() + 1, "an option is new: add it here\n{out}");
    has_all(
        &["serve", "--help"],
        &[
            "fixed_window, sliding_window_log, sliding_window_counter, token_bucket, leaky_bucket",
            "[default: 127.0.0.1:8080]",
        ],
    );
    let codes =
        ["\n  2  ", "Examples:\n  cupo serve -c cupo.yaml\n", "SIGTERM", "/.cupo/health", "Retry-After"];
    assert!(CODES.iter().chain(&codes).all(|part| out.contains(part)), "{out}");
}

#[test]
fn of_hash_key() {
    has_all(&["hash-key", "--help"], &["-c, --config <FILE>", "stdin", CODES[0], CODES[1], CODES[2]]);
}

#[test]
fn of_docs() {
    has_all(
        &["docs", "--help"],
        &[
            "-c, --config <FILE>",
            "-f, --format <FORMAT>",
            "markdown, html",
            "-l, --lang <LANGUAGE>",
            "en, es",
            "-o, --output <FILE>",
            "--base-url <URL>",
            CODES[0],
            CODES[1],
            CODES[2],
        ],
    );
}

#[test]
fn of_diff() {
    let parts =
        ["<OLD>", "<NEW>", "--json", "Examples:\n  cupo diff ", CODES[0], CODES[1], "\n  2  ", CODES[2]];
    has_all(&["diff", "--help"], &parts);
}

#[test]
fn of_schema() {
    has_all(
        &["schema", "--help"],
        &["--callers", "-o, --output <FILE>", "# yaml-language-server: $schema=", CODES[0], CODES[2]],
    );
}

#[test]
fn of_explain() {
    let options = [
        "-c, --config <FILE>",
        "--path <PATH>",
        "-X, --method <METHOD>",
        "--host <HOST>",
        "-H, --header <NAME: VALUE>",
        "--peer <ADDRESS>",
        "--body-bytes <N>",
        "--connect",
        "--store <STORE>",
        "--admin <URL>",
        "--token-env <NAME>",
        "--ca-file <FILE>",
        "--cert-file <FILE>",
        "--key-file <FILE>",
        "--json",
        "-h, --help",
    ];
    let out = has_all(&["explain", "--help"], &options);
    let documented = out.lines().filter(|line| line.trim_start().starts_with('-')).count();
    // And --version.
    assert_eq!(documented, options.len() + 1, "an option is new: add it here\n{out}");
    let parts = ["\n  2  ", "Examples:\n  cupo explain -c cupo.yaml", "no key is created"];
    assert!(CODES.iter().chain(&parts).all(|part| out.contains(part)), "{out}");
}

#[test]
fn of_check() {
    has_all(
        &["check", "--help"],
        &["<FILE>", "--connect", "Example:\n  cupo check ", CODES[0], CODES[1], CODES[2]],
    );
}

#[test]
fn of_replay() {
    let options = [
        "-i, --input <FILE>",
        "-f, --format <FORMAT>",
        "-s, --summary",
        "--html <FILE>",
        "-k, --key <KEY>",
        "--strict",
        "--store <STORE>",
        "-h, --help",
    ];
    let out = has_all(&["replay", "--help"], &options);
    let documented = out.lines().filter(|line| line.trim_start().starts_with('-')).count();
    // And --version.
    assert_eq!(documented, options.len() + 1, "an option is new: add it here\n{out}");
    has_all(
        &["replay", "--help"],
        &[
            "<FILE>...",
            "auto, events, combined, nginx-json, caddy, envoy, cupo",
            "Examples:\n",
            "docs/replay.md",
        ],
    );
    assert!(CODES.iter().all(|code| out.contains(code)), "{out}");
    for field in [
        "t_us",
        "peer",
        "method",
        "path",
        "headers",
        "descriptors",
        "cost",
        "allowed",
        "binding",
        "verdict",
        "shadow",
        "lacks",
        "retry_after_us",
        "reset_after_us",
        "delay_us",
    ] {
        assert!(out.contains(field), "{field}");
    }
    // Its event is one, and its example runs as printed.
    let policy = root().join("examples/cupo.yaml");
    let policy = policy.to_str().unwrap();
    let event = out.lines().map(str::trim).find(|line| line.starts_with(r#"{"t_us":0,"peer""#)).unwrap();
    assert_eq!(run(&["replay", policy], event).code, Some(0));
    let example = out.lines().find(|line| line.contains("printf")).unwrap();
    let (events, _) = example.split_once('|').unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("{events} | {} replay {policy}", env!("CARGO_BIN_EXE_cupo"))]);
    let ran = crate::process::run_to_end(shell, "");
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 2), "{ran:?}");
}

#[test]
fn no_line_is_too_long_for_a_page() {
    for arguments in [
        ["serve", "--help"].as_slice(),
        &["check", "--help"],
        &["replay", "--help"],
        &["schema", "--help"],
        &["explain", "--help"],
        &["--help"],
    ] {
        // What follows the options is laid out by hand.
        let out = run(arguments, "").out;
        let by_hand =
            out.lines().skip_while(|line| !line.starts_with("Options:")).skip_while(|line| !line.is_empty());
        for line in by_hand {
            assert!(line.chars().count() <= 125, "{line}");
        }
    }
}

#[test]
fn of_admin() {
    let out = has_all(
        &["admin", "--help"],
        &[
            "--url <URL>",
            "--token-env <NAME>",
            "--json",
            "stdin",
            "nearest",
            "rollback",
            CODES[0],
            CODES[1],
            CODES[2],
        ],
    );
    assert!(out.contains("[default: http://127.0.0.1:9090]"), "{out}");
    has_all(&["admin", "block", "--help"], &["--for <DURATION>", "<RULE>", "[PARTS]"]);
}
