//! The report as a page that needs nothing but itself: no script, no network, one style sheet that is known by its hash.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};

use super::chart::{BANDS, Frame, LINES};
use super::policy::PolicyReport;
use super::series::{COLOURS, Series, highest};
use super::text::TOP_KEYS;
use super::units::{count, full, span};
use super::{About, Report};
use crate::page::Page;

const STYLE: &str = include_str!("style.css");

/// What the page may do: look as this style sheet says, and nothing else.
const HEAD: &str = concat!(
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; style-src '",
    "sha256-+aeY9aDyJ0gfKeZz3TauZJvIoKhspSIhO0XVs5YvqZU=",
    "'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>Replay: "
);

/// Writes the page over what the file had.
pub(in crate::replay) fn write_page(about: &About, report: &Report, mut file: File) -> io::Result<()> {
    let mut page = Page::default();
    let names: Vec<&str> = report.policies.iter().map(|policy| &*policy.name).collect();
    page.raw(HEAD)
        .text(names.join(", "))
        .raw("</title>\n<style>")
        .raw(STYLE)
        .raw("</style></head>\n<body><main>\n");
    page.element("<header><h1>Replay</h1><p>", about.inputs.join(", "), " (").element(
        "",
        &about.format,
        ")</p><ul>",
    );
    for fact in report.facts(about) {
        page.element("<li>", fact, "</li>");
    }
    page.raw("</ul></header>\n");
    report.compare(&mut page);
    if report.requests > 0 {
        report.charts(&mut page);
        report.balance_charts(&mut page);
    }
    report.lists(&mut page);
    page.raw("<footer>Written by <code>cupo replay</code>. Times are UTC.</footer></main></body></html>\n");
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&page.into_bytes())
}

impl Report {
    fn compare(&self, page: &mut Page) {
        page.raw("<section><h2>Policies</h2><div class=\"scroll\"><table><thead><tr><td></td>");
        for policy in &self.policies {
            page.element("<th scope=\"col\">", &policy.name, "</th>");
        }
        page.raw("</tr></thead><tbody>");
        for (name, cells) in self.totals().into_iter().chain(self.by_rule()) {
            page.element("<tr><th scope=\"row\">", name, "</th>");
            for cell in cells {
                page.element("<td>", cell, "</td>");
            }
            page.raw("</tr>");
        }
        page.raw("</tbody></table></div></section>\n");
    }

    /// One chart is as wide as the page, several stand beside each other.
    fn is_wide(&self) -> bool {
        self.policies.len() == 1
    }

    fn charts(&self, page: &mut Page) {
        let stacks: Vec<_> = (0..self.policies.len()).map(|policy| self.requests_over_time(policy)).collect();
        self.stacks("Requests over time", "requests", &stacks, page);
        if self.policies.iter().all(|policy| policy.denied == 0) {
            return;
        }
        if !self.is_wide() {
            let lines = self.denials_by_policy();
            let most = lines.iter().flat_map(|series| &series.values).max().copied().unwrap_or(0);
            let frame = Frame::new(&self.timeline, true, most);
            page.element(
                "<section><h2>Denied requests, policy beside policy</h2><figure><figcaption>denied in ",
                frame.stretch(),
                "",
            );
            legend(&lines, page);
            page.raw("</figcaption>");
            frame.lines("Denied requests over time, a line for each policy", &lines, page);
            page.raw("</figure></section>\n");
        }
        let stacks: Vec<_> = (0..self.policies.len()).map(|policy| self.denials_by_rule(policy)).collect();
        self.stacks("Denied requests, by the rule that denied", "denied", &stacks, page);
    }

    /// A chart for each policy, all of them equally high.
    fn stacks(&self, title: &'static str, what: &'static str, stacks: &[Vec<Series>], page: &mut Page) {
        let most = stacks.iter().map(|stack| highest(stack)).max().unwrap_or(1);
        page.element("<section><h2>", title, "</h2><div class=\"beside\">");
        for (stack, policy) in stacks.iter().zip(&self.policies) {
            let frame = Frame::new(&self.timeline, self.is_wide(), most);
            page.element("<figure><figcaption><b>", &policy.name, "</b>, ");
            page.raw(what).element(" in ", frame.stretch(), "");
            legend(stack, page);
            page.raw("</figcaption>");
            frame.stacked(&format!("{title}: {}", policy.name), stack, page);
            page.raw("</figure>");
        }
        page.raw("</div></section>\n");
    }

    fn balance_charts(&self, page: &mut Page) {
        for (index, watch) in self.watches.iter().enumerate() {
            let Some(key) = &watch.text else { continue };
            let values = |policy: usize| {
                let of =
                    |cell: &super::timeline::Cell| cell.policies.get(policy)?.balances.get(index).copied();
                self.timeline.cells().iter().map(|cell| of(cell).unwrap_or_default()).collect::<Vec<_>>()
            };
            let known = (0..).zip(&self.policies).zip(BANDS).zip(LINES).zip(COLOURS);
            let balances: Vec<_> = known
                .map(|((((policy, report), band), line), class)| {
                    (report, class, (band, line, values(policy)))
                })
                .filter(|(_, _, (_, _, values))| values.iter().any(|balance| balance.asked > 0))
                .collect();
            page.element("<section><h2>Balance of <code>", key, "</code></h2>");
            if balances.is_empty() {
                page.raw("<p>No request was counted by this key.</p></section>\n");
                continue;
            }
            let all = || balances.iter().flat_map(|(_, _, (_, _, values))| values);
            let (limit, denied) =
                (all().map(|b| b.limit.max(b.most)).max().unwrap_or(1), all().map(|b| b.denied).sum::<u64>());
            let frame = Frame::new(&self.timeline, true, limit);
            page.element(
                "<figure><figcaption>what it has left after each request, the range in ",
                frame.stretch(),
                "",
            );
            page.raw("<span class=\"legend\">");
            for (report, class, _) in &balances {
                entry(class, &report.name, page);
            }
            if denied > 0 {
                entry("no", "denied", page);
            }
            page.raw("</span></figcaption>");
            let drawn: Vec<_> = balances.into_iter().map(|(_, _, drawn)| drawn).collect();
            frame.balances(&format!("Balance of {key} over time"), &drawn, page);
            page.raw("</figure></section>\n");
        }
    }

    fn lists(&self, page: &mut Page) {
        if self.policies.iter().all(|policy| policy.denied_keys.top(1).is_empty()) {
            return;
        }
        page.raw("<section><h2>Keys denied most</h2><div class=\"beside\">");
        for policy in &self.policies {
            denied_keys(policy, page);
        }
        page.raw("</div></section>\n<section><h2>Longest waits</h2><div class=\"beside\">");
        for policy in &self.policies {
            page.element("<div class=\"scroll\"><table class=\"list\"><caption>", &policy.name, "</caption>");
            page.raw("<thead><tr><th scope=\"col\">wait</th><th scope=\"col\">key</th><th scope=\"col\">at</th></tr></thead><tbody>");
            for wait in policy.waits.top() {
                page.element("<tr><td>", span(wait.span), "</td>").element(
                    "<td><code>",
                    &wait.key,
                    "</code></td>",
                );
                page.element("<td>", full(wait.at.as_micros()), "</td></tr>");
            }
            page.raw("</tbody></table></div>");
        }
        page.raw("</div></section>\n");
    }
}

fn denied_keys(policy: &PolicyReport, page: &mut Page) {
    page.element("<div class=\"scroll\"><table class=\"list\"><caption>", &policy.name, "").element(
        "",
        policy.doubt(),
        "</caption>",
    );
    page.raw("<thead><tr><th scope=\"col\">denied</th><th scope=\"col\">key</th></tr></thead><tbody>");
    for (key, denied) in policy.denied_keys.top(TOP_KEYS) {
        page.element("<tr><td>", count(denied), "</td>").element("<td><code>", key, "</code></td></tr>");
    }
    page.raw("</tbody></table></div>");
}

fn legend(series: &[Series], page: &mut Page) {
    page.raw("<span class=\"legend\">");
    for series in series {
        entry(series.class, &series.name, page);
    }
    page.raw("</span>");
}

fn entry(class: &'static str, name: &str, page: &mut Page) {
    page.raw("<span><svg class=\"key\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"").raw(class);
    page.raw("\" width=\"10\" height=\"10\" rx=\"2\"/></svg>").text(name).raw("</span>");
}
