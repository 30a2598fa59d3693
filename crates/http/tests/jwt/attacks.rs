//! What is sent in the hope that somebody falls for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cupo_http::{JwtAlgorithm, JwtKeys, JwtSettings, JwtVerifier, MAX_TOKEN_BYTES, TokenError};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    claims, decode, encode, fault, hmac_with, public, raw, rfc, set, sign, token, verifier,
};

fn rsa_verifier() -> JwtVerifier {
    verifier(&["RS256", "ES256", "EdDSA"], JwtSettings::default())
}

fn body() -> String {
    claims(&json!({})).to_string()
}

/// A token with this head and a signature of these bytes.
fn forged(header: &Value, signature: &[u8]) -> String {
    format!("{}.{}.{}", encode(header.to_string()), encode(body()), encode(signature))
}

#[test]
fn none_is_no_algorithm() {
    let verifier = rsa_verifier();
    for alg in
        ["none", "None", "NONE", "nOnE", "", "HS256 ", "rs256", "RS-256", "RS384", "PS256", "ES256K", "HS512"]
    {
        for signature in [&b""[..], b"x", &[0; 64], &[0; 256]] {
            let token = forged(&json!({ "alg": alg, "typ": "JWT" }), signature);
            assert_eq!(fault(&verifier, token), Some(TokenError::Algorithm), "{alg}");
        }
    }
    for header in [json!({}), json!({ "alg": null }), json!({ "alg": ["RS256"] }), json!({ "alg": 1 })] {
        assert_eq!(fault(&verifier, forged(&header, b"")), Some(TokenError::Algorithm), "{header}");
    }
}

#[test]
fn a_public_key_is_no_secret() {
    // HS256 under everything that the attacker knows: the RSA key as DER, as PEM, as its JSON, its modulus.
    let (n, e) = (decode(&rfc("RS256")["key"]["n"]), decode(&rfc("RS256")["key"]["e"]));
    let tlv = |tag: u8, content: Vec<u8>| {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [vec![tag, 0x82, length[0], length[1]], content].concat()
    };
    let key = tlv(0x30, [tlv(2, [vec![0], n.clone()].concat()), tlv(2, e)].concat());
    let bits = tlv(3, [vec![0], key.clone()].concat());
    let algorithm = [0x30, 0x0d, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0].to_vec();
    let spki = tlv(0x30, [algorithm, bits].concat());
    let lines: Vec<String> = STANDARD
        .encode(&spki)
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8(line.to_vec()).unwrap())
        .collect();
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"));
    let jwk = public("RS256", &json!({})).to_string().into_bytes();
    let ed = decode(&rfc("EdDSA")["key"]["x"]);
    let mut with_secret = vec![public("RS256", &json!({})), public("HS256", &json!({}))];
    with_secret[0]["kid"] = json!("rsa");
    let both = JwtKeys::from_jwks(&set(&with_secret), JwtAlgorithm::ALL).unwrap();
    let both = JwtVerifier::new(JwtSettings::default(), both);
    for secret in
        [spki, key, pem.clone().into_bytes(), pem.trim().as_bytes().to_vec(), n, jwk, ed, Vec::new()]
    {
        for header in [json!({ "alg": "HS256" }), json!({ "alg": "HS256", "kid": "rsa" })] {
            let input = format!("{}.{}", encode(header.to_string()), encode(body()));
            let token = format!("{input}.{}", encode(hmac_with(&secret, input.as_bytes())));
            assert_eq!(fault(&rsa_verifier(), &token), Some(TokenError::Algorithm));
            assert_eq!(fault(&both, &token), Some(TokenError::Signature));
        }
    }
}

#[test]
fn a_key_is_for_the_algorithm_of_its_type() {
    // One name, two keys of different types: each is tried on its own algorithm only.
    let keys = [public("RS256", &json!({ "kid": "k" })), public("ES256", &json!({ "kid": "k" }))];
    let keys = JwtKeys::from_jwks(&set(&keys), JwtAlgorithm::ALL).unwrap();
    let verifier = JwtVerifier::new(JwtSettings::default(), keys);
    let signed = |by: &str, alg: &str| raw(by, json!({ "alg": alg, "kid": "k" }).to_string(), body());
    assert_eq!(fault(&verifier, signed("RS256", "RS256")), None);
    assert_eq!(fault(&verifier, signed("ES256", "ES256")), None);
    assert_eq!(fault(&verifier, signed("RS256", "ES256")), Some(TokenError::Signature));
    assert_eq!(fault(&verifier, signed("ES256", "RS256")), Some(TokenError::Signature));
    assert_eq!(fault(&verifier, signed("EdDSA", "EdDSA")), Some(TokenError::Algorithm));
}

#[test]
fn a_token_does_not_bring_its_own_key() {
    let verifier = verifier(&["RS256"], JwtSettings::default());
    let theirs = public("ES256", &json!({}));
    for extra in [
        json!({ "jwk": theirs, "alg": "ES256" }),
        json!({ "jku": "https://evil.example/jwks.json", "alg": "ES256" }),
        json!({ "x5u": "https://evil.example/cert.pem", "alg": "ES256" }),
        json!({ "x5c": ["MIIB"], "alg": "ES256" }),
    ] {
        assert_eq!(fault(&verifier, raw("ES256", extra.to_string(), body())), Some(TokenError::Algorithm));
    }
    // Beside a signature that holds they say nothing.
    let beside = json!({ "alg": "RS256", "jwk": theirs, "jku": "https://evil.example", "typ": "at+jwt" });
    assert_eq!(fault(&verifier, raw("RS256", beside.to_string(), body())), None);
}

#[test]
fn the_name_of_a_key_is_no_more_than_that() {
    let keys =
        JwtKeys::from_jwks(&set(&[public("HS256", &json!({ "kid": "2026" }))]), JwtAlgorithm::ALL).unwrap();
    let verifier = JwtVerifier::new(JwtSettings::default(), keys);
    let named = |kid: Value| raw("HS256", json!({ "alg": "HS256", "kid": kid }).to_string(), body());
    assert_eq!(fault(&verifier, named(json!("2026"))), None);
    assert_eq!(fault(&verifier, token("HS256", &claims(&json!({})))), None, "without a name, all are tried");
    for kid in
        ["", "2027", "../../../dev/null", "' OR 1=1 --", "2026\0", "/etc/passwd", "http://evil.example"]
    {
        assert_eq!(fault(&verifier, named(json!(kid))), Some(TokenError::Signature), "{kid}");
    }
    for kid in [json!(2026), json!(null), json!(["2026"])] {
        assert_eq!(fault(&verifier, named(kid.clone())), Some(TokenError::Form), "{kid}");
    }
}

#[test]
fn extensions_are_not_understood() {
    let verifier = rsa_verifier();
    for header in [
        json!({ "alg": "EdDSA", "crit": ["b64"], "b64": false }),
        json!({ "alg": "EdDSA", "crit": ["exp"], "exp": 1 }),
        json!({ "alg": "EdDSA", "crit": [] }),
        json!({ "alg": "EdDSA", "crit": null }),
    ] {
        assert_eq!(fault(&verifier, raw("EdDSA", header.to_string(), body())), Some(TokenError::Extension));
    }
}

#[test]
fn no_name_comes_twice() {
    let verifier = verifier(&["HS256"], JwtSettings::default());
    let plain = r#"{"alg":"HS256"}"#;
    for header in [r#"{"alg":"none","alg":"HS256"}"#, r#"{"alg":"HS256","\u0061lg":"HS256"}"#] {
        assert_eq!(fault(&verifier, raw("HS256", header, body())), Some(TokenError::Form));
    }
    for claims in [
        r#"{"sub":"ada","sub":"root","exp":1900000000}"#,
        r#"{"exp":1,"exp":1900000000}"#,
        r#"{"exp":1900000000,"a":{"b":1,"b":2}}"#,
    ] {
        assert_eq!(fault(&verifier, raw("HS256", plain, claims)), Some(TokenError::Form), "{claims}");
    }
}

#[test]
fn a_body_is_an_object() {
    let verifier = verifier(&["HS256"], JwtSettings::default());
    for body in ["", "null", "[]", "\"a\"", "1", "{", "{}{}", "\u{feff}{}", "exp=1"] {
        assert_eq!(
            fault(&verifier, raw("HS256", r#"{"alg":"HS256"}"#, body)),
            Some(TokenError::Form),
            "{body}"
        );
    }
    for header in ["", "null", "[]", "HS256", "{\"alg\":\"HS256\""] {
        assert_eq!(fault(&verifier, raw("HS256", header, r#"{"exp":1900000000}"#)), Some(TokenError::Form));
    }
}

#[test]
fn a_token_has_one_spelling() {
    let verifier = verifier(&["HS256"], JwtSettings::default());
    let good = token("HS256", &claims(&json!({ "pad": "x" })));
    assert_eq!(fault(&verifier, &good), None);
    let parts: Vec<&str> = good.split('.').collect();
    let (head, body, signature) = (parts[0], parts[1], parts[2]);
    // The last letter of 32 bytes in base64 has bits that say nothing; another letter is another token, and none.
    let last = signature.chars().next_back().unwrap();
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let twin = letters.chars().nth(letters.find(last).unwrap() ^ 1).unwrap();
    let twin = format!("{head}.{body}.{}{twin}", &signature[..signature.len() - 1]);
    assert_eq!(fault(&verifier, &twin), Some(TokenError::Form));
    for odd in [
        format!("{head}.{body}.{signature}="),
        format!("{head}=.{body}.{signature}"),
        format!(" {good}"),
        format!("{good} "),
        format!("{good}\n"),
        format!("{head}.{body} .{signature}"),
        format!("{head}.{body}"),
        format!("{head}.{body}."),
        format!("{good}."),
        format!("{good}.{signature}"),
        format!("{head}..{signature}"),
        format!(".{body}.{signature}"),
        "..".to_owned(),
        String::new(),
        good.replace('.', ","),
        good[..good.len() - 1].to_owned(),
        good[..good.len() / 2].to_owned(),
    ] {
        let fault = fault(&verifier, &odd);
        assert!(matches!(fault, Some(TokenError::Form | TokenError::Signature)), "{odd}: {fault:?}");
    }
}

#[test]
fn a_signature_is_whole() {
    let verifier = rsa_verifier();
    for algorithm in ["RS256", "ES256", "EdDSA"] {
        let input = format!("{}.{}", encode(json!({ "alg": algorithm }).to_string()), encode(body()));
        let signature = sign(algorithm, input.as_bytes());
        let fault = |signature: &[u8]| fault(&verifier, format!("{input}.{}", encode(signature)));
        assert_eq!(fault(&signature), None);
        assert_eq!(fault(&[]), Some(TokenError::Signature));
        assert_eq!(fault(&vec![0; signature.len()]), Some(TokenError::Signature), "psychic signatures");
        assert_eq!(fault(&signature[1..]), Some(TokenError::Signature));
        assert_eq!(fault(&[&[0], &signature[..]].concat()), Some(TokenError::Signature));
        let mut flipped = signature.clone();
        flipped[signature.len() / 2] ^= 1;
        assert_eq!(fault(&flipped), Some(TokenError::Signature));
        let other =
            format!("{}.{}", encode(json!({ "alg": algorithm }).to_string()), encode(r#"{"sub":"root"}"#));
        assert_eq!(
            crate::support::fault(&verifier, format!("{other}.{}", encode(&signature))),
            Some(TokenError::Signature)
        );
    }
}

#[test]
fn a_token_is_not_endless() {
    let verifier = verifier(&["HS256"], JwtSettings::default());
    let long = |pad: usize| token("HS256", &claims(&json!({ "pad": "x".repeat(pad) })));
    let fits =
        (0..).map(|shorter| long(6_070 - shorter)).find(|token| token.len() <= MAX_TOKEN_BYTES).unwrap();
    assert!(fits.len() > MAX_TOKEN_BYTES - 4, "{}", fits.len());
    assert_eq!(fault(&verifier, fits), None);
    assert_eq!(fault(&verifier, long(6_080)), Some(TokenError::TooLong));
    assert_eq!(fault(&verifier, vec![b'.'; 1 << 20]), Some(TokenError::TooLong));
    let deep = format!("{{\"alg\":{}", "[".repeat(4_000));
    assert_eq!(fault(&verifier, raw("HS256", deep, "{}")), Some(TokenError::Form));
}

proptest! {
    #[test]
    fn no_bytes_hold_or_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(fault(&rsa_verifier(), &bytes).is_some());
    }

    #[test]
    fn no_changed_token_holds(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let verifier = verifier(&["EdDSA"], JwtSettings::default());
        let mut token = token("EdDSA", &claims(&json!({}))).into_bytes();
        let place = place.index(token.len());
        prop_assume!(token[place] != byte);
        token[place] = byte;
        prop_assert!(fault(&verifier, &token).is_some());
    }
}
