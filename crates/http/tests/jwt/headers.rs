//! Where a token is found, and who the request is from then.

use cupo_core::{Attributes, Trust};
use cupo_http::{Identify, Identity, JwtSettings, RequestAttributes};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde_json::json;

use crate::support::{NOW, at, claims, token, verifier};

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let line = |(name, value): &(&str, &str)| -> (HeaderName, HeaderValue) {
        (name.parse().unwrap(), value.parse().unwrap())
    };
    let mut headers = HeaderMap::new();
    for (name, value) in lines.iter().map(line) {
        headers.append(name, value);
    }
    headers
}

/// The user, `anonymous` or `refused`.
fn who(settings: JwtSettings, lines: &[(&str, &str)]) -> String {
    match verifier(&["HS256"], settings).identify(&headers(lines), at(NOW)) {
        Identity::Known(claims) => claims.user().unwrap().to_owned(),
        Identity::Anonymous => "anonymous".to_owned(),
        Identity::Refused => "refused".to_owned(),
        _ => panic!("there is no other"),
    }
}

fn refusing() -> JwtSettings {
    let mut settings = JwtSettings::default();
    settings.refuse_invalid = true;
    settings
}

#[test]
fn the_scheme_has_any_case_and_any_blanks() {
    let token = token("HS256", &claims(&json!({})));
    for value in ["Bearer T", "bearer T", "BEARER T", "Bearer    T", "Bearer \t T", "  Bearer T  "] {
        let value = value.replace('T', &token);
        assert_eq!(who(refusing(), &[("authorization", &value)]), "ada", "{value}");
    }
}

#[test]
fn what_is_no_token_is_refused_or_anonymous() {
    let token = token("HS256", &claims(&json!({})));
    let twice = format!("Bearer {token}, Bearer {token}");
    let split = format!("Bearer {} {}", &token[..9], &token[9..]);
    let joined = format!("Bearer{token}");
    for (value, refused) in [
        ("Bearer", true),
        ("Bearer ", true),
        ("bearer opaque", true),
        (twice.as_str(), true),
        (split.as_str(), true),
        // Other schemes, which somebody else may understand.
        (joined.as_str(), false),
        (token.as_str(), false),
        ("Basic dXNlcjpwYXNz", false),
        ("", false),
    ] {
        let lines = [("authorization", value)];
        assert_eq!(who(JwtSettings::default(), &lines), "anonymous", "{value}");
        assert_eq!(who(refusing(), &lines), if refused { "refused" } else { "anonymous" }, "{value}");
    }
    assert_eq!(who(refusing(), &[]), "anonymous");
}

#[test]
fn one_line_carries_the_token() {
    let good = format!("Bearer {}", token("HS256", &claims(&json!({}))));
    for other in [good.as_str(), "Basic dXNlcjpwYXNz", "Bearer x", ""] {
        for lines in [
            [("authorization", good.as_str()), ("Authorization", other)],
            [("authorization", other), ("authorization", &good)],
        ] {
            assert_eq!(who(refusing(), &lines), "refused", "{other}");
            assert_eq!(who(JwtSettings::default(), &lines), "anonymous", "{other}");
        }
    }
}

#[test]
fn another_header_may_do_without_the_scheme() {
    let mut settings = refusing();
    settings.header = HeaderName::from_static("x-token");
    let who = |lines: &[(&str, &str)]| who(settings.clone(), lines);
    let token = token("HS256", &claims(&json!({})));
    let bearer = format!("bearer {token}");
    assert_eq!(who(&[("x-token", &token)]), "ada");
    assert_eq!(who(&[("x-token", &bearer)]), "ada");
    assert_eq!(who(&[("authorization", &bearer)]), "anonymous");
    for wrong in ["Basic abc", "abc", "a b c", "bearer"] {
        assert_eq!(who(&[("x-token", wrong)]), "refused", "{wrong}");
    }
    assert_eq!(who(&[("x-token", "")]), "anonymous");
}

#[test]
fn a_verified_token_says_who_the_user_is() {
    let trust = Trust { proxies: vec!["10.0.0.0/8".parse().unwrap()].into(), ..Trust::default() };
    let (method, uri) = (Method::GET, Uri::from_static("/"));
    let verifier = verifier(&["HS256"], refusing());
    let user = |authorization: Option<&str>| {
        let mut lines = vec![("x-user", "bob")];
        lines.extend(authorization.map(|value| ("authorization", value)));
        let headers = headers(&lines);
        let identity = verifier.identify(&headers, at(NOW));
        let request =
            RequestAttributes::from_head(&method, &uri, &headers, Some([10, 0, 0, 1].into()), &trust);
        let request = request.identified(&identity);
        let text =
            |value: Option<std::borrow::Cow<'_, [u8]>>| value.map(|v| String::from_utf8(v.into()).unwrap());
        (text(request.user()), text(request.claim("tenant")), request.has_bad_credentials())
    };
    let bearer = |claims| format!("Bearer {}", token("HS256", &claims));
    let acme = bearer(claims(&json!({ "tenant": "acme" })));
    assert_eq!(user(Some(&acme)), (Some("ada".into()), Some("acme".into()), false));
    let nameless = bearer(json!({ "exp": NOW + 9 }));
    assert_eq!(user(Some(&nameless)), (Some("bob".into()), None, false), "else the trusted proxy does");
    assert_eq!(user(None), (Some("bob".into()), None, false));
    assert_eq!(user(Some("Bearer x")), (Some("bob".into()), None, true));
}

#[test]
fn credentials_have_one_spelling() {
    let trust = Trust { api_key_header: "authorization".into(), ..Trust::default() };
    let (method, uri) = (Method::GET, Uri::from_static("/"));
    for value in ["Bearer k1", "bearer  k1", "BEARER\tk1", " Bearer k1 "] {
        let headers = headers(&[("authorization", value)]);
        let request = RequestAttributes::from_head(&method, &uri, &headers, None, &trust);
        assert_eq!(request.api_key().as_deref(), Some(&b"bearer k1"[..]), "{value}");
        assert_eq!(request.header("authorization").as_deref(), Some(&b"bearer k1"[..]), "{value}");
    }
    let repeated = headers(&[("authorization", "Bearer k1"), ("authorization", "Bearer k2")]);
    let request = RequestAttributes::from_head(&method, &uri, &repeated, None, &trust);
    let other = headers(&[("authorization", "Bearer k3"), ("authorization", "Bearer k4")]);
    let other = RequestAttributes::from_head(&method, &uri, &other, None, &trust);
    assert_eq!(request.api_key(), other.api_key(), "all that is repeated is one client");
    // Of headers without a scheme the value is the key.
    let trust = Trust::default();
    let headers = headers(&[("x-api-key", "Bearer k1")]);
    let request = RequestAttributes::from_head(&method, &uri, &headers, None, &trust);
    assert_eq!(request.api_key().as_deref(), Some(&b"Bearer k1"[..]));
}
