//! JSON Web Tokens through the gateway, on both stores.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cupo_core::{Clock, SystemClock};
use cupo_testkit::redis::RedisServer;
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::client::{Response, request};
use crate::process::{Gateway, PolicyFile, cupo, run, run_to_end};

const SECRET: &str = "0f5a1c2d3e4b5a69788796a5b4c3d2e1";

fn issuer(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn key_set(seed: u8) -> String {
    let x = encode(issuer(seed).public_key());
    json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": "k", "x": x }] }).to_string()
}

/// The `Authorization` field with a token that holds for an hour, with these claims beside.
pub(crate) fn bearer(seed: u8, claims: &Value) -> String {
    let expires = SystemClock::new().now().as_micros() / 1_000_000 + 3_600;
    let mut body = json!({ "exp": expires, "iss": "https://id.example", "aud": ["api"] });
    body.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
    let input = format!("{}.{}", encode(r#"{"alg":"EdDSA","kid":"k"}"#), encode(body.to_string()));
    let signature = encode(issuer(seed).sign(input.as_bytes()));
    format!("Authorization: Bearer {input}.{signature}")
}

pub(crate) fn policy(invalid: &str, store: &str) -> PolicyFile {
    let policy = PolicyFile::new(&format!(
        "access_log: true
{store}
jwt:
  keys_file: jwks.json
  algorithms: [EdDSA]
  issuer: https://id.example
  audience: [api]
  invalid: {invalid}
rules:
  - {{ name: users, key: user | ip, limit: 2/1000d }}
  - {{ name: tenants, key: claim(org.tenant), limit: 3/1000d, on_missing: skip }}
"
    ));
    policy.beside("jwks.json", &key_set(1));
    policy
}

/// Redis has time: a busy machine is not what is tried here.
fn each_store(invalid: &str, test: impl Fn(&mut Gateway)) {
    let redis = RedisServer::standalone().start();
    let in_redis =
        format!("store: {{ redis: {{ url: \"redis://127.0.0.1:{}\", deadline: 10s }} }}", redis.port());
    for store in ["store: memory", &in_redis] {
        let policy = policy(invalid, store);
        test(&mut Gateway::start(&["-c", &policy.path(), "--upstream", "demo"]));
    }
}

/// The response, and the verdict in the access log.
fn ask(gateway: &mut Gateway, fields: &[&str]) -> (Response, String) {
    let response = request(gateway.address, "GET", "/", fields);
    let line = gateway.line(|line| line.starts_with('{'));
    let line: Value = serde_json::from_str(&line).unwrap();
    (response, line["verdict"].as_str().unwrap().to_owned())
}

#[test]
fn users_and_claims_of_verified_tokens_are_counted() {
    each_store("anonymous", |gateway| {
        let ada = bearer(1, &json!({ "sub": "ada", "org": { "tenant": "acme" } }));
        let other = bearer(1, &json!({ "sub": "ada", "org": { "tenant": "acme" }, "jti": 2 }));
        let bob = bearer(1, &json!({ "sub": "bob", "org": { "tenant": "acme" } }));
        let cid = bearer(1, &json!({ "sub": "cid", "org": { "tenant": "other" } }));
        assert_eq!(ask(gateway, &[&ada]).0.status, 200);
        let shouted = other.replace("Bearer ", "BEARER   ");
        assert_eq!(ask(gateway, &[&shouted]).0.status, 200, "another token, another spelling, the same user");
        let (refused, _) = ask(gateway, &[&ada]);
        assert_eq!((refused.status, refused.of_rules("r")["users"]), (429, 0));
        assert_eq!(ask(gateway, &[&bob]).0.status, 200);
        let (refused, _) = ask(gateway, &[&bob]);
        assert_eq!(refused.status, 429, "the tenant's three are used up");
        assert_eq!(refused.json()["violated-policies"], json!(["tenants"]));
        assert_eq!(ask(gateway, &[&cid]).0.status, 200, "another tenant");
    });
}

#[test]
fn an_invalid_token_is_anonymous() {
    each_store("anonymous", |gateway| {
        let forged = bearer(2, &json!({ "sub": "ada", "org": { "tenant": "acme" } }));
        let elsewhere = bearer(1, &json!({ "sub": "ada", "aud": "other" }));
        let (first, verdict) = ask(gateway, &[&forged]);
        assert_eq!((first.status, verdict.as_str(), first.of_rules("r").len()), (200, "admit", 1));
        assert_eq!(ask(gateway, &[&elsewhere]).0.remaining(), 0, "both are counted by address");
        assert_eq!(ask(gateway, &[]).0.status, 429, "as one without a token is");
    });
}

#[test]
fn an_invalid_token_is_refused_and_meets_the_limits() {
    each_store("refuse", |gateway| {
        let none =
            format!("Authorization: Bearer {}.{}.", encode(r#"{"alg":"none"}"#), encode(r#"{"sub":"ada"}"#));
        let good = bearer(1, &json!({ "sub": "ada" }));
        for (fields, remaining) in [(vec![none.as_str()], 1), (vec![good.as_str(), good.as_str()], 0)] {
            let (response, verdict) = ask(gateway, &fields);
            assert_eq!((response.status, verdict.as_str()), (401, "bad_credentials"), "{response:?}");
            assert_eq!(response.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
            assert_eq!(response.json()["type"], "urn:cupo:problem:invalid-token");
            assert_eq!(response.remaining(), remaining);
        }
        let (response, verdict) = ask(gateway, &[&none]);
        assert_eq!((response.status, verdict.as_str()), (429, "deny"), "a flood meets the limit by address");
        assert_eq!(ask(gateway, &[&good]).0.status, 200, "whoever has a token goes on");
    });
}

#[test]
fn a_secret_of_the_environment_verifies() {
    let policy = PolicyFile::new(
        "jwt: { secret_env: JWT_SECRET, algorithms: HS256, invalid: refuse }
rules: [{ name: users, key: user, limit: 5/1000d }]
",
    );
    let mut command = cupo();
    command.env("JWT_SECRET", SECRET);
    let gateway = Gateway::start_as(command, &["-c", &policy.path(), "--upstream", "demo"]);
    let input = format!("{}.{}", encode(r#"{"alg":"HS256"}"#), encode(r#"{"sub":"ada","exp":4000000000}"#));
    let signed = |secret: &str| {
        let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), input.as_bytes());
        format!("Authorization: Bearer {input}.{}", encode(signature))
    };
    assert_eq!(request(gateway.address, "GET", "/", &[&signed(SECRET)]).status, 200);
    assert_eq!(request(gateway.address, "GET", "/", &[&signed(&"x".repeat(32))]).status, 401);
    for (secret, said) in [(None, "no secret"), (Some("short"), "5 bytes")] {
        let mut command = cupo();
        command.args(["check", &policy.path()]).env_remove("JWT_SECRET");
        secret.map(|secret| command.env("JWT_SECRET", secret));
        let ran = run_to_end(command, "");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(said), "{ran:?}");
    }
}

#[test]
fn a_key_set_that_is_missing_or_wrong_is_an_error() {
    let policy = policy("refuse", "store: memory");
    assert_eq!(run(&["check", &policy.path()], "").code, Some(0));
    policy.beside("jwks.json", "{}");
    let ran = run(&["check", &policy.path()], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("jwks.json") && ran.err.contains("Key Set"), "{ran:?}");
    let missing = PolicyFile::new(
        "jwt: { keys_file: no.json, algorithms: EdDSA }\nrules: [{ name: a, key: ip, limit: 1/s }]\n",
    );
    let ran = run(&["serve", "-c", &missing.path(), "--upstream", "demo"], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("no.json` cannot be read"), "{ran:?}");
}

#[test]
fn a_replay_verifies_by_the_time_of_the_request() {
    let policy = policy("refuse", "store: memory");
    let token = bearer(1, &json!({ "sub": "ada", "exp": 2_000 }));
    let (_, value) = token.split_once(": ").unwrap();
    let event = |seconds: u64| {
        json!({ "t_us": seconds * 1_000_000, "headers": { "authorization": value } }).to_string()
    };
    let ran = run(&["replay", &policy.path()], format!("{}\n{}\n", event(1_999), event(2_030)));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].contains(r#""allowed":true"#) && lines[0].contains("user=ada"), "{ran:?}");
    assert!(lines[1].contains(r#""allowed":false"#), "{ran:?}");
}
