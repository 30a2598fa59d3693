//! `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11: lists of strings with parameters (RFC 9651).
//!
//! Written by hand, since this runs on every response, and read by a real parser, which also is what the tests compare with.

use cupo_core::Ruling;
use http::HeaderMap;
use http::header::HeaderName;
use sfv::{BareItem, Item, List, ListEntry, Parser};

use super::{Dialect, Facts, Values};
use crate::advice::Quota;
use crate::seconds;

static POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Longer fields are ignored, as malformed ones are: a caller's own servers send no such thing.
const LONGEST: usize = 16 * 1024;

pub(super) fn write(facts: &Facts<'_>, values: &mut Values) {
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
    values.end(&POLICY);
    list(facts, values, |values, ruling| {
        values.text(";r=");
        values.number(seconds::cap_units(ruling.decision.remaining));
        if let Some(t) = facts.more_after(&ruling.decision) {
            values.text(";t=");
            values.number(t);
        }
    });
    values.end(&LIMIT);
}

fn list(facts: &Facts<'_>, values: &mut Values, parameters: impl Fn(&mut Values, &Ruling<'_>)) {
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

/// The items of a list; none where it is malformed, as the draft asks. Several lines are one list.
fn parse(headers: &HeaderMap, name: &HeaderName) -> Vec<Item> {
    let mut text = Vec::new();
    for line in headers.get_all(name) {
        if text.len().saturating_add(line.len()) > LONGEST {
            return Vec::new();
        }
        if !text.is_empty() {
            text.extend_from_slice(b", ");
        }
        text.extend_from_slice(line.as_bytes());
    }
    let list: List = Parser::new(&text).parse().unwrap_or_default();
    let item = |entry| match entry {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    };
    list.into_iter().filter_map(item).take(MOST).collect()
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
