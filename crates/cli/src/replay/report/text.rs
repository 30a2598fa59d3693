//! The report as text: a table with a column for each policy, then what was denied most and waited longest.

use std::io::{self, Write};
use std::time::Duration;

use super::policy::{PolicyReport, RuleCounts};
use super::units::{count, full, share, span};
use super::{About, Report};

/// Denied keys that are named.
pub(super) const TOP_KEYS: usize = 10;

/// Rows of a table: a name, and a value for each policy.
pub(super) type Rows = Vec<(String, Vec<String>)>;

pub(in crate::replay) fn write_summary(
    about: &About,
    report: &Report,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "{} ({})", about.inputs.join(", "), about.format)?;
    for line in report.facts(about) {
        writeln!(out, "  {line}")?;
    }
    let names = report.policies.iter().map(|policy| policy.name.clone()).collect();
    let mut rows = vec![(String::new(), names)];
    rows.append(&mut report.totals());
    rows.append(&mut report.by_rule());
    writeln!(out)?;
    write_table(&rows, out)?;
    for policy in &report.policies {
        let of = if report.policies.len() > 1 { format!(", {}", policy.name) } else { String::new() };
        write_denied(policy, &of, out)?;
        write_waits(policy, &of, out)?;
    }
    Ok(())
}

fn write_table(rows: &Rows, out: &mut impl Write) -> io::Result<()> {
    let width = |text: &str| text.chars().count();
    let first = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let columns = rows.first().map_or(0, |(_, cells)| cells.len());
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|(_, cells)| cells.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    for (name, cells) in rows {
        let mut line = format!("{name:first$}");
        for (cell, width) in cells.iter().zip(&widths) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn write_denied(policy: &PolicyReport, of: &str, out: &mut impl Write) -> io::Result<()> {
    let top = policy.denied_keys.top(TOP_KEYS);
    if top.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nkeys denied most{of}{}", policy.doubt())?;
    let width = top.iter().map(|(_, denied)| count(*denied).len()).max().unwrap_or(0);
    for (key, denied) in top {
        writeln!(out, "  {:>width$}  {key}", count(denied))?;
    }
    Ok(())
}

fn write_waits(policy: &PolicyReport, of: &str, out: &mut impl Write) -> io::Result<()> {
    let waits = policy.waits.top();
    if waits.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nlongest waits{of}")?;
    let shown = |wait: Duration| span(wait);
    let width = waits.iter().map(|wait| shown(wait.span).chars().count()).max().unwrap_or(0);
    for wait in waits {
        writeln!(out, "  {:>width$}  {}  at {}", shown(wait.span), wait.key, full(wait.at.as_micros()))?;
    }
    Ok(())
}

impl PolicyReport {
    /// What the counts of denied keys may be wrong by.
    pub(super) fn doubt(&self) -> String {
        match self.denied_keys.missed() {
            0 => String::new(),
            missed => format!(
                " (more keys than can be counted: each count may be too low by up to {})",
                count(missed)
            ),
        }
    }
}

impl Report {
    /// What was read, as lines.
    pub(super) fn facts(&self, about: &About) -> Vec<String> {
        let mut facts = Vec::new();
        if let Some(first) = self.first {
            let (first, last) = (first.as_micros(), self.last.as_micros());
            let length = span(Duration::from_micros(last.saturating_sub(first)));
            facts.push(format!("{} to {} ({length})", full(first), full(last)));
        }
        facts.push(format!("requests: {}", count(self.requests)));
        if let Some(tally) = &about.tally {
            facts.push(format!("lines: {}", count(tally.lines)));
            for (name, number) in [
                ("lines without a request", tally.no_request),
                ("lines that cannot be read", tally.unreadable),
                ("lines too late to be put in order", tally.late),
            ] {
                if number > 0 {
                    facts.push(format!("{name}: {} ({})", count(number), share(number, tally.lines)));
                }
            }
        }
        facts
    }

    fn row(&self, name: &str, value: impl Fn(&PolicyReport) -> String) -> (String, Vec<String>) {
        (name.to_owned(), self.policies.iter().map(value).collect())
    }

    /// What each policy said of all requests.
    pub(super) fn totals(&self) -> Rows {
        let mut rows = vec![
            self.row("admitted", |policy| count(policy.admitted)),
            self.row("denied", |policy| count(policy.denied)),
            self.row("denied, of all", |policy| share(policy.denied, self.requests)),
        ];
        type Value = fn(&PolicyReport) -> u64;
        let extras: [(&str, Value); 3] = [
            ("denied, lacks a key", |policy| policy.lacking),
            ("denied, can never fit", |policy| policy.impossible),
            ("admitted with a delay", |policy| policy.delayed),
        ];
        for (name, value) in extras {
            if self.policies.iter().any(|policy| value(policy) > 0) {
                rows.push(self.row(name, |policy| count(value(policy))));
            }
        }
        if self.policies.iter().any(|policy| policy.delayed > 0) {
            rows.push(self.row("longest delay", |policy| span(policy.longest_delay)));
        }
        rows
    }

    /// What each rule of each policy said; a rule of several policies is known by its name.
    pub(super) fn by_rule(&self) -> Rows {
        let mut names: Vec<&str> = Vec::new();
        for name in self.policies.iter().flat_map(PolicyReport::rule_names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut rows = Rows::new();
        for name in names {
            let counts = |policy: &PolicyReport, value: fn(&RuleCounts) -> u64| {
                let own = policy.rule_names().zip(&policy.rules).find(|(other, _)| *other == name);
                own.map(|(_, counts)| value(counts))
            };
            let shown = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), count);
            rows.push(self.row(&format!("{name}: matched"), |policy| shown(counts(policy, |c| c.matched))));
            rows.push(self.row(&format!("{name}: denied"), |policy| shown(counts(policy, |c| c.denied))));
            if self.policies.iter().any(|policy| counts(policy, |c| c.shadow_denied).is_some_and(|n| n > 0)) {
                let would = format!("{name}: would deny (shadow)");
                rows.push(self.row(&would, |policy| shown(counts(policy, |c| c.shadow_denied))));
            }
        }
        rows
    }
}
