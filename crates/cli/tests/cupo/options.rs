//! Wrong options: exit code 2, and what to write instead.

use crate::process::{PolicyFile, run};

#[test]
fn wrong_options_are_refused_with_a_remedy() {
    let policy = PolicyFile::new("rules:\n  - { name: r, key: ip, limit: 1/s }\n");
    let file = policy.path();
    let demo = ["serve", "--upstream", "demo", "--limit", "1/s"];
    let with = |more: &[&'static str]| [demo.as_slice(), more].concat();
    let cases: Vec<(Vec<&str>, &[&str])> = vec![
        // Something is missing.
        (vec!["serve", "--limit", "1/s"], &["--upstream", "http://HOST:PORT"]),
        (vec!["serve", "-c", &file], &["--upstream", "http://HOST:PORT"]),
        (vec!["serve", "--upstream", "demo"], &["--limit RATE", "-c FILE"]),
        (
            vec!["serve", "--upstream", "demo", "--algorithm", "token_bucket", "--burst", "5"],
            &["--limit RATE"],
        ),
        (vec!["check"], &["<FILE>", "Usage: cupo check"]),
        (vec!["replay"], &["<FILE>", "Usage: cupo replay"]),
        (vec![], &["Usage: cupo <COMMAND>", "serve", "check", "replay"]),
        // Something is wrong.
        (vec!["serve", "--upstream", "ftp://x", "--limit", "1/s"], &["`ftp://x`", "http://host:port"]),
        (vec!["serve", "--upstream", "https://x", "--limit", "1/s"], &["`https://x`", "http://host:port"]),
        (vec!["serve", "--upstream", "http://x/path", "--limit", "1/s"], &["without a path"]),
        (
            vec!["serve", "--upstream", "demo", "--limit", "1/w"],
            &["--limit", "`w`", "write days, as in `7d`"],
        ),
        (vec!["serve", "--upstream", "demo", "--limit", "1.5/s"], &["--limit", "1.5/s"]),
        (vec!["serve", "--upstream", "demo", "--limit", "1/0s"], &["--limit", "1/0s"]),
        (vec!["serve", "--upstream", "demo", "--limit", "ten"], &["--limit", "ten"]),
        (vec!["serve", "--upstream", "demo", "--limit=-1/s"], &["--limit", "-1/s"]),
        (
            vec!["serve", "--upstream", "demo", "--limit", "9007199254740991/s"],
            &["--limit", "lower the units"],
        ),
        (with(&["--algorithm", "gcra"]), &["gcra", "token_bucket", "leaky_bucket"]),
        (with(&["--algorithm", "token"]), &["token_bucket"]),
        (with(&["--burst", "5"]), &["--burst", "token_bucket"]),
        (with(&["--burst", "5", "--algorithm", "fixed_window"]), &["--burst", "token_bucket"]),
        (with(&["--burst", "5", "--algorithm", "sliding_window_log"]), &["--burst", "token_bucket"]),
        (with(&["--algorithm", "token_bucket", "--burst", "many"]), &["many", "--burst"]),
        (with(&["--algorithm", "token_bucket", "--burst", "9007199254740991"]), &["--limit", "lower"]),
        (with(&["--key", "ipp"]), &["--key", "`ipp`", "header(NAME)"]),
        (with(&["--key", "header"]), &["--key", "header(NAME)"]),
        (with(&["--key", ""]), &["--key"]),
        (with(&["--key", "ip", "--key", "ip"]), &["--key", "twice"]),
        (with(&["--key", "global | ip"]), &["--key", "global"]),
        (with(&["--listen", "localhost"]), &["--listen", "127.0.0.1:8080"]),
        (with(&["--listen", ":8080"]), &["--listen", "127.0.0.1:8080"]),
        (with(&["--listen", "127.0.0.1:65536"]), &["--listen", "127.0.0.1:8080"]),
        (with(&["--log", "loud"]), &["loud", "debug"]),
        // A file and its replacement.
        (vec!["serve", "-c", &file, "--limit", "1/s"], &["--config", "--limit", "cannot be used with"]),
        (vec!["serve", "-c", &file, "--burst", "1"], &["--config", "--burst", "cannot be used with"]),
        (vec!["serve", "-c", &file, "--key", "ip"], &["--config", "--key", "cannot be used with"]),
        (vec!["serve", "-c", &file, "--algorithm", "token_bucket"], &["--config", "--algorithm"]),
        // Something is unknown.
        (vec!["frobnicate"], &["frobnicate", "--help"]),
        (vec!["serv"], &["serve"]),
        (with(&["--limits", "1/s"]), &["--limit"]),
        (vec!["check", &file, "extra"], &["extra"]),
    ];
    for (arguments, remedies) in cases {
        let ran = run(&arguments, "");
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}: {ran:?}");
        for remedy in remedies {
            assert!(ran.err.contains(remedy), "{arguments:?}: {remedy} is not in\n{}", ran.err);
        }
    }
}
