//! What a policy names and cannot be used: keys, secrets, servers, files that are none.

use std::process::Command;

use crate::process::{PolicyFile, Ran, cupo, run, run_to_end};

const RULES: &str = "\nrules: [{ name: a, key: ip, limit: 1/s }]\n";

/// The first line is wrong: told with its place, its path and a hint, by each command that reads policies.
fn told(line: &str, column: usize, path: &str, reason: &str) {
    let policy = PolicyFile::new(&format!("{line}{RULES}"));
    for command in [vec!["check"], vec!["serve", "--upstream", "demo", "-c"]] {
        let mut command_line: Command = cupo();
        command_line.args(command).arg(policy.path()).env("CUPO_SHORT", "hunter2");
        let Ran { code, out, err } = run_to_end(command_line, "");
        assert_eq!((code, out.as_str()), (Some(1), ""), "{line}: {err}");
        for part in [&format!(":1:{column}\n"), &format!("= at: {path}\n"), "= hint: ", reason] {
            assert!(err.contains(part), "{part} is not in\n{err}");
        }
        assert!(!err.contains("hunter2"), "{err}");
    }
}

#[test]
fn keys_of_tokens_that_cannot_be_used() {
    told("jwt: { keys_file: no.json, algorithms: RS256 }", 19, "jwt.keys_file", "no.json` cannot be read");
    told("jwt: { keys_file: /dev/zero, algorithms: RS256 }", 19, "jwt.keys_file", "it is not a regular file");
    told("jwt: { secret_env: CUPO_UNSET, algorithms: HS256 }", 20, "jwt.secret_env", "CUPO_UNSET");
    told("jwt: { secret_env: CUPO_SHORT, algorithms: HS256 }", 20, "jwt.secret_env", "CUPO_SHORT");
}

#[test]
fn servers_and_secrets_of_a_store_that_cannot_be_used() {
    let url = "store.redis.url";
    told("store: { redis: { url: \"redis://127.0.0.1:99999\" } }", 24, url, "`99999` is not a port");
    told("store: { redis: { url: \"redis://ada:hunter2\" } }", 24, url, "is not a port");
    told("store: { redis: { url: \"redis://ada:hunter2@h:x\" } }", 24, url, "is not a port");
    told("store: { redis: { url: \"redis://h/0/?password=1\" } }", 24, url, "means nothing here");
    let password = "store: { redis: { url: \"redis://h\", password_env: CUPO_UNSET } }";
    told(password, 51, "store.redis.password_env", "CUPO_UNSET");
    let password = "store: { redis: { url: \"redis://h\", password_file: /dev/zero } }";
    told(password, 17, "store.redis", "it is not a regular file");
    let authority = "store: { redis: { url: \"rediss://h\", tls: { ca_file: /dev/zero } } }";
    told(authority, 54, "store.redis.tls.ca_file", "it is not a regular file");
}

#[test]
fn what_stands_before_an_at_sign_is_not_shown() {
    for line in [
        "upstream: http://ada:hunter2@a",
        "upstream: https://hunter2@a",
        "upstream: ada:hunter2@a:80",
        "upstream: http://ada:hun#hunter2@a",
        "listen: http://ada:hunter2@a",
        "workers: http://ada:hunter2@a",
        "jwt: redis://ada:hunter2@a",
        "trusted_proxies: [\"http://ada:hunter2@a\"]",
        "store: redis://ada:hunter2@a",
        "store: { redis: { url: http://ada:hunter2@a } }",
        "health_path: http://ada:hunter2@a",
        "http://ada:hunter2@a: 1",
    ] {
        let ran = run(&["check", &PolicyFile::new(&format!("{line}{RULES}")).path()], "");
        assert_eq!(ran.code, Some(1), "{line}: {ran:?}");
        assert!(!ran.err.contains("hunter2"), "{}", ran.err);
    }
    let ran = run(&["serve", "--upstream", "http://ada:hunter2@a/b", "--limit", "1/s"], "");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!ran.err.contains("hunter2"), "{}", ran.err);
}
