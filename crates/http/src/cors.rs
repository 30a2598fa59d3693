//! Cross-origin requests (the Fetch standard): what scripts of another origin may read, and preflights.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_LENGTH, COOKIE, HeaderMap, HeaderName, HeaderValue,
    ORIGIN, PROXY_AUTHORIZATION, TRANSFER_ENCODING, VARY,
};
use http::{Method, Uri};

use crate::error::PresentationError;

/// Which scripts may read a refusal. The answers of a service say that for themselves.
///
/// ```
/// use cupo_http::Cors;
///
/// assert!(Cors::new(["https://app.example"], true).is_ok());
/// assert!(Cors::new(["*"], false).is_ok());
/// assert!(Cors::new(["app.example"], false).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cors {
    /// `None` for any origin.
    origins: Option<Vec<HeaderValue>>,
    credentials: bool,
}

impl Cors {
    /// Scripts of these origins, or of any where one of them is `*`; with cookies and the like where `credentials` is set.
    ///
    /// # Errors
    /// [`PresentationError::Origin`] where one is no origin (scheme, host, and perhaps port), and
    /// [`PresentationError::AnyOriginWithCredentials`].
    pub fn new<'a, I: IntoIterator<Item = &'a str>>(
        origins: I,
        credentials: bool,
    ) -> Result<Self, PresentationError> {
        let mut known = Vec::new();
        let mut any = false;
        for origin in origins {
            if origin == "*" {
                any = true;
            } else {
                known.push(parse_origin(origin)?);
            }
        }
        if any && credentials {
            return Err(PresentationError::AnyOriginWithCredentials);
        }
        Ok(Self { origins: (!any).then_some(known), credentials })
    }

    /// Lets the script that asks read the response, where it may.
    pub(crate) fn allow(&self, request: &HeaderMap, response: &mut HeaderMap) {
        let Some(origin) = request.get(ORIGIN) else { return };
        let allowed = match &self.origins {
            None => HeaderValue::from_static("*"),
            Some(origins) => {
                // Another origin would get another answer.
                response.append(VARY, HeaderValue::from_static("origin"));
                match origins.iter().find(|known| *known == origin) {
                    Some(origin) => origin.clone(),
                    None => return,
                }
            }
        };
        response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        if self.credentials {
            response.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
    }
}

/// As browsers write it: scheme and host in lower case, nothing behind the port.
fn parse_origin(text: &str) -> Result<HeaderValue, PresentationError> {
    let wrong = || PresentationError::Origin(text.into());
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return Err(wrong()) };
    let same =
        format!("{scheme}://{authority}").to_ascii_lowercase() == text && !authority.as_str().contains('@');
    if same { HeaderValue::from_str(text).map_err(|_| wrong()) } else { Err(wrong()) }
}

/// Adds `names` (separated by `, `) to what scripts may read, where the response is for scripts of another origin.
pub(crate) fn expose(names: &HeaderValue, headers: &mut HeaderMap) {
    if names.is_empty() || !headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
        return;
    }
    let mut exposed: Vec<u8> = Vec::new();
    for line in headers.get_all(ACCESS_CONTROL_EXPOSE_HEADERS) {
        if !exposed.is_empty() && !line.is_empty() {
            exposed.extend_from_slice(b", ");
        }
        exposed.extend_from_slice(line.as_bytes());
    }
    let members = |list: &[u8], name: &[u8]| {
        list.split(|byte| *byte == b',').any(|member| member.trim_ascii().eq_ignore_ascii_case(name))
    };
    // With credentials a star is a name like any other.
    let credentials =
        headers.get(ACCESS_CONTROL_ALLOW_CREDENTIALS).is_some_and(|value| value.as_bytes() == b"true");
    if members(&exposed, b"*") && !credentials {
        return;
    }
    if exposed.is_empty() {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, names.clone());
        return;
    }
    for name in names.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        if !members(&exposed, name) {
            exposed.extend_from_slice(b", ");
            exposed.extend_from_slice(name);
        }
    }
    if let Ok(value) = HeaderValue::from_bytes(&exposed) {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, value);
    }
}

/// Names of fields that make some servers take a request for one with another method, also as `_` for `-`, which
/// CGI-like interfaces cannot tell from it.
fn overrides_method(name: &HeaderName) -> bool {
    const OVERRIDES: [&str; 4] = ["x-http-method-override", "x-http-method", "x-method-override", "x-method"];
    let name = name.as_str().bytes().map(|byte| if byte == b'_' { b'-' } else { byte });
    OVERRIDES.iter().any(|own| name.clone().eq(own.bytes()))
}

/// Whether this is a preflight as browsers send it: by `OPTIONS`, with the origin and the method that is to follow, without
/// credentials, a body, or another method in disguise. Anything else with `OPTIONS` is a request like others.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && headers.get(ORIGIN).is_some_and(|origin| !origin.is_empty())
        && headers
            .get(ACCESS_CONTROL_REQUEST_METHOD)
            .is_some_and(|method| Method::from_bytes(method.as_bytes()).is_ok())
        && !headers.contains_key(COOKIE)
        && !headers.contains_key(AUTHORIZATION)
        && !headers.contains_key(PROXY_AUTHORIZATION)
        && !headers.contains_key(TRANSFER_ENCODING)
        && headers.get(CONTENT_LENGTH).is_none_or(|length| length.as_bytes() == b"0")
        && !headers.keys().any(overrides_method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(fields: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = fields.iter();
        pairs.map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn names_are_added_once_and_only_for_scripts() {
        let exposed = |given: &[(&'static str, &str)]| {
            let mut headers = fields(given);
            expose(&HeaderValue::from_static("x-a, x-b"), &mut headers);
            headers.get("access-control-expose-headers").map(|value| value.to_str().unwrap().to_owned())
        };
        let origin = ("access-control-allow-origin", "*");
        let credentials = ("access-control-allow-credentials", "true");
        let names = |list| ("access-control-expose-headers", list);
        assert_eq!(exposed(&[]), None);
        assert_eq!(exposed(&[names("etag")]), Some("etag".to_owned()), "no script may read it anyway");
        assert_eq!(exposed(&[origin]), Some("x-a, x-b".to_owned()));
        assert_eq!(exposed(&[origin, names("ETag")]), Some("ETag, x-a, x-b".to_owned()));
        assert_eq!(exposed(&[origin, names("X-B,ETag")]), Some("X-B,ETag, x-a".to_owned()));
        assert_eq!(exposed(&[origin, names("x-b, X-A")]), Some("x-b, X-A".to_owned()));
        assert_eq!(exposed(&[origin, names("*")]), Some("*".to_owned()));
        assert_eq!(exposed(&[origin, credentials, names("*")]), Some("*, x-a, x-b".to_owned()));
        let mut several = fields(&[origin]);
        several.append(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("etag"));
        several.append(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("x-a"));
        expose(&HeaderValue::from_static("x-a, x-b"), &mut several);
        let lines: Vec<_> = several.get_all(ACCESS_CONTROL_EXPOSE_HEADERS).iter().collect();
        assert_eq!(lines, ["etag, x-a, x-b"]);
    }

    #[test]
    fn a_preflight_is_what_browsers_send() {
        let plain = [("origin", "https://a.example"), ("access-control-request-method", "PUT")];
        assert!(is_preflight(&Method::OPTIONS, &fields(&plain)));
        assert!(is_preflight(&Method::OPTIONS, &fields(&[plain[0], plain[1], ("content-length", "0")])));
        assert!(!is_preflight(&Method::GET, &fields(&plain)));
        assert!(!is_preflight(&Method::OPTIONS, &fields(&[plain[0], ("access-control-request-method", "")])));
        assert!(!is_preflight(&Method::OPTIONS, &fields(&[("origin", ""), plain[1]])));
        assert!(!is_preflight(&Method::OPTIONS, &fields(&plain[..1])));
        assert!(!is_preflight(&Method::OPTIONS, &fields(&plain[1..])));
        for disguise in [
            ("cookie", "a=b"),
            ("authorization", "Bearer x"),
            ("content-length", "5"),
            ("transfer-encoding", "chunked"),
            ("x-http-method-override", "DELETE"),
            ("x-method-override", "DELETE"),
            ("x_http_method_override", "DELETE"),
            ("x-method", "DELETE"),
            ("proxy-authorization", "Basic x"),
        ] {
            assert!(
                !is_preflight(&Method::OPTIONS, &fields(&[plain[0], plain[1], disguise])),
                "{disguise:?}"
            );
        }
    }

    #[test]
    fn origins_are_as_browsers_write_them() {
        for good in ["https://a.example", "http://localhost:3000", "https://[::1]:8443"] {
            assert!(Cors::new([good], true).is_ok(), "{good}");
        }
        for bad in [
            "a.example",
            "https://a.example/",
            "https://A.example",
            "https://u@a.example",
            "null",
            "https://a.example/x",
            "",
        ] {
            assert!(Cors::new([bad], false).is_err(), "{bad}");
        }
        assert!(Cors::new(["*"], true).is_err());
    }

    #[test]
    fn a_refusal_is_readable_for_those_who_may() {
        let answered = |cors: &Cors, origin| {
            let mut response = HeaderMap::new();
            cors.allow(&fields(&[("origin", origin)]), &mut response);
            let text = |name| response.get(name).map(|value| value.to_str().unwrap().to_owned());
            (text("access-control-allow-origin"), text("access-control-allow-credentials"), text("vary"))
        };
        let some = |text: &str| Some(text.to_owned());
        let listed = Cors::new(["https://a.example", "https://b.example"], true).unwrap();
        assert_eq!(
            answered(&listed, "https://b.example"),
            (some("https://b.example"), some("true"), some("origin"))
        );
        assert_eq!(answered(&listed, "https://c.example"), (None, None, some("origin")));
        let any = Cors::new(["*"], false).unwrap();
        assert_eq!(answered(&any, "https://c.example"), (some("*"), None, None));
        let mut response = HeaderMap::new();
        any.allow(&HeaderMap::new(), &mut response);
        assert!(response.is_empty(), "nobody asks from elsewhere");
    }
}
