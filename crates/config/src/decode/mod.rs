//! From the tree to plain values.

mod address;
mod admin;
mod callers;
mod cost;
mod exemption;
mod gateway;
mod header;
mod jwt;
mod limit;
mod matches;
mod message;
mod plans;
mod responses;
mod rule;
mod scalar;
mod secret;
mod status;
mod store;
mod trust;
mod value;

use cupo_core::{ExemptionSource, ExemptionsSource, Kind, LimitSource, PolicySource, RuleSource};

use crate::admin_source::AdminSource;
use crate::fault::Faults;
use crate::jwt_source::JwtSource;
use crate::problem::Problem;
use crate::responses_source::ResponsesSource;
use crate::source::GatewaySource;
use crate::store_source::StoreSource;
use crate::tree::{Content, Mark, Node};
pub(crate) use callers::callers;
pub use header::{MEANT_HEADERS, RESERVED_HEADERS};
pub(crate) use store::SCHEMES;
use value::{Map, Value};

/// What could be decoded.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) gateway: GatewaySource,
    pub(crate) store: StoreSource,
    pub(crate) admin: Option<AdminSource>,
    pub(crate) jwt: Option<JwtSource>,
    pub(crate) responses: ResponsesSource,
    /// The rules without faults.
    pub(crate) policy: PolicySource,
    /// The index in the file of each of them.
    pub(crate) rule_indices: Vec<usize>,
    /// The file of callers, and where it is named.
    pub(crate) callers: Option<(String, Mark)>,
    /// Whether the plans are as they were written, and not left out for their faults.
    pub(crate) has_plans: bool,
}

/// Far more nodes than any fleet has.
const MAX_REPLICAS: u64 = 100_000;

const FIELDS: &[&str] = &[
    "listen",
    "socket_mode",
    "proxy_protocol",
    "upstream",
    "upstream_protocol",
    "health_path",
    "status",
    "access_log",
    "workers",
    "timeouts",
    "limits",
    "store",
    "admin",
    "trusted_proxies",
    "client_address_header",
    "ipv6_prefix",
    "api_key_header",
    "user_header",
    "api_key_secret_env",
    "plans",
    "plan",
    "callers",
    "replicas",
    "jwt",
    "allow",
    "block",
    "responses",
    "rules",
];

/// Decodes the file. `None` where it has no fields at all.
pub(crate) fn draft(root: &Node, faults: &Faults) -> Option<Draft> {
    let map = Value::root(root, faults).map(FIELDS)?;
    let mut gateway = gateway::gateway(&map);
    let status = map.get("status").and_then(|value| status::status(&value)).unwrap_or_default();
    gateway.status_path = status.path;
    status::apart(&map, &gateway);
    let store = map.get("store").and_then(|value| store::store(&value)).unwrap_or_default();
    let admin = map.get("admin").and_then(|value| admin::admin(&value));
    let mut trust = trust::trust(&map, &gateway);
    let replicas = map.get("replicas").and_then(|value| value.integer(1, MAX_REPLICAS));
    let replicas = replicas.and_then(|replicas| u32::try_from(replicas).ok()).unwrap_or(1);
    let rules = map.need("rules", "rules: [{ name: all, key: ip, limit: 100/minute }]");
    let jwt = map.get("jwt").and_then(|value| jwt::jwt(&value));
    trust.token_header = jwt.as_ref().and_then(|jwt| jwt.header.clone());
    let exemptions = ExemptionsSource { allow: entries(&map, "allow"), block: entries(&map, "block") };
    if map.get("jwt").is_none() {
        without_claims(rules.as_ref());
    }
    let rules = rules.and_then(|rules| rules.list()).unwrap_or_default();
    let decoded: Vec<Option<RuleSource>> = rules.iter().map(rule::rule).collect();
    let responses = map.get("responses").and_then(|value| responses::responses(&value));
    let mut responses = responses.unwrap_or_default();
    responses.rules = responses::of_rules(&rules, &responses);
    let plans = plans::plans(&map);
    let has_plans = plans.is_some();
    // What plans with faults would have said is unknown, not wrong.
    let known = |rule: &RuleSource| has_plans || matches!(rule.limit, LimitSource::Own(_));
    let (rule_indices, rules) =
        decoded.into_iter().enumerate().filter_map(|(i, rule)| Some((i, rule.filter(known)?))).unzip();
    let policy = PolicySource {
        trust,
        replicas,
        status: status.limit.unwrap_or(PolicySource::default().status),
        exemptions,
        rules,
        api_key_secret: map.get("api_key_secret_env").and_then(|value| secret::from_env(&value)),
        plans: plans.unwrap_or_default(),
        ..PolicySource::default()
    };
    let callers = map.get("callers").and_then(|value| Some((value.text()?.to_owned(), value.mark())));
    Some(Draft { gateway, store, admin, jwt, responses, policy, rule_indices, callers, has_plans })
}

/// The entries of a list. One with faults leaves a place that has none, so that all others keep their index.
fn entries(map: &Map<'_>, name: &str) -> Vec<ExemptionSource> {
    let entries = map.get(name).and_then(|value| value.list()).unwrap_or_default();
    if entries.is_empty() {
        map.get(name).filter(Value::is_empty_list).map(|value| value.fault::<()>(Problem::EmptyList));
    }
    let stand_in = |i: usize| ExemptionSource {
        name: format!("{name}-{i}:faulty"),
        api_keys: vec![[0; 32]],
        ..ExemptionSource::default()
    };
    entries
        .iter()
        .enumerate()
        .map(|(i, value)| exemption::entry(value).unwrap_or_else(|| stand_in(i)))
        .collect()
}

/// Without tokens no claim is ever there: what counts by one would count everybody together.
fn without_claims(rules: Option<&Value<'_>>) {
    let Some(Content::List(_)) = rules.map(Value::content) else { return };
    for rule in rules.and_then(Value::list).unwrap_or_default() {
        let key = rule.field("key");
        let Some((key, spec)) = key.and_then(|key| rule::quiet_key(&key).map(|spec| (key, spec))) else {
            continue;
        };
        if spec.kinds().any(|kind| matches!(kind, Kind::Claim(_))) {
            key.fault::<()>(Problem::ClaimWithoutTokens);
        }
    }
}
