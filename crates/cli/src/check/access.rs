//! Who passes, who does not, and by what callers are known.

use std::io::{self, Write};

use cupo_config::{Config, InvalidToken, JwtKeySource, JwtSource, RuleResponseSource};
use cupo_core::{DisplayDuration, Rule};

/// Tokens and lists, where there are any.
pub(super) fn describe(config: &Config, out: &mut impl Write) -> io::Result<()> {
    if let Some(jwt) = &config.jwt {
        writeln!(out, "tokens           {}", tokens(jwt))?;
        writeln!(out, "  which name     the user in {}", jwt.user_claim.as_deref().unwrap_or("sub"))?;
        let invalid = match jwt.invalid {
            InvalidToken::Refuse => "refused with 401, once the request is counted as one without a token",
            _ => "taken for none: the request is anonymous",
        };
        writeln!(out, "  where invalid  {invalid}")?;
    }
    for (name, requests) in config.policy.allowed() {
        writeln!(out, "allows           {name}: {requests}, uncounted")?;
    }
    for (name, requests) in config.policy.blocked() {
        writeln!(out, "blocks           {name}: {requests}, with 403")?;
    }
    Ok(())
}

fn tokens(jwt: &JwtSource) -> String {
    let header = match jwt.header.as_deref() {
        None | Some("authorization") => "authorization, after Bearer".to_owned(),
        Some(other) => other.to_owned(),
    };
    let keys = match &jwt.keys {
        JwtKeySource::File(path) => format!("by the keys in {}", path.display()),
        JwtKeySource::Environment(name) => format!("by the secret in the variable {name}"),
        _ => "by keys of another kind".to_owned(),
    };
    let mut parts = vec![format!("in {header}; {} {keys}", jwt.algorithms.join(" or "))];
    parts.extend(jwt.issuer.as_ref().map(|issuer| format!("issued by {issuer}")));
    parts.extend((!jwt.audiences.is_empty()).then(|| format!("for {}", jwt.audiences.join(" or "))));
    parts.extend(jwt.leeway.map(|leeway| format!("clocks may differ by {}", DisplayDuration(leeway))));
    parts.join("; ")
}

/// What is answered where the rule refuses.
pub(super) fn refusal(rule: &Rule, own: Option<&RuleResponseSource>) -> String {
    let status = own.and_then(|own| own.status).unwrap_or(429);
    let never = rule.limits().all(|limit| limit.is_none_or(|limit| limit.quota() == 0));
    // With another status a wait would mean something else.
    match (matches!(status, 429 | 503), never) {
        (true, false) => format!("{status} with Retry-After"),
        (true, true) => format!("{status} without Retry-After, since waiting does not help"),
        (false, _) => format!("{status}, without Retry-After"),
    }
}
