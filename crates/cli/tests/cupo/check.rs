//! `cupo check`.

use crate::process::{PolicyFile, root, run};

#[test]
fn a_good_file_is_described_rule_by_rule() {
    for (file, rules) in [
        ("examples/cupo.yaml", 5),
        ("examples/tokens-and-lists.yaml", 2),
        ("examples/every-algorithm-and-key.yaml", 14),
        ("examples/responses.yaml", 3),
    ] {
        let path = root().join(file);
        let ran = run(&["check", path.to_str().unwrap()], "");
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
        assert_eq!(ran.out.matches("\nrule ").count(), rules);
        assert!(ran.out.contains(" is valid."), "{}", ran.out);
    }
    let path = root().join("examples/cupo.yaml");
    let out = run(&["check", path.to_str().unwrap()], "").out;
    for part in [
        "listen           127.0.0.1:8080",
        "upstream         http://127.0.0.1:9000",
        "trusted proxies  10.0.0.0/8",
        "applies to     POST /login",
        "counts by      api_key | ip",
        "counts by      [user, route]",
        "allows         token_bucket, capacity 20, refill 10 per 1s",
        "at most 5 in any 1m, exactly",
        "each costs     5",
        "delay: hold each request until its slot",
    ] {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
}

#[test]
fn a_bad_file_is_refused_with_place_and_hint() {
    let policy = PolicyFile::new(
        "upstream: https://x
rules:
  - name: a
    key: ipp
    limt: 5/s
  - name: a
    key: ip
    limit: 0.5/s
",
    );
    let ran = run(&["check", &policy.path()], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    for part in [
        format!("--> {}:1:11", policy.path()),
        format!("--> {}:4:10", policy.path()),
        format!("--> {}:5:5", policy.path()),
        format!("--> {}:8:12", policy.path()),
        "did you mean `limit`?".to_owned(),
        "= at: rules[0].limt".to_owned(),
        "5 |     limt: 5/s".to_owned(),
    ] {
        assert!(ran.err.contains(&part), "{part} is not in\n{}", ran.err);
    }
    // Every error has its place and its hint.
    let errors = ran.err.matches("error: ").count();
    assert!(errors >= 5, "{}", ran.err);
    assert_eq!(
        (ran.err.matches("--> ").count(), ran.err.matches("hint: ").count()),
        (errors, errors),
        "{}",
        ran.err
    );
    // And the other commands say the same.
    assert_eq!(run(&["replay", &policy.path()], "").err, ran.err);
    assert_eq!(run(&["serve", "-c", &policy.path()], "").err, ran.err);
}

#[test]
fn what_cannot_be_read_is_told_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let (missing, binary) = (folder.path().join("none.yaml"), folder.path().join("binary.yaml"));
    std::fs::write(&binary, b"rules: \xff\xfe\n").unwrap();
    for path in [missing.as_path(), folder.path(), binary.as_path()] {
        let path = path.to_str().unwrap();
        for command in
            [vec!["check", path], vec!["replay", path], vec!["serve", "--upstream", "demo", "-c", path]]
        {
            let ran = run(&command, "");
            assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
            assert!(ran.err.contains(path) && ran.err.contains("hint: "), "{ran:?}");
        }
    }
}

#[test]
fn what_callers_see_is_said() {
    let path = root().join("examples/responses.yaml");
    let out = run(&["check", path.to_str().unwrap()], "").out;
    for line in [
        "callers see      x-ratelimit, ietf-11, x-quota, x-quota-left, x-quota-in; the upstream's own where they are tighter; up to 5s more to wait",
        "  answers        with status 429; headers x-reason; a message in en, es",
        "  answers        with status 404; a body of application/json",
    ] {
        assert!(out.lines().any(|other| other == line), "{line} is not in\n{out}");
    }
}
