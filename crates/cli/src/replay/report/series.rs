//! What charts draw: numbers over the stretches of a timeline.

use super::timeline::{Cell, Timeline};
use super::{PolicyReport, Report};

/// Rules that have a colour of their own; the others share one.
const COLOURED: usize = 7;

/// A number for each stretch, with its name and its colour.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) class: &'static str,
    pub(super) values: Vec<u64>,
}

/// The colours, as classes of the style sheet.
pub(super) const COLOURS: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

impl Series {
    fn of(name: &str, class: &'static str, timeline: &Timeline, value: impl Fn(&Cell) -> u64) -> Self {
        Self { name: name.to_owned(), class, values: timeline.cells().iter().map(value).collect() }
    }

    fn total(&self) -> u64 {
        self.values.iter().fold(0, |sum, value| sum.saturating_add(*value))
    }

    fn add(&mut self, other: &Self) {
        for (own, other) in self.values.iter_mut().zip(&other.values) {
            *own = own.saturating_add(*other);
        }
    }
}

/// The highest sum of any stretch, at least one.
pub(super) fn highest(stack: &[Series]) -> u64 {
    let stretches = stack.iter().map(|series| series.values.len()).max().unwrap_or(0);
    let sum = |at: usize| {
        stack.iter().filter_map(|s| s.values.get(at)).fold(0_u64, |sum, v| sum.saturating_add(*v))
    };
    (0..stretches).map(sum).max().unwrap_or(0).max(1)
}

impl Report {
    /// Denied and admitted requests, one on the other.
    pub(super) fn requests_over_time(&self, policy: usize) -> Vec<Series> {
        let denied = move |cell: &Cell| cell.policies.get(policy).map_or(0, |of| of.denied);
        vec![
            Series::of("denied", "no", &self.timeline, denied),
            Series::of("admitted", "yes", &self.timeline, move |cell| {
                cell.requests.saturating_sub(denied(cell))
            }),
        ]
    }

    /// Denied requests by the rule that denied them, the rules that denied most first. A rule has one colour in all policies.
    pub(super) fn denials_by_rule(&self, policy: usize) -> Vec<Series> {
        let Some(report) = self.policies.get(policy) else { return Vec::new() };
        let names = self.rule_names();
        let mut all: Vec<Series> = (0..)
            .zip(report.rule_names())
            .map(|(rule, name): (usize, _)| {
                let place = names.iter().position(|other| *other == name);
                let class = place.and_then(|place| COLOURS.get(place)).copied().unwrap_or("other");
                let denied = move |cell: &Cell| {
                    cell.policies.get(policy).and_then(|of| of.by_rule.get(rule)).copied().unwrap_or(0)
                };
                Series::of(name, class, &self.timeline, denied)
            })
            .filter(|series| series.total() > 0)
            .collect();
        all.sort_by_key(|series| std::cmp::Reverse(series.total()));
        if all.len() > COLOURED + 1 {
            let rest = all.split_off(COLOURED);
            let mut others = Series::of("other rules", "other", &self.timeline, |_| 0);
            rest.iter().for_each(|series| others.add(series));
            all.push(others);
        }
        all
    }

    /// Denied requests of each policy.
    pub(super) fn denials_by_policy(&self) -> Vec<Series> {
        let named = (0..).zip(&self.policies).zip(COLOURS);
        named
            .map(|((policy, report), class): ((usize, &PolicyReport), _)| {
                let denied = move |cell: &Cell| cell.policies.get(policy).map_or(0, |of| of.denied);
                Series::of(&report.name, class, &self.timeline, denied)
            })
            .collect()
    }

    /// All rules, those that denied most first.
    fn rule_names(&self) -> Vec<&str> {
        let mut denied: Vec<(&str, u64)> = Vec::new();
        for policy in &self.policies {
            for (name, counts) in policy.rule_names().zip(&policy.rules) {
                match denied.iter_mut().find(|(other, _)| *other == name) {
                    Some((_, sum)) => *sum = sum.saturating_add(counts.denied),
                    None => denied.push((name, counts.denied)),
                }
            }
        }
        denied.sort_by_key(|(_, denied)| std::cmp::Reverse(*denied));
        denied.into_iter().map(|(name, _)| name).collect()
    }
}
