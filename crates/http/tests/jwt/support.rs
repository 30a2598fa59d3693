//! Issuers: the keys of the RFCs' examples, which sign tokens that a test makes up.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cupo_core::Timestamp;
use cupo_http::{JwtAlgorithm, JwtKeys, JwtSettings, JwtVerifier, TokenError};
use ring::rand::SystemRandom;
use ring::rsa::{KeyPairComponents, PublicKeyComponents};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use ring::{hmac, rand};
use serde_json::{Value, json};

/// Seconds since the Unix epoch: 2026-11-29 21:00:00 UTC.
pub(crate) const NOW: u64 = 1_795_986_000;

/// The keys and tokens of RFC 7515, appendix A, and RFC 8037, appendix A.
pub(crate) fn rfc(algorithm: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("rfc.json")).unwrap();
    all[algorithm].clone()
}

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(text: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap()
}

/// The public half of the key, with `more` members.
pub(crate) fn public(algorithm: &str, more: &Value) -> Value {
    let mut key = rfc(algorithm)["key"].clone();
    let members = key.as_object_mut().unwrap();
    for private in ["d", "p", "q", "dp", "dq", "qi"] {
        members.remove(private);
    }
    members.extend(more.as_object().unwrap().clone());
    key
}

pub(crate) fn set(keys: &[Value]) -> Vec<u8> {
    json!({ "keys": keys }).to_string().into_bytes()
}

/// A verifier with the RFCs' key for each of these algorithms.
pub(crate) fn verifier(algorithms: &[&str], settings: JwtSettings) -> JwtVerifier {
    let keys: Vec<Value> = algorithms.iter().map(|algorithm| public(algorithm, &json!({}))).collect();
    let algorithms: Vec<_> = algorithms.iter().map(|name| JwtAlgorithm::from_name(name).unwrap()).collect();
    JwtVerifier::new(settings, JwtKeys::from_jwks(&set(&keys), &algorithms).unwrap())
}

/// Signs what stands before the second point of a token.
pub(crate) fn sign(algorithm: &str, input: &[u8]) -> Vec<u8> {
    let key = rfc(algorithm)["key"].clone();
    let random = SystemRandom::new();
    match algorithm {
        "HS256" => hmac_with(&decode(&key["k"]), input),
        "RS256" => {
            let part = |name: &str| decode(&key[name]);
            let components = KeyPairComponents {
                public_key: PublicKeyComponents { n: part("n"), e: part("e") },
                d: part("d"),
                p: part("p"),
                q: part("q"),
                dP: part("dp"),
                dQ: part("dq"),
                qInv: part("qi"),
            };
            let pair = RsaKeyPair::from_components(&components).unwrap();
            let mut signature = vec![0; pair.public().modulus_len()];
            pair.sign(&RSA_PKCS1_SHA256, &random, input, &mut signature).unwrap();
            signature
        }
        "ES256" => {
            let point = [vec![4], decode(&key["x"]), decode(&key["y"])].concat();
            let random: &dyn rand::SecureRandom = &random;
            let pair = EcdsaKeyPair::from_private_key_and_public_key(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                &decode(&key["d"]),
                &point,
                random,
            );
            pair.unwrap().sign(random, input).unwrap().as_ref().to_vec()
        }
        "EdDSA" => {
            let pair = Ed25519KeyPair::from_seed_and_public_key(&decode(&key["d"]), &decode(&key["x"]));
            pair.unwrap().sign(input).as_ref().to_vec()
        }
        other => panic!("nobody signs by {other}"),
    }
}

pub(crate) fn hmac_with(secret: &[u8], input: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), input).as_ref().to_vec()
}

/// A token with this head and body as they are, signed by the RFCs' key.
pub(crate) fn raw(algorithm: &str, header: impl AsRef<[u8]>, body: impl AsRef<[u8]>) -> String {
    let input = format!("{}.{}", encode(header), encode(body));
    let signature = encode(sign(algorithm, input.as_bytes()));
    format!("{input}.{signature}")
}

/// A token with these claims.
pub(crate) fn token(algorithm: &str, claims: &Value) -> String {
    raw(algorithm, json!({ "alg": algorithm }).to_string(), claims.to_string())
}

/// Claims that hold for an hour, and `more`.
pub(crate) fn claims(more: &Value) -> Value {
    let mut claims = json!({ "sub": "ada", "exp": NOW + 3_600 });
    claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    claims
}

/// Why a token does not hold; `None` where it does.
pub(crate) fn fault(verifier: &JwtVerifier, token: impl AsRef<[u8]>) -> Option<TokenError> {
    verifier.verify(token.as_ref(), at(NOW)).err()
}
