//! A key by name, as requests of administrators say it.

use cupo_core::{Counter, Kind, Named, Policy};
use cupo_http::{canonical_credentials, carries_credentials};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::problem::Problem;

/// Parts of a key that are taken; no rule has more.
const MOST_PARTS: usize = 16;

/// A key of a rule. API keys and other secrets may be said in clear here: they are hashed before anything else happens to them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyName {
    pub(crate) rule: String,
    #[serde(default)]
    pub(crate) parts: Vec<String>,
    pub(crate) tier: Option<String>,
}

impl KeyName {
    /// What is counted under it.
    ///
    /// # Errors
    /// There is no such rule, tier or key.
    pub(crate) fn find(&self, policy: &Policy) -> Result<Named, Problem> {
        find(policy, &self.rule, &self.parts, self.tier.as_deref())
    }
}

/// What is counted under a key of a rule.
///
/// # Errors
/// There is no such rule, tier or key.
pub(crate) fn find(
    policy: &Policy,
    rule: &str,
    parts: &[String],
    tier: Option<&str>,
) -> Result<Named, Problem> {
    if parts.len() > MOST_PARTS {
        return Err(Problem::senseless("No key has so many parts."));
    }
    let spelling = |kind: &Kind, value: &str| {
        let header = match kind {
            Kind::ApiKey => Some(policy.trust().api_key_header.as_str()),
            Kind::Header(name) => Some(&**name),
            _ => None,
        };
        if header.is_some_and(carries_credentials) {
            canonical_credentials(value.as_bytes()).into_owned()
        } else {
            value.as_bytes().to_vec()
        }
    };
    Ok(policy.counters(rule, parts, tier, &spelling)?)
}

/// A key as it is shown, so that it can be said again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ShownKey {
    pub(crate) rule: String,
    pub(crate) parts: Vec<String>,
    /// The same for people.
    pub(crate) key: String,
}

impl ShownKey {
    pub(crate) fn of(rule: &str, key: &cupo_core::Key) -> Self {
        let parts = key.said_parts();
        Self { key: format!("{rule} {}", parts.join(" ")), rule: rule.to_owned(), parts }
    }

    pub(crate) fn target(&self) -> Value {
        json!({ "rule": self.rule, "parts": self.parts })
    }
}

/// The limit of a counter, and whose it is.
#[derive(Debug, Serialize)]
pub(crate) struct ShownLimit {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tiers: Vec<String>,
    pub(crate) times: u64,
    /// The limit in words.
    pub(crate) limit: String,
    /// The most units that it holds.
    pub(crate) quota: u64,
}

impl ShownLimit {
    pub(crate) fn of(counter: &Counter) -> Self {
        let limit = &counter.item.limit;
        Self {
            tiers: counter.tiers.iter().map(ToString::to_string).collect(),
            times: counter.times,
            limit: limit.to_string(),
            quota: limit.quota(),
        }
    }
}
