//! Tokens that hold, and for how long.

use std::time::Duration;

use cupo_http::{JwtAlgorithm, JwtKeys, JwtSettings, JwtVerifier, TokenError};
use serde_json::{Value, json};

use crate::support::{NOW, at, claims, decode, fault, public, raw, rfc, set, token, verifier};

const ALL: [&str; 4] = ["HS256", "RS256", "ES256", "EdDSA"];

#[test]
fn the_tokens_of_the_rfcs_hold() {
    for algorithm in ["HS256", "RS256", "ES256"] {
        let verifier = verifier(&[algorithm], JwtSettings::default());
        let vector = rfc(algorithm);
        let text = vector["token"].as_str().unwrap();
        // They expired at 1300819380.
        let claims = verifier.verify(text.as_bytes(), at(1_300_819_379)).unwrap();
        assert_eq!(
            (claims.get("iss"), claims.get("http://example.com/is_root")),
            (Some("joe"), Some("true"))
        );
        assert_eq!(claims.get("exp"), Some("1300819380"));
        assert_eq!((claims.user(), claims.get("sub")), (None, None));
        assert_eq!(fault(&verifier, text), Some(TokenError::Expired));
    }
    // The one for Ed25519 signs a sentence: its signature holds, and then it is no claims.
    let vector = rfc("EdDSA");
    let text = vector["token"].as_str().unwrap();
    assert_eq!(fault(&verifier(&["EdDSA"], JwtSettings::default()), text), Some(TokenError::Form));
}

#[test]
fn every_algorithm_signs_what_we_verify() {
    let verifier = verifier(&ALL, JwtSettings::default());
    for algorithm in ALL {
        let claims = verifier.verify(token(algorithm, &claims(&json!({}))).as_bytes(), at(NOW)).unwrap();
        assert_eq!(claims.user(), Some("ada"), "{algorithm}");
    }
}

#[test]
fn a_secret_verifies_too() {
    let secret = decode(&rfc("HS256")["key"]["k"]);
    let verifier = JwtVerifier::new(JwtSettings::default(), JwtKeys::from_secret(&secret).unwrap());
    assert_eq!(fault(&verifier, token("HS256", &claims(&json!({})))), None);
    assert_eq!(fault(&verifier, token("RS256", &claims(&json!({})))), Some(TokenError::Algorithm));
}

#[test]
fn a_token_holds_between_its_times_give_or_take_the_leeway() {
    let verifier = verifier(&["HS256"], JwtSettings::default());
    let token = token("HS256", &json!({ "nbf": NOW, "exp": NOW + 100 }));
    let fault = |seconds: u64| verifier.verify(token.as_bytes(), at(seconds)).err();
    // In either order: what is remembered expires as well.
    for _ in 0..2 {
        assert_eq!(fault(NOW - 31), Some(TokenError::NotYet));
        assert_eq!(fault(NOW - 30), None);
        assert_eq!(fault(NOW + 129), None);
        assert_eq!(fault(NOW + 130), Some(TokenError::Expired));
    }
    let mut exact = JwtSettings::default();
    exact.leeway = Duration::ZERO;
    let verifier = crate::support::verifier(&["HS256"], exact);
    let fault = |seconds: u64| verifier.verify(token.as_bytes(), at(seconds)).err();
    assert_eq!(fault(NOW - 1), Some(TokenError::NotYet));
    assert_eq!((fault(NOW), fault(NOW + 99)), (None, None));
    assert_eq!(fault(NOW + 100), Some(TokenError::Expired));
}

fn half_past(seconds: u64) -> Value {
    serde_json::from_str(&format!("{seconds}.5")).unwrap()
}

#[test]
fn times_are_numbers() {
    let verifier = verifier(&["HS256"], JwtSettings::default());
    let fault = |times: Value| fault(&verifier, token("HS256", &times));
    assert_eq!(fault(json!({})), Some(TokenError::Times), "exp is needed");
    for wrong in [json!("1900000000"), json!(null), json!(true), json!([NOW + 100]), json!({}), json!(1e300)]
    {
        assert_eq!(fault(json!({ "exp": wrong })), Some(TokenError::Times), "{wrong}");
        assert_eq!(fault(json!({ "exp": NOW + 100, "nbf": wrong })), Some(TokenError::Times), "{wrong}");
    }
    for past in [json!(0), json!(-1), json!(-1.5), json!(i64::MIN), json!(NOW - 30), half_past(NOW - 30)] {
        assert_eq!(fault(json!({ "exp": past })), Some(TokenError::Expired), "{past}");
    }
    for ahead in [json!(u64::MAX), json!(NOW + 1), half_past(NOW)] {
        assert_eq!(fault(json!({ "exp": ahead })), None, "{ahead}");
    }
    // A fraction never makes a token hold for longer.
    assert_eq!(fault(json!({ "exp": NOW + 9, "nbf": half_past(NOW + 30) })), Some(TokenError::NotYet));
    assert_eq!(fault(json!({ "exp": NOW + 9, "nbf": u64::MAX })), Some(TokenError::NotYet));
    assert_eq!(fault(json!({ "exp": NOW + 9, "nbf": -5 })), None);
    assert_eq!(fault(json!({ "exp": NOW + 9, "iat": NOW + 1_000 })), None, "`iat` is for people");
}

#[test]
fn the_issuer_and_the_audience_are_the_policys() {
    let mut settings = JwtSettings::default();
    settings.issuer = Some("https://id.example".into());
    settings.audiences = vec!["api".into(), "web".into()];
    let verifier = verifier(&["HS256"], settings);
    let fault = |iss: Value, aud: Value| {
        fault(&verifier, token("HS256", &claims(&json!({ "iss": iss, "aud": aud }))))
    };
    let own = || json!("https://id.example");
    for audience in [json!("api"), json!("web"), json!(["other", "api"]), json!([1, "web"])] {
        assert_eq!(fault(own(), audience.clone()), None, "{audience}");
    }
    for audience in
        [json!("apis"), json!("API"), json!(["other"]), json!([]), json!(null), json!({ "api": 1 })]
    {
        assert_eq!(fault(own(), audience.clone()), Some(TokenError::Audience), "{audience}");
    }
    for issuer in
        [json!("https://id.example/"), json!("https://ID.example"), json!(["https://id.example"]), json!(1)]
    {
        assert_eq!(fault(issuer.clone(), json!("api")), Some(TokenError::Issuer), "{issuer}");
    }
    let without = |claims: Value| crate::support::fault(&verifier, token("HS256", &claims));
    assert_eq!(without(claims(&json!({ "aud": "api" }))), Some(TokenError::Issuer));
    assert_eq!(without(claims(&json!({ "iss": "https://id.example" }))), Some(TokenError::Audience));
}

#[test]
fn claims_are_found_by_name_and_by_the_way_to_them() {
    let verifier = verifier(&["HS256"], JwtSettings::default());
    let body = claims(&json!({
        "tenant": "acme", "level": 3, "debt": -7, "admin": false, "empty": "",
        "share": 0.5, "nothing": null, "roles": ["a", "b"],
        "realm": { "name": "north", "deep": { "er": 1 } },
        "realm.name": "literal", "https://example.com/plan": "pro",
    }));
    let claims = verifier.verify(token("HS256", &body).as_bytes(), at(NOW)).unwrap();
    for (name, value) in [
        ("tenant", Some("acme")),
        ("level", Some("3")),
        ("debt", Some("-7")),
        ("admin", Some("false")),
        ("empty", Some("")),
        ("share", None),
        ("nothing", None),
        ("roles", None),
        ("realm", None),
        ("realm.deep.er", Some("1")),
        ("realm.name", Some("literal")),
        ("https://example.com/plan", Some("pro")),
        ("Tenant", None),
        ("", None),
    ] {
        assert_eq!(claims.get(name), value, "{name}");
    }
}

#[test]
fn the_user_is_what_the_policys_claim_says() {
    let user = |claim: &str, body: Value| {
        let mut settings = JwtSettings::default();
        settings.user_claim = claim.to_owned();
        let verifier = verifier(&["HS256"], settings);
        let claims = verifier.verify(token("HS256", &claims(&body)).as_bytes(), at(NOW)).unwrap();
        claims.user().map(str::to_owned)
    };
    assert_eq!(user("sub", json!({})).as_deref(), Some("ada"));
    assert_eq!(user("id", json!({ "id": 42 })).as_deref(), Some("42"));
    assert_eq!(user("who.mail", json!({ "who": { "mail": "a@b.example" } })).as_deref(), Some("a@b.example"));
    assert_eq!(user("id", json!({})), None);
    assert_eq!(user("sub", json!({ "sub": "" })), None);
    assert_eq!(user("sub", json!({ "sub": ["ada"] })), None);
}

#[test]
fn other_keys_take_the_place_of_those_there_are() {
    let verifier = verifier(&["EdDSA"], JwtSettings::default());
    let token = token("EdDSA", &claims(&json!({})));
    assert_eq!(fault(&verifier, &token), None);
    let keys = set(&[public("ES256", &json!({}))]);
    verifier.replace_keys(JwtKeys::from_jwks(&keys, JwtAlgorithm::ALL).unwrap());
    assert_eq!(fault(&verifier, &token), Some(TokenError::Algorithm), "what was remembered is forgotten");
    assert_eq!(fault(&verifier, raw("ES256", r#"{"alg":"ES256"}"#, claims(&json!({})).to_string())), None);
}
