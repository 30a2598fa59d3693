//! The one spelling of credentials.

use std::borrow::Cow;

use http::header::{AUTHORIZATION, PROXY_AUTHORIZATION};

/// Whether the header of this name, in lower case, carries credentials: a scheme and what belongs to it (RFC 9110, section
/// 11.4).
#[must_use]
pub fn carries_credentials(name: &str) -> bool {
    name == AUTHORIZATION.as_str() || name == PROXY_AUTHORIZATION.as_str()
}

/// Credentials in the one spelling that they are counted in, whatever their sender made of what says nothing: the scheme in
/// lower case, one space, and the rest without blanks around it. `Bearer abc`, `bearer  abc` and `BEARER abc ` are one.
/// Credentials without a scheme are what they are.
///
/// ```
/// assert_eq!(*cupo_http::canonical_credentials(b" BEARER   abc "), *b"bearer abc");
/// assert_eq!(*cupo_http::canonical_credentials(b"aBc"), *b"aBc");
/// ```
#[must_use]
pub fn canonical_credentials(value: &[u8]) -> Cow<'_, [u8]> {
    let value = value.trim_ascii();
    let Some(end) = value.iter().position(u8::is_ascii_whitespace) else { return Cow::Borrowed(value) };
    let (scheme, rest) = value.split_at(end);
    if !scheme.iter().any(u8::is_ascii_uppercase)
        && rest.get(1).is_some_and(u8::is_ascii_graphic)
        && rest.starts_with(b" ")
    {
        return Cow::Borrowed(value);
    }
    let mut canonical = scheme.to_ascii_lowercase();
    canonical.push(b' ');
    canonical.extend_from_slice(rest.trim_ascii_start());
    Cow::Owned(canonical)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::canonical_credentials;

    #[test]
    fn every_spelling_is_one() {
        for spelling in
            ["Bearer abc", "bearer abc", "BEARER abc ", "bearer  abc", " bEARER\t abc\t", "Bearer\tabc"]
        {
            assert_eq!(*canonical_credentials(spelling.as_bytes()), *b"bearer abc", "{spelling}");
        }
        for (one, other) in [
            ("Bearer abc", "Bearer aBc"),
            ("Bearer abc", "Basic abc"),
            ("Bearer abc", "bearerabc"),
            ("ABC", "abc"),
            ("Digest a=1, b=2", "Digest a=1,  b=2"),
        ] {
            assert_ne!(
                canonical_credentials(one.as_bytes()),
                canonical_credentials(other.as_bytes()),
                "{one} {other}"
            );
        }
        assert_eq!(*canonical_credentials("Bearer \u{e9}".as_bytes()), *"bearer \u{e9}".as_bytes());
        assert_eq!(*canonical_credentials(b"  "), *b"");
    }

    #[test]
    fn the_one_spelling_is_kept_as_it_is() {
        for value in [&b"bearer abc"[..], b"abc", b"basic a b"] {
            assert!(matches!(canonical_credentials(value), Cow::Borrowed(same) if same == value));
        }
    }
}
