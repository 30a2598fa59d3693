//! The answer as plain values.

use std::time::Duration;

use cupo_core::{Attributes as _, Bearing, CallerView, Decision, Explanation, Outcome, Settled, Verdict};
use http::{HeaderMap, Response};
use serde::{Deserialize, Serialize};

use super::words;
use crate::attributes::RequestAttributes;
use crate::diagnostic::Diagnostics;
use crate::presentation::Presentation;

/// What would become of a request, and why. As JSON for programs; as text ([`Display`](std::fmt::Display)) for people. Secrets are
/// hashed in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedRequest {
    /// The method.
    pub method: String,
    /// The path as it came, without the query, which may hold secrets.
    pub path: String,
    /// The host that is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The instant of the explanation, in microseconds since the Unix epoch, by the clock that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_us: Option<u64>,
    /// `admit`, `deny` (wait), `impossible` (its cost never fits), `refuse` (whatever the limits say), `unavailable` (the store
    /// cannot decide), `status` or `health` (answered by the endpoint of this name, which no rule counts).
    pub verdict: String,
    /// The rule that decides: the one that refuses, or the one that has room for the fewest more such requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// The wait of a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_us: Option<u64>,
    /// How long an admitted request is held.
    pub delay_us: u64,
    /// What settles it other than its limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<ExplainedSettling>,
    /// Why the store could not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_error: Option<String>,
    /// Who the caller is taken to be.
    pub caller: ExplainedCaller,
    /// Every rule, in the order of the policy.
    pub rules: Vec<ExplainedRule>,
    /// What the caller would be answered.
    pub response: ExplainedAnswer,
}

/// What settles a request other than its limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedSettling {
    /// `allow`, `block`, `uncounted`, `bad_credentials` or `missing`.
    pub by: String,
    /// The entry of a list or of the callers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The same in words.
    pub says: String,
}

/// Who the caller is taken to be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedCaller {
    /// The other end of the connection.
    pub peer: String,
    /// The client's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// How that was found.
    pub client_by: String,
    /// What is doubtful about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<ExplainedDiagnostic>,
    /// The user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The hash of the API key, as `cupo hash-key` prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_hash: Option<String>,
    /// Whether there are several API keys, which all count as one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub several_keys: bool,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Where it is said: `callers`, `claim(NAME)`, `header(NAME)` or `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_by: Option<String>,
    /// The entry of the callers that is about this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// By how much the caller's limits are multiplied.
    pub times: u64,
    /// Whether the credentials do not hold, where such requests are refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bad_credentials: bool,
}

/// Something doubtful.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedDiagnostic {
    /// The stable code.
    pub code: String,
    /// What happened, and what was done about it.
    pub says: String,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedRule {
    /// The name.
    pub name: String,
    /// Whether it applies to the request.
    pub applies: bool,
    /// `enforced`, `watched` (`action: shadow`), `unmet`, `unlimited`, `lacks`, `refuses`, `stopped` or `settled`.
    pub bearing: String,
    /// The same in words.
    pub says: String,
    /// The condition that fails, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmet: Option<ExplainedUnmet>,
    /// What it counts by, as the policy writes it.
    pub scope: String,
    /// What it counts the request under. Hashed values show the beginning of their hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The parts of that key, each as the admin API takes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// The limit, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Units that it can hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<u64>,
    /// Units that the request takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// What becomes of them once the response is there, where they are not charged for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settles: Option<String>,
    /// Units that are left now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// The time until all of them are there again, if nothing else is admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_after_us: Option<u64>,
    /// What it would say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would: Option<ExplainedDecision>,
}

/// A condition that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedUnmet {
    /// `method`, `path`, `host`, `client`, `plan`, `header` or `not`.
    pub condition: String,
    /// What it asks for.
    pub wants: String,
    /// What the request has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<String>,
}

/// What a rule would say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedDecision {
    /// `admit`, `deny` or `impossible`.
    pub verdict: String,
    /// Units that would be left. Where another rule refuses, none are taken.
    pub remaining: u64,
    /// The wait of a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_us: Option<u64>,
    /// The time until all units are there again.
    pub reset_after_us: u64,
    /// How long the request would be held.
    pub delay_us: u64,
}

/// What the caller would be answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedAnswer {
    /// The status of a refusal; none where the request goes on, and the status is the upstream's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The headers of a refusal, or those that are added to the upstream's. Where the upstream speaks of limits itself, what is
    /// said is the policy's `upstream_headers`.
    pub headers: Vec<(String, String)>,
    /// The body of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The most seconds that a jitter would add to the waits that are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_seconds: Option<u64>,
}

impl ExplainedRequest {
    /// The explanation of the request with these attributes, which is answered like this.
    #[must_use]
    pub fn new(
        explanation: &Explanation,
        attributes: &RequestAttributes<'_>,
        presentation: &Presentation,
    ) -> Self {
        let outcome = explanation.outcome();
        let known = outcome.ok();
        let settled = known.and_then(|outcome| Some((outcome.settled()?, outcome)));
        let binding = known.and_then(|outcome| {
            let settled = outcome.settled().is_some_and(|settled| *settled != Settled::BadCredentials);
            let ruling = outcome.binding().filter(|_| !settled).map(|ruling| ruling.rule);
            Some(ruling.or_else(|| outcome.lacks())?.name().to_owned())
        });
        Self {
            method: attributes.method().unwrap_or_default().to_owned(),
            path: attributes.path().unwrap_or_default().to_owned(),
            host: attributes.host().map(ToOwned::to_owned),
            at_us: known.map(|outcome| outcome.at().as_micros()),
            verdict: words::verdict(outcome).to_owned(),
            binding,
            retry_after_us: known.and_then(Outcome::retry_after).map(micros),
            delay_us: known.map_or(0, |outcome| micros(outcome.delay())),
            settled: settled.map(|(settled, outcome)| settling(settled, outcome)),
            store_error: match outcome {
                Ok(outcome) => outcome.store_error().map(ToString::to_string),
                Err(error) => Some(error.to_string()),
            },
            caller: caller(explanation.caller(), attributes),
            rules: explanation.rules().map(|rule| one_rule(&rule, explanation)).collect(),
            response: answer(explanation, attributes.headers(), presentation),
        }
    }

    /// The answer to a question about the status endpoint, which no rule counts.
    #[must_use]
    pub fn of_status(self) -> Self {
        self.answered_by("status", words::OF_STATUS)
    }

    /// The answer to a question about the health endpoint of a gateway, which no rule counts.
    #[must_use]
    pub fn of_health(self) -> Self {
        self.answered_by("health", words::OF_HEALTH)
    }

    fn answered_by(self, endpoint: &str, says: &str) -> Self {
        let rules = self.rules.into_iter().map(|rule| ExplainedRule {
            applies: false,
            bearing: "settled".to_owned(),
            says: says.to_owned(),
            unmet: None,
            key: None,
            parts: Vec::new(),
            limit: None,
            quota: None,
            cost: None,
            settles: None,
            remaining: None,
            reset_after_us: None,
            would: None,
            ..rule
        });
        Self {
            verdict: endpoint.to_owned(),
            binding: None,
            retry_after_us: None,
            delay_us: 0,
            settled: None,
            store_error: None,
            rules: rules.collect(),
            response: ExplainedAnswer::default(),
            ..self
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn settling(settled: &Settled, outcome: &Outcome) -> ExplainedSettling {
    let entry = settled.entry().map(|entry| entry.name().to_string());
    let (by, says) = words::settled(settled, outcome, entry.as_deref().unwrap_or_default());
    ExplainedSettling { by: by.to_owned(), entry, says }
}

fn caller(view: &CallerView, attributes: &RequestAttributes<'_>) -> ExplainedCaller {
    let diagnostics = attributes.diagnostics(Diagnostics::NONE).iter();
    let diagnostics = diagnostics.map(|diagnostic| ExplainedDiagnostic {
        code: diagnostic.code().to_owned(),
        says: diagnostic.says().to_owned(),
    });
    ExplainedCaller {
        peer: words::peer(attributes.peer()),
        client: view.client.map(|client| client.to_string()),
        client_by: attributes.says_client(),
        diagnostics: diagnostics.collect(),
        user: view.user.as_deref().map(ToOwned::to_owned),
        api_key_hash: view.api_key.map(|hash| hash.to_string()),
        several_keys: view.several_keys,
        plan: view.plan.as_deref().map(ToOwned::to_owned),
        plan_by: view.plan.as_ref().map(|_| words::plan_from(view.plan_from.as_ref())),
        entry: view.entry.as_deref().map(ToOwned::to_owned),
        times: view.times,
        bad_credentials: view.bad_credentials,
    }
}

fn one_rule(rule: &cupo_core::RuleView<'_>, explanation: &Explanation) -> ExplainedRule {
    let plan = explanation.caller().plan.as_deref();
    let (bearing, says) = words::bearing(rule, plan);
    let unmet = match rule.bearing {
        Bearing::Unmet(unmet) => Some(ExplainedUnmet {
            condition: unmet.condition.to_owned(),
            wants: unmet.wants.to_string(),
            has: unmet.has.as_deref().map(ToOwned::to_owned),
        }),
        _ => None,
    };
    ExplainedRule {
        name: rule.rule.name().to_owned(),
        applies: matches!(rule.bearing, Bearing::Enforced | Bearing::Watched | Bearing::Refuses(_)),
        bearing: bearing.to_owned(),
        says,
        unmet,
        scope: rule.rule.key().to_string(),
        key: rule.counted.map(|item| item.key.to_string()),
        parts: rule.counted.map_or_else(Vec::new, |item| item.key.said_parts()),
        limit: rule.counted.map(|item| item.limit.to_string()),
        quota: rule.counted.map(|item| item.limit.quota()),
        cost: rule.counted.map(|item| item.cost),
        settles: rule.counted.and_then(|_| words::settles(rule.rule)),
        remaining: rule.balance.map(|balance| balance.remaining),
        reset_after_us: rule.balance.map(|balance| micros(balance.reset_after)),
        would: rule.decision.map(|decision| would(&decision)),
    }
}

fn would(decision: &Decision) -> ExplainedDecision {
    let verdict = match decision.verdict {
        Verdict::Admit => "admit",
        Verdict::Deny { .. } => "deny",
        Verdict::Impossible => "impossible",
    };
    ExplainedDecision {
        verdict: verdict.to_owned(),
        remaining: decision.remaining,
        retry_after_us: decision.retry_after().map(micros),
        reset_after_us: micros(decision.reset_after),
        delay_us: micros(decision.delay),
    }
}

/// What the caller would see, without jitter.
fn answer(explanation: &Explanation, request: &HeaderMap, presentation: &Presentation) -> ExplainedAnswer {
    let refusal = match explanation.outcome() {
        Ok(outcome) if outcome.is_admitted() => {
            let mut headers = HeaderMap::new();
            presentation.write(outcome, &mut headers);
            return ExplainedAnswer { headers: pairs(&headers), ..ExplainedAnswer::default() };
        }
        Ok(outcome) => presentation.refusal(outcome, request, 0),
        Err(_) => presentation.unavailable(request, 0),
    };
    let (head, body) = Response::into_parts(refusal);
    let waits = head.headers.contains_key(http::header::RETRY_AFTER);
    ExplainedAnswer {
        status: Some(head.status.as_u16()),
        headers: pairs(&head.headers),
        body: Some(String::from_utf8_lossy(&body).into_owned()),
        jitter_seconds: presentation.longest_jitter().filter(|_| waits),
    }
}

fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}
