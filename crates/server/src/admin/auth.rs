//! Who asks, and whether they may.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use super::problem::Problem;
use super::settings::{AdminSettings, AdminToken, hash};

/// How somebody came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    /// By a Unix socket, which no browser does.
    pub(crate) unix: bool,
    /// The subject of the certificate that was shown.
    pub(crate) subject: Option<Arc<str>>,
}

/// Who asks, and what they may.
#[derive(Debug, Clone)]
pub(crate) struct Bearer {
    /// The name in logs.
    pub(crate) name: Arc<str>,
    pub(crate) may_read: bool,
    pub(crate) may_change: bool,
}

/// Whoever makes the request.
///
/// # Errors
/// A request of a web page, or one without a token that holds.
pub(crate) fn admit(settings: &AdminSettings, head: &Parts, link: &Link) -> Result<Bearer, Problem> {
    // A page that somebody looks at on this machine reaches its loopback addresses too. Browsers tell where every request comes
    // from that could change something, and no program does.
    if head.headers.contains_key(ORIGIN) {
        return Err(refused(
            "from-a-page",
            "Requests of web pages are not answered; this one has an `Origin`.",
        ));
    }
    if settings.tokens.is_empty() {
        // A page whose name is made to stand for this machine (DNS rebinding) still asks for that name.
        if !link.unix && !is_here(host(head)) {
            let detail = "Without tokens the `Host` has to be `localhost` or an address, whatever names this machine has.";
            return Err(refused("host", detail));
        }
        let name = link.subject.clone().unwrap_or_else(|| if link.unix { "socket" } else { "local" }.into());
        return Ok(Bearer { name, may_read: true, may_change: true });
    }
    let token = find(&settings.tokens, &head.headers).ok_or_else(|| {
        let detail = "Send `Authorization: Bearer TOKEN` with a token of the policy's `admin`.";
        Problem::new(StatusCode::UNAUTHORIZED, "unauthenticated", "Who asks is not known", detail.into())
    })?;
    let name = match &link.subject {
        Some(subject) => format!("{} ({subject})", token.name).into(),
        None => Arc::from(&*token.name),
    };
    Ok(Bearer { name, may_read: token.may_read, may_change: token.may_change })
}

impl Bearer {
    /// # Errors
    /// What the bearer may not.
    pub(crate) fn may(&self, change: bool) -> Result<(), Problem> {
        let (may, what) = if change { (self.may_change, "change") } else { (self.may_read, "read") };
        if may {
            return Ok(());
        }
        let detail =
            format!("The token of `{}` may not `{what}`; the policy's `admin` says what it may.", self.name);
        Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", "This is not allowed", detail.into()))
    }
}

fn refused(kind: &'static str, detail: &'static str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, kind, "This request is not answered", detail.into())
}

/// The token that is shown. All are looked at, whichever it is.
fn find<'a>(tokens: &'a [AdminToken], headers: &HeaderMap) -> Option<&'a AdminToken> {
    let mut lines = headers.get_all(AUTHORIZATION).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    let (scheme, shown) = line.as_bytes().split_at_checked("Bearer ".len())?;
    if !scheme.eq_ignore_ascii_case(b"Bearer ") {
        return None;
    }
    let shown = hash(shown.trim_ascii());
    let mut found = u64::MAX;
    for (index, token) in (0_u64..).zip(tokens) {
        let equal: Choice = token.hash.ct_eq(&shown);
        found.conditional_assign(&index, equal);
    }
    tokens.get(usize::try_from(found).ok()?)
}

/// The host that was asked for; nothing where several were.
fn host(head: &Parts) -> Option<&str> {
    let mut lines = head.headers.get_all(HOST).iter();
    let line = match (lines.next(), lines.next()) {
        (Some(line), None) => Some(line.to_str().ok()?),
        (None, _) => None,
        _ => return None,
    };
    match (head.uri.authority(), line) {
        (Some(authority), Some(line)) if authority.as_str() != line => None,
        (Some(authority), _) => Some(authority.as_str()),
        (None, line) => line,
    }
}

/// Whether that names this machine and nothing that a name server could say.
fn is_here(host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    let bare = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None if host.matches(':').count() > 1 => host,
        None => host.split(':').next().unwrap_or_default(),
    };
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::{AdminSettings, AdminToken, Link, Problem, admit};

    fn ask(tokens: &[(&str, &str)], unix: bool, fields: &[(&str, &str)]) -> Result<String, Problem> {
        let tokens = tokens.iter().map(|(name, token)| AdminToken::new(name, token, true, false)).collect();
        let mut request = Request::get("/v1/policy");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let settings = AdminSettings { tokens, tls: None };
        let link = Link { unix, subject: None };
        admit(&settings, &head, &link).map(|bearer| bearer.name.to_string())
    }

    #[test]
    fn without_tokens_only_this_machine_by_its_address_is_answered() {
        for host in ["localhost", "LOCALHOST:9090", "127.0.0.1:9090", "[::1]:9090", "::1"] {
            assert_eq!(ask(&[], false, &[("host", host)]).unwrap(), "local", "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9090", "", "[x]"] {
            assert_eq!(ask(&[], false, &[("host", host)]).unwrap_err().kind, "host", "{host}");
        }
        assert_eq!(ask(&[], false, &[]).unwrap_err().kind, "host");
        let two = [("host", "127.0.0.1"), ("host", "localhost")];
        assert_eq!(ask(&[], false, &two).unwrap_err().kind, "host");
        assert_eq!(ask(&[], true, &[("host", "evil.example")]).unwrap(), "socket");
        let page = [("host", "127.0.0.1"), ("origin", "null")];
        assert_eq!(ask(&[], false, &page).unwrap_err().kind, "from-a-page");
    }

    #[test]
    fn a_token_is_known_by_its_whole_text() {
        let tokens = [("ops", "0123456789abcdef"), ("watch", "fedcba9876543210")];
        let with = |value: &str| ask(&tokens, false, &[("host", "evil.example"), ("authorization", value)]);
        assert_eq!(with("Bearer 0123456789abcdef").unwrap(), "ops");
        assert_eq!(with("bearer  fedcba9876543210").unwrap(), "watch");
        for bad in [
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Basic 0123456789abcdef",
            "Bearer ",
            "Bearer",
            "é",
        ] {
            assert_eq!(with(bad).unwrap_err().status.as_u16(), 401, "{bad}");
        }
        let twice =
            [("authorization", "Bearer 0123456789abcdef"), ("authorization", "Bearer fedcba9876543210")];
        assert_eq!(ask(&tokens, true, &twice).unwrap_err().status.as_u16(), 401);
    }
}
