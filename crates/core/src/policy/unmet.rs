//! Why conditions do not hold, in words.

use core::fmt;

use super::Policy;
use super::conditions::{Conditions, Failing};
use super::header::Header;
use super::request::Request;
use crate::attributes::Attributes;
use crate::key::ApiKeyHash;

/// Bytes of a header's line that are shown.
const SHOWN: usize = 96;

/// Lines of a header that are shown.
const LINES: usize = 4;

/// Headers that carry secrets, whatever the policy says of them.
const SECRET: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// A condition that a request does not meet: of several the first, in the order method, path, host, client, plan, header, not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// The condition, as the policy calls it: `method`, `path`, `host`, `client`, `plan`, `header` or `not`.
    pub condition: &'static str,
    /// What it asks for; of `not` what it leaves out.
    pub wants: Box<str>,
    /// What the request has; `None` where it has nothing of the kind. Values that may be secrets are hashed.
    pub has: Option<Box<str>>,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { condition, wants, has } = self;
        match (*condition, has) {
            ("not", _) => write!(f, "`not` leaves it out: {wants}"),
            ("header", Some(has)) => write!(f, "asks for the header {wants}, which is {has}"),
            ("header", None) => write!(f, "asks for the header {wants}, and there is none"),
            ("plan", Some(has)) => write!(f, "is for the plan {wants}, and the caller is on {has}"),
            (_, Some(has)) => write!(f, "is for the {condition} {wants}, and this is {has}"),
            (_, None) => write!(f, "is for the {condition} {wants}, and none is known"),
        }
    }
}

impl Policy {
    /// The first of `conditions` that the request does not meet.
    pub(super) fn unmet<A: Attributes + ?Sized>(
        &self,
        conditions: &Conditions,
        request: &Request<'_, A>,
    ) -> Option<Unmet> {
        let failing = conditions.failing(request, true)?;
        let text = |text: &dyn fmt::Display| Some(text.to_string().into());
        let has = match failing {
            Failing::Method => request.method.and_then(|method| text(&method.escape_default())),
            Failing::Path => request.path.as_ref().and_then(|path| {
                let came = request.attributes.path().unwrap_or_else(|| path.normal());
                let (came, normal) = (came.escape_debug(), path.normal().escape_debug());
                if came.to_string() == normal.to_string() {
                    text(&normal)
                } else {
                    text(&format_args!("{came}, read as {normal}"))
                }
            }),
            Failing::Host => request.host.as_ref().and_then(|host| text(&host.escape_debug())),
            Failing::Client => request.client.and_then(|client| text(&client)),
            Failing::Plan(_) => self.tiers().nth(request.tier).and_then(|tier| text(&tier)),
            Failing::Header(header) => self.shown_header(header, request.attributes).map(Into::into),
            Failing::Not(_) => None,
        };
        let (condition, wants) = conditions.wanted(failing);
        Some(Unmet { condition, wants: wants.into(), has })
    }

    /// Whether the header of this name carries secrets.
    fn is_secret(&self, name: &str) -> bool {
        SECRET.contains(&name)
            || name == self.trust.api_key_header
            || self.trust.token_header.as_deref() == Some(name)
            || self.exemptions.has_secret_in(name)
    }

    fn shown_header<A: Attributes + ?Sized>(&self, header: &Header, attributes: &A) -> Option<String> {
        let name = header.name();
        let is_secret = self.is_secret(name);
        let mut lines = Vec::new();
        let mut more = 0_usize;
        attributes.header_lines(name, &mut |line| {
            if lines.len() == LINES {
                more = more.saturating_add(1);
                return;
            }
            lines.push(match self.hash_api_key(line) {
                Some(ApiKeyHash(hash)) if is_secret => {
                    let begin: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                    format!("sha256:{begin}")
                }
                _ => {
                    let line = line.trim_ascii();
                    let rest = if line.len() > SHOWN { "…" } else { "" };
                    format!("`{}{rest}`", line.get(..SHOWN).unwrap_or(line).escape_ascii())
                }
            });
        });
        if more > 0 {
            lines.push(format!("{more} more"));
        }
        (!lines.is_empty()).then(|| lines.join(" and "))
    }
}
