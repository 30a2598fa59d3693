//! What an administrator may rely on although somebody tries to get round it.

use serde_json::json;

use crate::administrator::administered;
use crate::client::{get, request};
use crate::process::PolicyFile;
use crate::upstream;

const KEYS: &str = "admin: { listen: 127.0.0.1:0 }\nrules:\n  \
    - { name: by-key, match: { path: /k/** }, key: [api_key | ip], limit: 1000/1000d }\n  \
    - { name: by-bearer, match: { path: /b/** }, key: header(authorization), limit: 1000/1000d }\n  \
    - { name: by-query, match: { path: /q/** }, key: query(t), limit: 1000/1000d }\n  \
    - { name: by-cookie, match: { path: /c/** }, key: cookie(s), limit: 1000/1000d }\n  \
    - { name: pairs, match: { path: /p/** }, key: [header(x-a), header(x-b), ip], limit: 1000/1000d }\n";

#[test]
fn nobody_slips_from_a_block_by_saying_his_key_twice() {
    let policy = PolicyFile::new(KEYS);
    let (gateway, admin) =
        administered(&["-c", &policy.path(), "--upstream", &format!("http://{}", upstream::ok())]);
    let status = |target: &str, fields: &[&str]| request(gateway.address, "GET", target, fields).status;
    for (rule, parts) in [
        ("by-key", json!(["api_key=abc"])),
        ("by-bearer", json!(["Bearer abc"])),
        ("by-query", json!(["a b"])),
        ("by-cookie", json!(["abc"])),
        ("pairs", json!(["1", "2", "127.0.0.1"])),
    ] {
        let blocked = admin.post("/v1/block", &json!({ "rule": rule, "parts": parts, "seconds": 600 }));
        assert_eq!(blocked.status, 200, "{blocked:?}");
    }
    for (target, fields) in [
        ("/k/", &["X-Api-Key: abc"][..]),
        ("/k/", &["X-Api-Key: abc", "X-Api-Key: abc"]),
        ("/k/", &["X-Api-Key: abc", "X-Api-Key: other"]),
        ("/k/", &["X-Api-Key: other", "X-Api-Key: abc"]),
        ("/b/", &["Authorization: Bearer other", "Authorization: BEARER  abc"]),
        ("/q/?t=a+b&t=1", &[]),
        ("/q/?t=1&%74=a%20b", &[]),
        ("/c/", &["Cookie: s=other; s=\"abc\""]),
        ("/c/", &["Cookie: s=abc", "Cookie: s=other"]),
        ("/p/", &["X-A: 0", "X-A: 1", "X-B: 2"]),
        ("/p/", &["X-A: 1", "X-B: 2", "X-B: 3"]),
        ("/p/", &["X-A: 1", "X-B: 2", "X-B: 3", "X-A: 4"]),
    ] {
        assert_eq!(status(target, fields), 403, "{target} {fields:?}");
    }
    for (target, fields) in [
        ("/k/", &["X-Api-Key: other", "X-Api-Key: another"][..]),
        ("/k/", &[]),
        ("/b/", &["Authorization: Bearer other", "Authorization: Bearer another"]),
        ("/q/?t=1&t=2", &[]),
        ("/c/", &["Cookie: s=1; s=2"]),
        ("/p/", &["X-A: 0", "X-A: 2", "X-B: 2"]),
        ("/p/", &["X-A: 2", "X-B: 1", "X-B: 1", "X-A: 2"]),
    ] {
        assert_eq!(status(target, fields), 200, "{target} {fields:?}");
    }
}

#[test]
fn a_block_of_a_rule_that_is_gone_can_be_lifted() {
    let policy = PolicyFile::new(KEYS);
    let (gateway, admin) =
        administered(&["-c", &policy.path(), "--upstream", &format!("http://{}", upstream::ok())]);
    let pair = json!({ "rule": "pairs", "parts": ["1", "2", "127.0.0.1"], "seconds": 600 });
    let own = json!({ "rule": "by-query", "parts": ["a b"], "seconds": 600 });
    for block in [&pair, &own] {
        assert_eq!(admin.post("/v1/block", block).status, 200);
    }
    // One rule has another name, one another key.
    policy.beside(
        "cupo.yaml",
        &KEYS.replace("name: pairs", "name: triples").replace("key: query(t)", "key: [query(t), ip]"),
    );
    assert_eq!(admin.post("/v1/reload", &json!({})).status, 200);
    let listed = admin.get("/v1/blocks").json();
    let listed = listed["blocks"].as_array().unwrap();
    assert_eq!(listed.len(), 2);
    for block in listed {
        let unblock = json!({ "rule": block["rule"], "parts": block["parts"] });
        let lifted = admin.post("/v1/unblock", &unblock);
        assert_eq!(lifted.status, 200, "{lifted:?}");
        let lifted = lifted.json();
        assert!(lifted["before_us"].as_u64().is_some() && lifted["left_us"].is_null(), "{lifted}");
        assert_eq!(lifted["parts"], block["parts"]);
        // Now there is nothing of that name.
        assert!(matches!(admin.post("/v1/unblock", &unblock).status, 404 | 422));
    }
    assert_eq!(admin.get("/v1/blocks").json()["blocks"], json!([]));
    assert_eq!(admin.post("/v1/rollback", &json!({})).status, 200);
    assert_eq!(request(gateway.address, "GET", "/p/", &["X-A: 1", "X-B: 2"]).status, 200);
    assert_eq!(get(gateway.address, "/q/?t=a+b").status, 200);
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    let policy = PolicyFile::new(KEYS);
    let (_gateway, admin) =
        administered(&["-c", &policy.path(), "--upstream", &format!("http://{}", upstream::ok())]);
    for (path, body, says) in [
        ("/v1/state", json!({ "rule": "by-key", "parts": "s3cret" }), "string, expected a sequence"),
        ("/v1/state", json!("s3cret"), "string, expected "),
        ("/v1/state", json!({ "rule": "by-key", "parts": [4711] }), "integer, expected a string"),
        (
            "/v1/block",
            json!({ "rule": "by-key", "parts": ["x"], "seconds": "s3cret, expected" }),
            "string, expected",
        ),
        ("/v1/explain", json!({ "path": "/", "headers": "s3cret" }), "string, expected "),
    ] {
        let refused = admin.post(path, &body);
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(!refused.body.contains("s3cret") && !refused.body.contains("4711"), "{refused:?}");
        assert!(refused.body.contains(says) && refused.body.contains("column"), "{refused:?}");
    }
}

#[test]
fn no_spelling_of_yaml_or_json_shows_the_password_of_a_url() {
    // As some programs write JSON, and as YAML allows it.
    for (url, shown) in [
        (r#""redis:\/\/me:hunter2@127.0.0.1:1""#, r#""redis://…@127.0.0.1:1""#),
        (r#""redis:/\x2fme:hunter2@127.0.0.1:1""#, r#""redis://…@127.0.0.1:1""#),
        (r#""redis://me:hunter2\x40127.0.0.1:1""#, r#""redis://…@127.0.0.1:1""#),
        ("\"redis://me:\\\n    hunter2@127.0.0.1:1\"", r#""redis://…@127.0.0.1:1""#),
        (">-\n      redis://me:hunter2@127.0.0.1:1", "redis://…@127.0.0.1:1"),
        ("redis://me:hunter2@127.0.0.1:1", "redis://…@127.0.0.1:1"),
    ] {
        let policy = PolicyFile::new(&format!("# é\nstore:\n  redis:\n    url: {url}\n{KEYS}"));
        let (_gateway, admin) =
            administered(&["-c", &policy.path(), "--upstream", &format!("http://{}", upstream::ok())]);
        let answer = admin.get("/v1/policy");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!answer.body.contains("hunter2"), "{answer:?}");
        let text = answer.json()["source"]["text"].as_str().unwrap().to_owned();
        assert!(text.contains(shown) && text.starts_with("# é\nstore:") && text.ends_with(KEYS), "{text}");
    }
}
