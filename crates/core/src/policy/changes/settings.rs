//! What a policy says besides its rules.

use std::collections::HashMap;

use super::super::exemption::Said;
use super::super::plans::Plans;
use super::super::{PlanFrom, Policy, Proxies};
use super::{FieldChange, field};
use crate::settled::Settled;

pub(super) fn changes(old: &Policy, new: &Policy) -> Vec<FieldChange> {
    let (was, is) = (&old.trust, &new.trust);
    let mut found = Vec::new();
    found.extend(field("trusted_proxies", Some(&was.proxies), Some(&is.proxies), |all| proxies(all)));
    let header = |trust: &super::super::Trust| Some(trust.client_address_header.name().to_owned());
    found.extend(field("client_address_header", header(was), header(is), String::clone));
    found.extend(field("ipv6_prefix", Some(was.ipv6_prefix), Some(is.ipv6_prefix), u8::to_string));
    let api_key = (Some(&was.api_key_header), Some(&is.api_key_header));
    found.extend(field("api_key_header", api_key.0, api_key.1, |name| (*name).clone()));
    let user = (Some(&was.user_header), Some(&is.user_header));
    found.extend(field("user_header", user.0, user.1, |name| (*name).clone()));
    if !old.hasher.is_like(&new.hasher) {
        // Nothing of it may be told.
        found.push(FieldChange {
            field: "api_key_secret_env".into(),
            before: None,
            after: Some("another secret".into()),
        });
    }
    for (list, was, is) in [
        ("allow", old.exemptions.allowed(), new.exemptions.allowed()),
        ("block", old.exemptions.blocked(), new.exemptions.blocked()),
    ] {
        found.extend(entries(list, &was, &is));
    }
    found.extend(plans(old, new));
    found.extend(callers(old, new));
    found
}

fn proxies(all: &Proxies) -> String {
    match all {
        Proxies::Hops(hops) => format!("{hops} hops"),
        Proxies::Known { networks, unix } => {
            let networks = networks.iter().map(ToString::to_string);
            let all: Vec<String> = networks.chain(unix.then(|| "unix".to_owned())).collect();
            if all.is_empty() { "none".to_owned() } else { all.join(", ") }
        }
    }
}

/// Entries of a list that are new, gone, or say something else; and whether those that stay are in another order, which says
/// which of them the log names.
fn entries(list: &str, was: &[Said<'_>], is: &[Said<'_>]) -> Vec<FieldChange> {
    let show = |entry: &Said<'_>| entry.to_string();
    let place = |entry: &Said<'_>| format!("{list}[{}]", entry.name());
    let of = |all: &[Said<'_>], name: &str| all.iter().position(|entry| entry.name() == name);
    let mut found = Vec::new();
    for entry in was {
        let after = of(is, entry.name()).and_then(|at| is.get(at));
        found.extend(field(place(entry), Some(entry), after, |entry| show(entry)));
    }
    for entry in is.iter().filter(|entry| of(was, entry.name()).is_none()) {
        found.extend(field(place(entry), None, Some(entry), |entry| show(entry)));
    }
    found
}

fn plans(old: &Policy, new: &Policy) -> Vec<FieldChange> {
    let tiers = |policy: &Policy| {
        let mut tiers: Vec<String> = policy.tiers().map(str::to_owned).collect();
        // Their order says nothing.
        tiers.sort_unstable();
        (!tiers.is_empty()).then_some(tiers)
    };
    let from = |policy: &Policy| (!policy.plan_from().is_empty()).then(|| policy.plan_from().to_vec());
    let show = |all: &Vec<PlanFrom>| all.iter().map(source).collect::<Vec<_>>().join(", ");
    let mut found = Vec::new();
    found.extend(field("plans", tiers(old), tiers(new), |tiers| tiers.join(", ")));
    found.extend(field("plan.from", from(old), from(new), show));
    found.extend(field("plan.default", old.default_tier(), new.default_tier(), |tier| (*tier).to_owned()));
    found
}

fn source(from: &PlanFrom) -> String {
    match from {
        PlanFrom::Callers => "callers".to_owned(),
        PlanFrom::Claim(name) => format!("claim({name})"),
        PlanFrom::Header(name) => format!("header({name})"),
    }
}

/// What is said of a caller: the tier, the multiplier, and whether he is blocked or unlimited.
type Caller<'a> = (Option<&'a str>, u64, Option<bool>);

/// How many callers something else is said of: who they are is nobody's business.
fn callers(old: &Policy, new: &Policy) -> Option<FieldChange> {
    let (was, is) = (all(old), all(new));
    let added = is.keys().filter(|who| !was.contains_key(*who)).count();
    let gone = was.keys().filter(|who| !is.contains_key(*who)).count();
    let other = is.iter().filter(|(who, said)| was.get(*who).is_some_and(|before| before != *said)).count();
    (added > 0 || gone > 0 || other > 0).then(|| FieldChange {
        field: "callers".into(),
        before: Some(was.len().to_string().into()),
        after: Some(format!("{} ({added} new, {gone} gone, {other} changed)", is.len()).into()),
    })
}

fn all(policy: &Policy) -> HashMap<super::super::plans::Known<'_>, Caller<'_>> {
    let Some(plans) = &policy.plans else { return HashMap::new() };
    let said = |index: usize| {
        let entry = plans.entries.get(index)?;
        let tier = entry.tier.and_then(|tier| tier_name(plans, tier));
        let settled = entry.settled.as_ref().map(|settled| matches!(settled, Settled::Blocked(_)));
        Some((tier, policy.times.get(entry.times).copied().unwrap_or(1), settled))
    };
    plans.callers.all().filter_map(|(who, index)| Some((who, said(index)?))).collect()
}

fn tier_name(plans: &Plans, tier: usize) -> Option<&str> {
    plans.tiers.get(tier).map(|name| &**name)
}
