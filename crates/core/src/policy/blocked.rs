//! Whether a key of the request's is blocked for a time.

use super::request::Request;
use super::route::Route;
use super::{OnMissing, Policy, companions};
use crate::attributes::Attributes;
use crate::blocks::Known;
use crate::key::{Context, Key};
use crate::settled::{Entry, Settled};
use crate::time::Timestamp;

impl Policy {
    /// What settles the request if a rule counts it under a key that is blocked at `now`, by whatever limit, and whether it
    /// would be let pass or not: whoever is blocked anywhere does not pass. The rules are those that [`prepare`](Self::prepare)
    /// finds.
    pub(crate) fn settle_blocked<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        blocks: &Known,
        now: Timestamp,
    ) -> Option<Settled> {
        let caller = self.caller(attributes);
        let request = Request::new(attributes, self.needs, caller.tier);
        let path = request.path.as_ref();
        let found = self.index.find(path, request.host.as_deref());
        let route = path.map(|path| Route { path: path.normal(), template: found.template });
        let context = self.context(&caller, request.method, route.as_ref());
        for index in found.rules {
            let Some(rule) = self.rules.get(index).filter(|rule| rule.conditions.matches(&request)) else {
                continue;
            };
            if !rule.stop && !blocks.names(&rule.name) {
                continue;
            }
            let own = route.as_ref().and_then(|route| rule.doubtful_route(route));
            let context = Context { route: own.as_ref().or(context.route), ..context };
            let shared = rule.on_missing == OnMissing::Shared;
            let prefix = Key::builder(&rule.name).build();
            let Ok(key) = rule.key.key(&prefix, attributes, &context, shared) else {
                continue;
            };
            if let Some(settled) = blocks.settle(&key, now) {
                return Some(settled);
            }
            if blocks.names(&rule.name) {
                let is_blocked = |key: &Key| blocks.left(key, now).is_some();
                let found = companions::find(&rule.key, &key, &prefix, attributes, &context, is_blocked);
                if let Some(key) = found {
                    return Some(Settled::Blocked(Entry::Key(key.to_string().into())));
                }
            }
            if rule.stop && rule.conditions.surely_match(&request) {
                return None;
            }
        }
        None
    }
}
