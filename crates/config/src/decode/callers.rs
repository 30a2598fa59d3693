//! The file of callers: what is said of single ones.

use cupo_core::{CallerSource, Who};

use super::address;
use super::scalar::MAX;
use super::value::Value;
use crate::fault::Faults;
use crate::problem::Problem;
use crate::tree::Node;

const WHO: [&str; 3] = ["api_key_hash", "user", "ip"];

/// The entries without faults, each with its index in the file.
pub(crate) fn callers(root: &Node, faults: &Faults) -> Vec<(usize, CallerSource)> {
    let list = Value::root(root, faults)
        .map(&["callers"])
        .and_then(|map| map.need("callers", "callers: [{ user: alice, times: 10 }]"))
        .and_then(|value| value.list());
    list.iter().flatten().enumerate().filter_map(|(i, value)| Some((i, caller(value)?))).collect()
}

fn caller(value: &Value<'_>) -> Option<CallerSource> {
    let map = value.map(&["api_key_hash", "user", "ip", "plan", "times", "blocked", "unlimited"])?;
    let mut names = WHO.iter().filter_map(|name| Some((*name, map.get(name)?)));
    let who = match (names.next(), names.next()) {
        (None, _) => value.fault(Problem::CallerWithoutWho),
        (Some((one, _)), Some((other, value))) => value.fault(Problem::Conflict { one, other }),
        (Some((name, value)), None) => who(name, &value),
    };
    let plan = map.or("plan", None, |value| value.text().map(|text| Some(text.to_owned())));
    let times = map.or("times", 1, |value| value.integer(0, MAX));
    let blocked = map.or("blocked", false, Value::boolean);
    let unlimited = map.or("unlimited", false, Value::boolean);
    if map.names().all(|name| WHO.contains(&name)) && map.names().next().is_some() {
        return value.fault(Problem::CallerSaysNothing);
    }
    Some(CallerSource { who: who?, plan: plan?, times: times?, blocked: blocked?, unlimited: unlimited? })
}

fn who(name: &str, value: &Value<'_>) -> Option<Who> {
    match name {
        "api_key_hash" => {
            let hash = value.text()?.parse().ok();
            hash.map(Who::ApiKey).or_else(|| value.fault(Problem::ApiKeyHash))
        }
        "user" => value.text().map(|name| Who::User(name.to_owned())),
        _ => address::network(value).map(Who::Network),
    }
}
