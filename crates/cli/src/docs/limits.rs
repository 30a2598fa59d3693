//! How much is allowed, in words.

use std::time::Duration;

use cupo_core::algorithm::ending_window::Edges;
use cupo_core::{Action, AppliesTo, CostSource, Kind, Limit, Params, Policy, Rate, Rule};

use super::block::{Line, Span, code, joined, say};
use super::text::Texts;

/// The limits that callers may know of: those that are enforced and that somebody has room in. What only closes is the
/// business of whoever closed it.
pub(super) fn published(policy: &Policy) -> Vec<&Rule> {
    let enforced = |rule: &&Rule| rule.action() != Action::Shadow;
    let open = |rule: &&Rule| rule.limits().flatten().any(|limit| limit.quota() > 0);
    policy.rules().iter().filter(enforced).filter(open).collect()
}

/// How the units of a limit come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Period {
    Sliding,
    Clock,
    FromFirst,
    /// In this zone; of weeks the day that they begin with.
    Calendar(&'static str, Option<&'static str>),
    Bucket,
    Spaced,
    Delayed,
}

impl Period {
    pub(super) fn of(limit: &Limit, rule: &Rule) -> Self {
        match limit.params() {
            Params::SlidingWindowLog(_) | Params::SlidingWindowCounter(_) => Self::Sliding,
            Params::FixedWindow(_) => Self::Clock,
            Params::EndingWindow(p) => match p.edges {
                Edges::FirstRequest { .. } => Self::FromFirst,
                Edges::Calendar(calendar) => {
                    let (unit, zone, day) = parts_of(calendar.name());
                    Self::Calendar(zone, (unit == "week").then_some(day.unwrap_or("monday")))
                }
            },
            Params::TokenBucket(_) => Self::Bucket,
            Params::LeakyBucket(_) if rule.action() == Action::Delay => Self::Delayed,
            Params::LeakyBucket(_) => Self::Spaced,
        }
    }
}

/// The unit, the zone and the day that weeks begin with, of a calendar's name such as `week of Africa/Cairo from sunday`.
fn parts_of(calendar: &str) -> (&str, &str, Option<&str>) {
    let (unit, rest) = calendar.split_once(" of ").unwrap_or((calendar, "UTC"));
    rest.split_once(" from ").map_or((unit, rest, None), |(zone, day)| (unit, zone, Some(day)))
}

impl Texts {
    /// A number, its digits in groups.
    pub(super) fn number(&self, number: u64) -> String {
        let digits = number.to_string();
        let (separator, from) = self.thousands;
        if digits.len() < from {
            return digits;
        }
        let mut out = String::new();
        for (index, digit) in digits.char_indices() {
            if index > 0 && digits.len().saturating_sub(index) % 3 == 0 {
                out.push_str(separator);
            }
            out.push(digit);
        }
        out
    }

    /// A span of time in the largest unit that it is a whole number of; one of a unit without the number.
    pub(super) fn per(&self, span: Duration) -> String {
        const MILLIS: [u128; 5] = [86_400_000, 3_600_000, 60_000, 1_000, 1];
        let millis = span.as_nanos().div_ceil(1_000_000).max(1);
        let whole = MILLIS.into_iter().zip(self.units).find(|(unit, _)| millis.checked_rem(*unit) == Some(0));
        let Some((unit, [one, many])) = whole else { return String::new() };
        match millis.checked_div(unit).unwrap_or(1) {
            1 => one.to_owned(),
            count => format!("{} {many}", self.number(u64::try_from(count).unwrap_or(u64::MAX))),
        }
    }

    /// So many in each span.
    pub(super) fn rate(&self, rate: Rate) -> Line {
        let (count, span) = (self.number(rate.count), self.per(rate.period));
        let words = if span.starts_with(|c: char| c.is_ascii_digit()) {
            self.amount.rate_of
        } else {
            self.amount.rate
        };
        say(words, &[("count", &text(count)), ("window", &text(span))])
    }

    /// What the limit allows; `None` is unlimited. Of a limit that `delays` the queue is told.
    pub(super) fn amount(&self, limit: Option<&Limit>, delays: bool) -> Line {
        let Some(limit) = limit else { return say(self.amount.unlimited, &[]) };
        if limit.quota() == 0 {
            return say(self.amount.none, &[]);
        }
        let count = text(self.number(limit.quota()));
        let rate = limit.lasting_rate().unwrap_or_else(|| Rate::new(limit.quota(), limit.window()));
        let rate = self.rate(rate);
        match limit.params() {
            Params::EndingWindow(p) => match p.edges {
                Edges::Calendar(calendar) => {
                    let (unit, zone, _) = parts_of(calendar.name());
                    let units = ["hour", "day", "week", "month"].into_iter().zip(self.amount.calendar_units);
                    let unit =
                        units.into_iter().find(|(known, _)| *known == unit).map_or("", |(_, said)| said);
                    let values = [("count", &count), ("unit", &text(unit)), ("zone", &text(zone))];
                    say(self.amount.calendar, &values)
                }
                Edges::FirstRequest { .. } => say(self.amount.from_first, &[("rate", &rate)]),
            },
            Params::TokenBucket(_) => say(self.amount.bucket, &[("count", &count), ("rate", &rate)]),
            Params::LeakyBucket(p) if delays => {
                say(self.amount.queued, &[("count", &text(self.number(p.queue))), ("rate", &rate)])
            }
            Params::LeakyBucket(_) => say(self.amount.spaced, &[("count", &count), ("rate", &rate)]),
            _ => rate,
        }
    }

    /// How the units of these limits come back.
    pub(super) fn period(&self, period: Period, limits: &Line) -> Line {
        let said = &self.periods;
        let values = [("limits", limits)];
        match period {
            Period::Sliding => say(said.sliding, &values),
            Period::Clock => say(said.clock, &values),
            Period::FromFirst => say(said.from_first, &values),
            Period::Bucket => say(said.bucket, &values),
            Period::Spaced => say(said.spaced, &values),
            Period::Delayed => say(said.delayed, &values),
            Period::Calendar(zone, day) => {
                let mut zone = text(zone);
                if let Some(day) = day {
                    const DAYS: [&str; 7] =
                        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
                    let days = DAYS.into_iter().zip(said.weekdays);
                    let day = days.into_iter().find(|(known, _)| *known == day).map_or("", |(_, said)| said);
                    zone = say(said.week_starts, &[("zone", &zone), ("day", &text(day))]);
                }
                say(said.calendar, &[("limits", limits), ("zone", &zone)])
            }
        }
    }

    /// The requests that a rule is about.
    pub(super) fn applies(&self, rule: &Rule) -> Line {
        let AppliesTo { methods, path, hosts, plans, others, exceptions, .. } = rule.applies_to();
        let methods = methods.join(", ");
        let is_named = !methods.is_empty() || path.is_some();
        let mut line = match (methods.as_str(), path) {
            ("", None) if others => say(self.applies_to.certain, &[]),
            ("", None) => say(self.applies_to.everything, &[]),
            ("", Some(path)) => code(path),
            (methods, None) => code(methods),
            (methods, Some(path)) => code(format!("{methods} {path}")),
        };
        let any = |names: Vec<Line>| joined(names, self.or);
        if !hosts.is_empty() {
            let hosts = any(hosts.into_iter().map(code).collect());
            line.extend(say(self.applies_to.on_hosts, &[("hosts", &hosts)]));
        }
        if !plans.is_empty() {
            let plans = any(plans.into_iter().map(code).collect());
            line.extend(say(self.applies_to.on_plans, &[("plans", &plans)]));
        }
        for (is_so, words) in
            [(others && is_named, self.applies_to.certain_ones), (exceptions, self.applies_to.exceptions)]
        {
            if is_so {
                line.extend(say(words, &[]));
            }
        }
        line
    }

    /// What a rule counts by.
    pub(super) fn counted_by(&self, rule: &Rule) -> Line {
        let has_choice = rule.key().parts().any(|alternatives| alternatives.len() > 1);
        let part =
            |alternatives: &[Kind]| joined(alternatives.iter().map(|kind| self.kind(kind)), self.or_else);
        joined(rule.key().parts().map(part), if has_choice { self.and_also } else { self.and })
    }

    /// What one request takes.
    pub(super) fn cost(&self, rule: &Rule) -> Line {
        let words = match rule.cost_source() {
            CostSource::Response { .. } => self.cost.response,
            CostSource::Request { .. } => self.cost.request,
            CostSource::Body { .. } => self.cost.body,
            _ => "{count}",
        };
        let size = match rule.cost_source() {
            CostSource::Body { unit, .. } => self.size(*unit),
            _ => String::new(),
        };
        say(words, &[("count", &text(self.number(rule.cost()))), ("size", &text(size))])
    }

    /// Bytes in the largest unit that they are a whole number of.
    fn size(&self, bytes: u64) -> String {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let whole = units.into_iter().find(|(unit, _)| bytes.checked_rem(*unit) == Some(0));
        let (unit, name) = whole.unwrap_or((1, "B"));
        format!("{} {name}", self.number(bytes.checked_div(unit).unwrap_or(bytes)))
    }

    fn kind(&self, kind: &Kind) -> Line {
        let per = &self.per;
        let named = |words, name: &str| say(words, &[("name", &code(name))]);
        match kind {
            Kind::Global => say(per.global, &[]),
            Kind::Ip => say(per.ip, &[]),
            Kind::ApiKey => say(per.api_key, &[]),
            Kind::User => say(per.user, &[]),
            Kind::Route => say(per.route, &[]),
            Kind::Method => say(per.method, &[]),
            Kind::Host => say(per.host, &[]),
            Kind::Header(name) => named(per.header, name),
            Kind::Query(name) => named(per.query, name),
            Kind::Cookie(name) => named(per.cookie, name),
            Kind::Claim(name) => named(per.claim, name),
            // What the service calls kinds of requests is its own business.
            _ => say(per.descriptor, &[]),
        }
    }
}

/// A line of one text.
pub(super) fn text(text: impl Into<String>) -> Line {
    vec![Span::Text(text.into())]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::text::{ENGLISH, SPANISH};

    #[test]
    fn numbers_and_spans_are_those_of_the_language() {
        for (number, english, spanish) in [
            (0, "0", "0"),
            (999, "999", "999"),
            (1_000, "1,000", "1000"),
            (10_000, "10,000", "10\u{a0}000"),
            (1_234_567, "1,234,567", "1\u{a0}234\u{a0}567"),
        ] {
            assert_eq!(
                (ENGLISH.number(number), SPANISH.number(number)),
                (english.to_owned(), spanish.to_owned())
            );
        }
        for (millis, english, spanish) in [
            (500, "500 milliseconds", "500 milisegundos"),
            (1_000, "second", "segundo"),
            (60_000, "minute", "minuto"),
            (90_000, "90 seconds", "90 segundos"),
            (86_400_000, "day", "día"),
            (2_592_000_000, "30 days", "30 días"),
        ] {
            let span = Duration::from_millis(millis);
            assert_eq!((ENGLISH.per(span), SPANISH.per(span)), (english.to_owned(), spanish.to_owned()));
        }
    }
}
