//! Which header fields end here: RFC 9110, section 7.6.1, and the ones that only a trusted peer may set.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;

/// Members of the `Connection` fields: fields that the sender meant for this hop only.
pub(super) type Nominated<'a> = SmallVec<[&'a [u8]; 4]>;

/// The comma-separated members of a list field, trimmed and not empty.
pub(super) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|member| !member.is_empty())
}

/// The fields that `headers`' own `Connection` fields nominate, besides those that are hop-by-hop anyway.
pub(super) fn nominated(headers: &HeaderMap) -> Nominated<'_> {
    let mut names = Nominated::new();
    for value in headers.get_all(header::CONNECTION) {
        names.extend(members(value.as_bytes()).filter(|name| removable(name)));
    }
    names
}

/// Whether a `Connection` field's word about `name` is news that may be followed: `close`, `keep-alive` and `upgrade` are
/// no fields or dealt with anyway, and nobody may have a field removed that frames or routes the message.
pub(super) fn removable(name: &[u8]) -> bool {
    const KEPT: [&[u8]; 8] = [
        b"keep-alive",
        b"close",
        b"upgrade",
        b"te",
        b"host",
        b"content-length",
        b"content-type",
        b"authorization",
    ];
    !KEPT.iter().any(|kept| name.eq_ignore_ascii_case(kept))
}

/// Whether any `Connection` field has the member `token`.
pub(super) fn connection_has(headers: &HeaderMap, token: &[u8]) -> bool {
    let mut values = headers.get_all(header::CONNECTION).iter();
    values.any(|value| members(value.as_bytes()).any(|member| member.eq_ignore_ascii_case(token)))
}

/// Whether the peer accepts trailers: `TE: trailers`.
pub(super) fn te_trailers(headers: &HeaderMap) -> bool {
    let accepts = |value: &HeaderValue| {
        members(value.as_bytes()).any(|member| member.eq_ignore_ascii_case(b"trailers"))
    };
    headers.get_all(header::TE).iter().any(accepts)
}

/// Fields of one hop, whatever `Connection` says. `TE` and `Upgrade` are among them and are written anew where they pass.
pub(super) fn hop_by_hop(name: &HeaderName) -> bool {
    match *name {
        header::CONNECTION
        | header::TRANSFER_ENCODING
        | header::TE
        | header::UPGRADE
        | header::PROXY_AUTHENTICATE
        | header::PROXY_AUTHORIZATION => true,
        _ => {
            let name = name.as_str();
            matches!(name.len(), 10 | 14 | 16 | 25)
                && matches!(
                    name,
                    "keep-alive" | "proxy-connection" | "proxy-authentication-info" | "http2-settings"
                )
        }
    }
}

/// Fields that say who the client is, and that applications believe: `Forwarded`, `X-Forwarded-*`, `X-Real-IP`, also as
/// the underscored names that CGI-like interfaces cannot tell from them.
pub(super) fn speaks_for_client(name: &HeaderName) -> bool {
    if *name == header::FORWARDED {
        return true;
    }
    let name = name.as_str().as_bytes();
    match name {
        [b'x', b'-' | b'_', rest @ ..] => {
            same(rest, b"real-ip")
                || (rest.len() > 10 && rest.get(..10).is_some_and(|head| same(head, b"forwarded-")))
        }
        _ => false,
    }
}

/// Equality up to `_` for `-`.
fn same(name: &[u8], dashed: &[u8]) -> bool {
    name.len() == dashed.len() && name.iter().zip(dashed).all(|(&a, &b)| a == b || (a == b'_' && b == b'-'))
}

/// Trailers that may pass: those that frame, route or authenticate a message may not (RFC 9110, section 6.5.1).
pub(super) fn allowed_trailer(name: &HeaderName) -> bool {
    !hop_by_hop(name)
        && !speaks_for_client(name)
        && !matches!(
            *name,
            header::CONTENT_LENGTH
                | header::CONTENT_ENCODING
                | header::CONTENT_TYPE
                | header::CONTENT_RANGE
                | header::HOST
                | header::TRAILER
                | header::AUTHORIZATION
                | header::SET_COOKIE
                | header::COOKIE
                | header::CACHE_CONTROL
                | header::EXPECT
                | header::MAX_FORWARDS
                | header::RANGE
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hop_by_hop_fields_are_known() {
        for name in [
            "connection",
            "keep-alive",
            "proxy-connection",
            "proxy-authenticate",
            "proxy-authorization",
            "proxy-authentication-info",
            "te",
            "transfer-encoding",
            "upgrade",
            "http2-settings",
        ] {
            assert!(hop_by_hop(&HeaderName::from_static(name)), "{name}");
        }
        for name in ["trailer", "host", "content-length", "x-keep-alive", "etag"] {
            assert!(!hop_by_hop(&HeaderName::from_static(name)), "{name}");
        }
    }

    #[test]
    fn disguised_client_fields_are_known() {
        for name in
            ["forwarded", "x-forwarded-for", "x_forwarded_for", "x-forwarded_proto", "x-real-ip", "x_real_ip"]
        {
            assert!(speaks_for_client(&HeaderName::from_static(name)), "{name}");
        }
        for name in ["x-forward", "x-forwarded-", "x-real-ipv6", "x-request-id", "from"] {
            assert!(!speaks_for_client(&HeaderName::from_static(name)), "{name}");
        }
    }

    #[test]
    fn connection_cannot_remove_framing() {
        let mut headers = HeaderMap::new();
        headers.append("connection", HeaderValue::from_static("close, X-Secret ,, content-length"));
        headers.append("connection", HeaderValue::from_static("Host,x-two"));
        let names = nominated(&headers);
        assert_eq!(names.as_slice(), [b"X-Secret".as_slice(), b"x-two".as_slice()]);
    }
}
