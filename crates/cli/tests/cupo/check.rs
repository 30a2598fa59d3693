//! `cupo check`.

use crate::process::{PolicyFile, root, run};

#[test]
fn a_good_file_is_described_rule_by_rule() {
    for (file, rules) in [
        ("examples/cupo.yaml", 5),
        ("examples/tokens-and-lists.yaml", 2),
        ("examples/every-algorithm-and-key.yaml", 14),
        ("examples/responses.yaml", 3),
        ("examples/costs.yaml", 4),
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
fn costs_are_described() {
    let path = root().join("examples/costs.yaml");
    let out = run(&["check", path.to_str().unwrap()], "").out;
    for part in [
        "each costs     what the response says in x-cost; 10 until then, and where it does not\n",
        "each costs     1, given back unless the response has status 401, 403\n",
        "each costs     what a trusted proxy says in x-units, 1 to 50; else 1\n",
        "each costs     1 for each started 65536 bytes of the body, at most 100; 100 where its length is not known\n",
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

#[test]
fn what_is_really_answered_and_who_is_let_by_is_said() {
    let policy = PolicyFile::new(
        "jwt: { keys_file: jwks.json, algorithms: [EdDSA, ES256], issuer: https://id.example, audience: [api, admin], leeway: 5s, invalid: refuse }
allow:
  - { name: health, path: /healthz }
  - { name: office, client: [192.0.2.0/24, 198.51.100.7], method: GET }
  - { name: partner, api_key_hash: [5532e44183f47ed1fc146851b96d585c24da5bd5fe31a885cebc357261ed8f7f] }
block:
  - { name: old, path: \"/v1/**\", not: { header: { x-keep: present } } }
rules:
  - { name: usual, key: ip, limit: 5/minute }
  - { name: hidden, key: ip, limit: 5/minute, response: { status: 404 } }
  - { name: busy, key: ip, limit: 5/minute, response: { status: 503 } }
  - { name: closed, key: ip, limit: 0/minute }
  - { name: gone, key: ip, limit: 0/minute, response: { status: 410 } }
  - { name: held, key: ip, limit: { algorithm: leaky_bucket, rate: 1/second, queue: 3 }, action: delay, response: { status: 418 } }
",
    );
    policy.beside("jwks.json", &crate::tokens::key_set(1));
    let ran = run(&["check", &policy.path()], "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let rule = |name: &str| {
        ran.out.split("\nrule ").find(|part| part.starts_with(&format!("{name}\n"))).unwrap().to_owned()
    };
    for (name, excess) in [
        ("usual", "deny: 429 with Retry-After"),
        ("hidden", "deny: 404, without Retry-After"),
        ("busy", "deny: 503 with Retry-After"),
        ("closed", "deny: 429 without Retry-After, since waiting does not help"),
        ("gone", "deny: 410, without Retry-After"),
        ("held", "delay: hold each request until its slot; when the queue is full, 418, without Retry-After"),
    ] {
        assert!(rule(name).contains(&format!("on excess      {excess}\n")), "{name}: {}", rule(name));
    }
    for line in [
        "tokens           in authorization, after Bearer; EdDSA or ES256 by the keys in jwks.json; issued by https://id.example; for api or admin; clocks may differ by 5s",
        "  which name     the user in sub",
        "  where invalid  refused with 401, once the request is counted as one without a token",
        "allows           health: /healthz, uncounted",
        "allows           office: GET requests from 192.0.2.0/24 or 198.51.100.7/32, uncounted",
        "allows           partner: every request with one API key, uncounted",
        "blocks           old: /v1/**, but not (every request with x-keep), with 403",
    ] {
        assert!(ran.out.contains(&format!("\n{line}\n")), "{line} is not in\n{}", ran.out);
    }
}
