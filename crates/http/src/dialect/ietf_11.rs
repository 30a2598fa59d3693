//! `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11: lists of strings with parameters (RFC 9651).
//!
//! Written by hand, since this runs on every response, and read by a real parser, which also is what the tests compare with.

use cupo_core::Ruling;
use http::HeaderMap;
use http::header::HeaderName;
use sfv::{BareItem, Item, List, ListEntry, ListSerializer, Parser};

use super::{Dialect, Facts, Values};
use crate::advice::Quota;
use crate::seconds;

static POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(super) static NAMES: [HeaderName; 2] =
    [HeaderName::from_static("ratelimit-policy"), HeaderName::from_static("ratelimit")];

/// Longer fields are ignored, as malformed ones are: a caller's own servers send no such thing.
const LONGEST: usize = 16 * 1024;

pub(super) fn write(facts: &Facts<'_>, values: &mut Values<'_>) {
    policies(facts, values);
    values.end(&POLICY);
    limits(facts, values);
    values.end(&LIMIT);
}

/// Writes our lists with theirs behind them.
pub(super) fn write_merged(facts: &Facts<'_>, mut theirs: Theirs, values: &mut Values<'_>) {
    theirs.rename(facts);
    policies(facts, values);
    theirs.policies.write(values);
    values.end(&POLICY);
    limits(facts, values);
    theirs.limits.write(values);
    values.end(&LIMIT);
}

fn policies(facts: &Facts<'_>, values: &mut Values<'_>) {
    list(facts, values, |values, ruling| {
        values.text(";q=");
        values.number(seconds::cap_units(ruling.decision.limit));
        let window = seconds::ceil(ruling.limit.window_at(facts.outcome.at()));
        // Zero is no window; a bucket that never fills has none.
        if window > 0 {
            values.text(";w=");
            values.number(window);
        }
    });
}

fn limits(facts: &Facts<'_>, values: &mut Values<'_>) {
    list(facts, values, |values, ruling| {
        values.text(";r=");
        values.number(seconds::cap_units(ruling.decision.remaining));
        if let Some(t) = facts.more_after(&ruling.decision) {
            values.text(";t=");
            values.number(t);
        }
    });
}

fn list<'v>(facts: &Facts<'_>, values: &mut Values<'v>, parameters: impl Fn(&mut Values<'v>, &Ruling<'_>)) {
    for (i, ruling) in facts.outcome.decisions().enumerate() {
        // A rule's name has no character that a quoted string would have to escape.
        values.text(if i == 0 { "\"" } else { ", \"" });
        values.text(ruling.rule.name());
        values.text("\"");
        parameters(values, &ruling);
    }
}

pub(super) fn read(headers: &HeaderMap, quotas: &mut Vec<Quota>) {
    let start = quotas.len();
    for item in parse(headers, &POLICY) {
        let (Some(name), Some(limit)) = (string(&item), whole(&item, "q")) else { continue };
        quotas.push(Quota {
            policy: Some(name.into()),
            limit: Some(limit),
            window: whole(&item, "w").filter(|w| *w > 0).map(seconds::duration),
            ..Quota::of(Dialect::Ietf11)
        });
    }
    for item in parse(headers, &LIMIT) {
        let (Some(name), Some(remaining)) = (string(&item), whole(&item, "r")) else { continue };
        let reset_after = whole(&item, "t").map(seconds::duration);
        let fresh = |quota: &&mut Quota| quota.policy.as_deref() == Some(name) && quota.remaining.is_none();
        match quotas.iter_mut().skip(start).find(fresh) {
            Some(quota) => {
                quota.remaining = Some(remaining);
                quota.reset_after = reset_after;
            }
            None => quotas.push(Quota {
                policy: Some(name.into()),
                remaining: Some(remaining),
                reset_after,
                ..Quota::of(Dialect::Ietf11)
            }),
        }
    }
}

/// What an upstream says in this dialect: well-formed, and as it wrote it.
pub(super) struct Theirs {
    policies: Items,
    limits: Items,
}

impl Theirs {
    /// `None` where either list is malformed, too long, or lacks what the draft requires.
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let items = |name, required| {
            let items = entries(headers, name)?.into_iter().map(|entry| match entry {
                ListEntry::Item(item) if string(&item).is_some() && whole(&item, required).is_some() => {
                    Some(item)
                }
                _ => None,
            });
            items.collect::<Option<Vec<_>>>().filter(|items| items.len() <= MOST).map(Items)
        };
        Some(Self { policies: items(&POLICY, "q")?, limits: items(&LIMIT, "r")? })
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.policies.0.is_empty() && self.limits.0.is_empty()
    }

    /// Gives new names to their policies that are called like rules of ours, the same name in both lists.
    fn rename(&mut self, facts: &Facts<'_>) {
        let own = |name: &str| facts.outcome.decisions().any(|ruling| ruling.rule.name() == name);
        let all: Vec<Item> = self.policies.0.iter().chain(&self.limits.0).cloned().collect();
        let taken = |name: &str| own(name) || all.iter().any(|item| string(item) == Some(name));
        for item in self.policies.0.iter_mut().chain(&mut self.limits.0) {
            let Some(name) = string(item).filter(|name| own(name)) else { continue };
            let mut fresh = format!("{name}-upstream");
            for number in 2_u32.. {
                if !taken(&fresh) {
                    break;
                }
                fresh = format!("{name}-upstream-{number}");
            }
            if let Ok(fresh) = sfv::String::from_string(fresh) {
                item.bare_item = BareItem::String(fresh);
            }
        }
    }
}

struct Items(Vec<Item>);

impl Items {
    /// Writes the items behind those that are there.
    fn write(self, values: &mut Values<'_>) {
        let list: List = self.0.into_iter().map(ListEntry::Item).collect();
        let mut serializer = ListSerializer::new();
        serializer.members(&list);
        if let Some(text) = serializer.finish() {
            values.text(", ");
            values.text(&text);
        }
    }
}

/// The items of a list; none where it is malformed, as the draft asks.
fn parse(headers: &HeaderMap, name: &HeaderName) -> Vec<Item> {
    let item = |entry| match entry {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    };
    entries(headers, name).unwrap_or_default().into_iter().filter_map(item).take(MOST).collect()
}

/// The list that all lines of a field make; `None` where it is malformed or too long.
fn entries(headers: &HeaderMap, name: &HeaderName) -> Option<List> {
    let mut text = Vec::new();
    for line in headers.get_all(name) {
        if text.len().saturating_add(line.len()) > LONGEST {
            return None;
        }
        if !text.is_empty() {
            text.extend_from_slice(b", ");
        }
        text.extend_from_slice(line.as_bytes());
    }
    Parser::new(&text).parse().ok()
}

/// More items than this say nothing that a caller could act on.
const MOST: usize = 64;

fn string(item: &Item) -> Option<&str> {
    match &item.bare_item {
        BareItem::String(name) => Some(name.as_str()),
        _ => None,
    }
}

fn whole(item: &Item, name: &str) -> Option<u64> {
    match item.params.get(name)? {
        BareItem::Integer(number) => u64::try_from(i64::from(*number)).ok(),
        _ => None,
    }
}
