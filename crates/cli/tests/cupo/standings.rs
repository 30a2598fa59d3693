//! Callers who are known by tokens, on both stores: how they stand, which plan their token says, and what they are answered.

use cupo_testkit::redis::RedisServer;
use serde_json::{Value, json};

use crate::client::{Response, request};
use crate::process::{Gateway, PolicyFile};
use crate::tokens::{bearer, key_set};

/// With a store in memory, then with one in Redis, which has time: a busy machine is not what is tried here.
fn on_both(policy: &str, test: impl Fn(&Gateway)) {
    let redis = RedisServer::standalone().start();
    let in_redis =
        format!("store: {{ redis: {{ url: \"redis://127.0.0.1:{}\", deadline: 10s }} }}", redis.port());
    for store in ["store: memory", &in_redis] {
        let policy = PolicyFile::new(&format!("{store}\n{policy}"));
        policy.beside("jwks.json", &key_set(1));
        policy.beside("callers.yaml", "callers: [{ user: cid, plan: pro, times: 3 }]\n");
        test(&Gateway::start(&["-c", &policy.path(), "--upstream", "demo"]));
    }
    redis.assert_every_key_has_a_ttl();
}

const PLANS: &str = "
jwt:
  keys_file: jwks.json
  algorithms: [EdDSA]
  issuer: https://id.example
  audience: [api]
  invalid: INVALID
plans:
  free: { requests: 2/1000d }
  pro: { requests: 5/1000d }
  staff: { requests: unlimited }
plan: { from: [callers, claim(plan)], default: free }
callers: callers.yaml
rules:
  - { name: by-plan, key: user | ip, limit: { plan: requests } }
  - { name: everybody, key: global, limit: 100/100d }
  - { name: pro-only, match: { plan: pro, path: /pro }, key: user, limit: 4/1000d }
";

fn plans(invalid: &str) -> String {
    PLANS.replace("INVALID", invalid)
}

fn ask(gateway: &Gateway, token: &str) -> Response {
    request(gateway.address, "GET", "/", &[token])
}

/// Each limit by its name, with what is left.
fn standing(gateway: &Gateway, fields: &[&str]) -> Vec<(String, u64, Option<u64>)> {
    let response = request(gateway.address, "GET", "/rate-limit-status", fields);
    assert_eq!(response.status, 200, "{response:?}");
    let json = response.json();
    let line = |line: &Value| {
        let number = |name: &str| line[name].as_u64();
        (line["name"].as_str().unwrap().to_owned(), number("limit").unwrap(), number("remaining"))
    };
    json["limits"].as_array().unwrap().iter().map(line).collect()
}

fn lines(lines: &[(&str, u64, u64)]) -> Vec<(String, u64, Option<u64>)> {
    lines.iter().map(|(name, limit, left)| ((*name).to_owned(), *limit, Some(*left))).collect()
}

#[test]
fn the_claim_of_a_verified_token_says_the_plan() {
    on_both(&plans("anonymous"), |gateway| {
        let token = |user: &str, plan: Value| bearer(1, &json!({ "sub": user, "plan": plan }));
        let passing =
            |token: &str, asks: usize| (0..asks).filter(|_| ask(gateway, token).status == 200).count();
        let (free, pro) = (token("ada", json!("free")), token("bob", json!("pro")));
        assert_eq!((passing(&free, 4), passing(&pro, 7)), (2, 5));
        // Whoever changes plan keeps what was counted.
        assert_eq!(passing(&token("ada", json!("pro")), 6), 3);
        // What is no plan, and no text, is the default one; as is a claim of a token that does not hold.
        for (user, plan) in [("eva", json!("gold")), ("fay", json!(["pro"])), ("gil", Value::Null)] {
            assert_eq!(passing(&token(user, plan.clone()), 4), 2, "{plan}");
        }
        let forged = bearer(2, &json!({ "sub": "hal", "plan": "staff" }));
        assert_eq!(passing(&forged, 5), 2, "by address, on the default plan");
        // Unlimited is what the token says, and what the file of callers says comes first.
        assert_eq!(passing(&token("ivy", json!("staff")), 8), 8);
        assert_eq!(passing(&token("cid", json!("free")), 20), 15, "pro, three times");
    });
}

#[test]
fn the_status_endpoint_knows_the_plan() {
    on_both(&plans("refuse"), |gateway| {
        let pro = bearer(1, &json!({ "sub": "bob", "plan": "pro" }));
        let free = bearer(1, &json!({ "sub": "ada" }));
        let staff = bearer(1, &json!({ "sub": "ivy", "plan": "staff" }));
        assert_eq!(ask(gateway, &pro).status, 200);
        assert_eq!(
            standing(gateway, &[&pro]),
            lines(&[("by-plan", 5, 4), ("everybody", 100, 99), ("pro-only", 4, 4)])
        );
        assert_eq!(standing(gateway, &[&free]), lines(&[("by-plan", 2, 2), ("everybody", 100, 99)]));
        assert_eq!(standing(gateway, &[&staff]), lines(&[("everybody", 100, 99)]));
        assert_eq!(standing(gateway, &[]), lines(&[("by-plan", 2, 2), ("everybody", 100, 99)]));
        // Three times what the plan has, and of every other limit.
        let cid = bearer(1, &json!({ "sub": "cid" }));
        assert_eq!(
            standing(gateway, &[&cid]),
            lines(&[("by-plan", 15, 15), ("everybody", 300, 299), ("pro-only", 12, 12)])
        );
    });
}

#[test]
fn the_status_endpoint_and_a_token_that_does_not_hold() {
    let forged = bearer(2, &json!({ "sub": "bob", "plan": "pro" }));
    on_both(&plans("refuse"), |gateway| {
        let refused = request(gateway.address, "GET", "/rate-limit-status", &[&forged]);
        assert_eq!(refused.status, 401, "{refused:?}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
        assert!(!refused.body.contains("by-plan"), "{refused:?}");
        // It took nothing.
        assert_eq!(standing(gateway, &[]), lines(&[("by-plan", 2, 2), ("everybody", 100, 100)]));
    });
    on_both(&plans("anonymous"), |gateway| {
        // As one without a token.
        assert_eq!(standing(gateway, &[&forged]), lines(&[("by-plan", 2, 2), ("everybody", 100, 100)]));
        assert_eq!(ask(gateway, &forged).status, 200);
        assert_eq!(standing(gateway, &[]), lines(&[("by-plan", 2, 1), ("everybody", 100, 99)]));
    });
}

/// Every dialect and every form of a body, whatever the store.
#[test]
fn answers_are_the_same_on_both_stores() {
    const POLICY: &str = "
responses:
  headers: [x-ratelimit, ietf-11, ietf-06, { limit: X-Quota, remaining: X-Left, reset: X-In, reset_as: delta }]
  messages: { fr: { exceeded: \"{limit} en {window}\" } }
rules:
  - { name: one, key: header(x-who), limit: { algorithm: fixed_window, rate: 1/1000d }, on_missing: deny }
  - { name: own, match: { path: /own }, key: header(x-who), limit: { algorithm: fixed_window, rate: 1/1000d }, response: { status: 418, headers: { X-Reason: tea }, body: pot } }
";
    on_both(POLICY, |gateway| {
        let get = |path: &str, fields: &[&str]| request(gateway.address, "GET", path, fields);
        let admitted = get("/", &["X-Who: a"]);
        let refused = get("/", &["X-Who: a"]);
        for (response, status) in [(&admitted, 200), (&refused, 429)] {
            assert_eq!(response.status, status);
            let number = |name: &str| response.number(name).unwrap_or_else(|| panic!("{name}: {response:?}"));
            for limit in ["x-ratelimit-limit", "ratelimit-limit", "x-quota"] {
                assert_eq!(number(limit), 1);
            }
            for left in ["x-ratelimit-remaining", "ratelimit-remaining", "x-left"] {
                assert_eq!(number(left), 0);
            }
            assert_eq!(number("ratelimit-reset"), number("x-in"));
            assert!(number("x-ratelimit-reset") > 1_000_000_000 && number("x-in") <= 1_000 * 86_400);
            let policy = response.header("ratelimit-policy").unwrap();
            assert_eq!(policy, "\"one\";q=1;w=86400000");
            assert_eq!(response.of_rules("r")["one"], 0);
        }
        assert!(refused.number("retry-after").unwrap().abs_diff(refused.number("x-in").unwrap()) <= 1);
        let json = refused.json();
        assert_eq!((&json["status"], &json["violated-policies"]), (&json!(429), &json!(["one"])));
        let plain = get("/", &["X-Who: a", "Accept: application/json"]);
        assert_eq!(plain.json()["error"], "rate_limit_exceeded");
        let spanish = get("/", &["X-Who: a", "Accept: text/plain", "Accept-Language: es"]);
        assert!(spanish.body.starts_with("Demasiadas"), "{spanish:?}");
        let french = get("/", &["X-Who: a", "Accept: text/plain", "Accept-Language: fr"]);
        assert_eq!(french.body, "1 en 86400000 s\n");
        let grpc = get("/", &["X-Who: a", "Content-Type: application/grpc"]);
        assert_eq!((grpc.status, grpc.header("grpc-status")), (200, Some("8")));
        let missing = get("/", &[]);
        assert_eq!((missing.status, missing.header("x-quota")), (403, None));
        // A rule of its own answer.
        assert_eq!(get("/own", &["X-Who: b"]).status, 200);
        let both = get("/own", &["X-Who: b"]);
        assert_eq!(both.status, 429, "the first of those that wait as long binds: {both:?}");
    });
}
