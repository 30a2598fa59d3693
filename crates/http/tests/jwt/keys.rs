//! Which keys are taken, and which are not.

use cupo_http::{JwtAlgorithm, JwtError, JwtKeys, JwtSettings, JwtVerifier, TokenError};
use serde_json::{Value, json};

use crate::support::{claims, encode, fault, public, rfc, set, token};

const ALL: &[JwtAlgorithm] = JwtAlgorithm::ALL;

fn read(keys: &[Value]) -> Result<JwtKeys, JwtError> {
    JwtKeys::from_jwks(&set(keys), ALL)
}

fn none(keys: &[Value]) -> bool {
    matches!(read(keys), Err(JwtError::NoKey { .. }))
}

#[test]
fn only_what_is_for_signatures_is_taken() {
    let key = |more: Value| public("RS256", &more);
    for taken in [
        json!({}),
        json!({ "use": "sig" }),
        json!({ "alg": "RS256" }),
        json!({ "key_ops": ["sign", "verify"] }),
    ] {
        assert_eq!(read(&[key(taken.clone())]).unwrap().len(), 1, "{taken}");
    }
    for other in [
        json!({ "use": "enc" }),
        json!({ "use": 1 }),
        json!({ "alg": "RSA-OAEP" }),
        json!({ "alg": "PS256" }),
        json!({ "alg": "HS256" }),
        json!({ "alg": "none" }),
        json!({ "alg": null }),
        json!({ "key_ops": ["encrypt"] }),
        json!({ "key_ops": "verify" }),
    ] {
        assert!(none(&[key(other.clone())]), "{other}");
    }
}

#[test]
fn only_what_the_policy_allows_is_taken() {
    let keys = set(&[public("RS256", &json!({})), public("ES256", &json!({})), public("HS256", &json!({}))]);
    let keys = |allowed: &[JwtAlgorithm]| JwtKeys::from_jwks(&keys, allowed);
    assert_eq!(keys(&[JwtAlgorithm::Rs256, JwtAlgorithm::Es256]).unwrap().len(), 2);
    assert_eq!(
        keys(&[JwtAlgorithm::EdDsa]).unwrap_err().to_string(),
        "no key of the set is for signatures by EdDSA"
    );
    assert!(keys(&[]).is_err());
    let verifier = JwtVerifier::new(JwtSettings::default(), keys(&[JwtAlgorithm::Rs256]).unwrap());
    assert_eq!(fault(&verifier, token("RS256", &claims(&json!({})))), None);
    assert_eq!(fault(&verifier, token("ES256", &claims(&json!({})))), Some(TokenError::Algorithm));
    assert_eq!(fault(&verifier, token("HS256", &claims(&json!({})))), Some(TokenError::Algorithm));
}

#[test]
fn keys_that_are_not_understood_are_left_out() {
    let keys = [
        json!({ "kty": "EC", "crv": "P-384", "x": "AA", "y": "AA" }),
        json!({ "kty": "OKP", "crv": "X25519", "x": "AA" }),
        json!({ "kty": "AKP", "alg": "ML-DSA-44", "pub": "AA" }),
        public("EdDSA", &json!({ "kid": "mine", "x5t": "AA", "custom": [1, { "a": null }] })),
    ];
    assert_eq!(read(&keys).unwrap().len(), 1);
    assert!(none(&keys[..3]));
}

#[test]
fn what_is_malformed_is_an_error() {
    let member = |member| Some(JwtError::Member { index: 0, member });
    let with = |algorithm: &str, more: Value| read(&[public(algorithm, &more)]).err();
    for wrong in [json!(null), json!(1), json!(""), json!("AQAB="), json!("A B"), json!("+/==")] {
        assert_eq!(with("RS256", json!({ "n": wrong })), member("n"), "{wrong}");
        assert_eq!(with("ES256", json!({ "x": wrong })), member("x"), "{wrong}");
        assert_eq!(with("EdDSA", json!({ "x": wrong })), member("x"), "{wrong}");
        assert_eq!(with("HS256", json!({ "k": wrong })), member("k"), "{wrong}");
    }
    assert_eq!(with("ES256", json!({ "y": encode([1; 31]) })), member("y"));
    assert_eq!(with("ES256", json!({ "y": encode([1; 33]) })), member("y"));
    for exponent in [&[0][..], &[1], &[2], &[0, 1], &[1, 0, 0], &[1, 2, 3, 4, 5]] {
        assert_eq!(with("RS256", json!({ "e": encode(exponent) })), member("e"), "{exponent:?}");
    }
    assert_eq!(with("RS256", json!({ "kid": 7 })), member("kid"));
    assert_eq!(read(&[json!({ "crv": "Ed25519" })]).err(), member("kty"));
}

#[test]
fn weak_keys_are_an_error() {
    let modulus = |bytes: usize| read(&[public("RS256", &json!({ "n": encode(vec![0xff; bytes]) }))]).err();
    assert_eq!(modulus(128), Some(JwtError::Modulus { index: 0, bits: 1_024 }));
    assert_eq!(modulus(255), Some(JwtError::Modulus { index: 0, bits: 2_040 }));
    assert_eq!(modulus(256), None);
    assert_eq!(modulus(1_025), Some(JwtError::Modulus { index: 0, bits: 8_200 }));
    let secret = |bytes: usize| read(&[public("HS256", &json!({ "k": encode(vec![7; bytes]) }))]).err();
    assert_eq!(secret(31), Some(JwtError::ShortSecret { length: 31 }));
    assert_eq!(secret(32), None);
    assert_eq!(JwtKeys::from_secret(&[7; 31]).err(), Some(JwtError::ShortSecret { length: 31 }));
    assert!(JwtKeys::from_secret(&[7; 32]).is_ok());
}

#[test]
fn private_keys_have_no_business_here() {
    for algorithm in ["RS256", "ES256", "EdDSA"] {
        let keys = [public("HS256", &json!({})), rfc(algorithm)["key"].clone()];
        assert_eq!(read(&keys).err(), Some(JwtError::Private { index: 1 }), "{algorithm}");
    }
}

#[test]
fn a_set_is_an_object_with_keys() {
    for text in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[1]}"#, r#"{"keys":[],"keys":[]}"#, "not JSON"]
    {
        assert_eq!(JwtKeys::from_jwks(text.as_bytes(), ALL).err(), Some(JwtError::NoSet), "{text}");
    }
    assert!(none(&[]));
    let long = vec![b' '; (256 << 10) + 1];
    assert_eq!(JwtKeys::from_jwks(&long, ALL).err(), Some(JwtError::TooLong { limit: 256 << 10 }));
}

#[test]
fn a_number_may_begin_with_zeros() {
    let n = crate::support::decode(&rfc("RS256")["key"]["n"]);
    let keys =
        read(&[public("RS256", &json!({ "n": encode([&[0], &n[..]].concat()), "e": encode([0, 1, 0, 1]) }))]);
    let verifier = JwtVerifier::new(JwtSettings::default(), keys.unwrap());
    assert_eq!(fault(&verifier, token("RS256", &claims(&json!({})))), None);
}

#[test]
fn without_a_name_few_keys_are_tried() {
    let other =
        |number: u8| public("HS256", &json!({ "k": encode([number; 32]), "kid": number.to_string() }));
    let after = |others: u8| {
        let mut keys: Vec<Value> = (0..others).map(other).collect();
        keys.push(public("HS256", &json!({ "kid": "mine" })));
        JwtVerifier::new(JwtSettings::default(), read(&keys).unwrap())
    };
    let nameless = token("HS256", &claims(&json!({})));
    assert_eq!(fault(&after(7), &nameless), None);
    assert_eq!(fault(&after(8), &nameless), Some(TokenError::Signature));
    let named =
        crate::support::raw("HS256", r#"{"alg":"HS256","kid":"mine"}"#, claims(&json!({})).to_string());
    assert_eq!(fault(&after(100), named), None);
}

#[test]
fn nothing_secret_is_shown() {
    let shown = format!("{:?}", read(&[public("HS256", &json!({ "kid": "a" }))]).unwrap());
    assert_eq!(shown, "JwtKeys([Key { id: Some(\"a\"), algorithm: Hs256 }])");
}
