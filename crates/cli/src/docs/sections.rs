//! The sections of the page.

mod answers;

use cupo_config::{Config, InvalidToken, OwnPath};
use cupo_core::{Action, ChargeSource, CostSource, Kind, OnMissing, OnStoreError, PlanFrom, Rule};
use cupo_http::Presentation;

use super::block::{Block, Line, Span, Table, code, joined, say};
use super::client::Credential;
use super::example::Examples;
use super::limits::{Period, published, text};
use super::text::Texts;

/// What the page is about.
pub(super) struct Subject<'a> {
    config: &'a Config,
    texts: &'static Texts,
    base: &'a str,
    rules: Vec<&'a Rule>,
    tiers: Vec<&'a str>,
    examples: Option<Examples>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        config: &'a Config,
        presentation: &Presentation,
        texts: &'static Texts,
        base: &'a str,
    ) -> Self {
        let policy = &config.policy;
        let rules = published(policy);
        let tiers: Vec<&str> = policy.tiers().collect();
        let tier = tiers.iter().position(|tier| Some(*tier) == policy.default_tier()).unwrap_or_default();
        let examples = Examples::make(&rules, tier, presentation, texts.tag);
        Self { config, texts, base, rules, tiers, examples }
    }

    pub(super) fn page(&self) -> Vec<Block> {
        let texts = self.texts;
        let mut page = vec![Block::Paragraph(say(texts.intro, &[("base", &code(self.base))]))];
        if self.rules.is_empty() {
            page.push(Block::Paragraph(say(texts.nothing, &[])));
        } else {
            page.push(Block::Paragraph(say(texts.all_or_none, &[])));
            self.limits(&mut page);
            self.plans(&mut page);
            self.periods(&mut page);
            self.identity(&mut page);
            self.headers(&mut page);
            self.excess(&mut page);
            self.status(&mut page);
            self.others(&mut page);
        }
        page.push(Block::Paragraph(say(texts.footer, &[("command", &code("cupo docs"))])));
        page
    }

    /// A table of all limits, with a column for each plan where there are plans.
    fn limits(&self, page: &mut Vec<Block>) {
        let texts = self.texts;
        page.push(Block::Section { id: "limits", title: texts.limits });
        let costs = self.rules.iter().any(|rule| *rule.cost_source() != CostSource::Fixed(1));
        let mut head = vec![text(texts.limit), text(texts.applies), text(texts.counted)];
        if self.by_tier() {
            head.extend(self.tiers.iter().map(|tier| code(*tier)));
        } else {
            head.push(text(texts.allowed));
        }
        if costs {
            head.push(text(texts.takes));
        }
        let row = |rule: &&Rule| {
            let mut row = vec![code(rule.name()), texts.applies(rule), texts.counted_by(rule)];
            let delays = rule.action() == Action::Delay;
            let columns = if self.by_tier() { self.tiers.len() } else { 1 };
            let limits: Vec<_> = rule.limits().collect();
            row.extend((0..columns).map(|tier| {
                let limit = limits.get(if rule.is_by_tier() { tier } else { 0 }).copied().flatten();
                texts.amount(limit, delays)
            }));
            if costs {
                row.push(texts.cost(rule));
            }
            row
        };
        let rows = self.rules.iter().map(row).collect();
        page.push(Block::Table(Table { label: texts.limits, head, rows }));
        let dear = |rule: &&&Rule| matches!(rule.cost_source(), CostSource::Fixed(units) if *units > 1);
        let dear = self.rules.iter().filter(dear).find_map(|rule| {
            let quota = rule.limits().flatten().map(cupo_core::Limit::quota).find(|quota| *quota > 0)?;
            Some((rule, quota, quota.checked_div(rule.cost())?))
        });
        if let Some((rule, quota, requests)) = dear {
            let quota = say(texts.units_of, &[("count", &text(texts.number(quota)))]);
            let values = [
                ("limit", &code(rule.name())),
                ("count", &quota),
                ("requests", &text(texts.number(requests))),
            ];
            page.push(Block::Paragraph(say(texts.periods.cost, &values)));
        }
        for rule in &self.rules {
            if let ChargeSource::OnResponse(statuses) = rule.charge_source() {
                let values = [("limit", &code(rule.name())), ("statuses", &text(statuses.to_string()))];
                page.push(Block::Paragraph(say(texts.cost.on_response, &values)));
            }
        }
    }

    /// Whether a limit depends on the caller's plan.
    fn by_tier(&self) -> bool {
        self.rules.iter().any(|rule| rule.is_by_tier())
    }

    fn plans(&self, page: &mut Vec<Block>) {
        let texts = &self.texts.plans;
        let Some(default) = self.config.policy.default_tier().filter(|_| self.by_tier()) else { return };
        page.push(Block::Section { id: "plans", title: texts.title });
        page.push(Block::Paragraph(say(texts.default, &[("plan", &code(default))])));
        if self.config.policy.plan_from().contains(&PlanFrom::Callers) {
            page.push(Block::Paragraph(say(texts.agreed, &[])));
        }
    }

    fn periods(&self, page: &mut Vec<Block>) {
        let mut periods: Vec<(Period, Vec<Line>)> = Vec::new();
        for rule in &self.rules {
            for limit in rule.limits().flatten().filter(|limit| limit.quota() > 0) {
                let (period, name) = (Period::of(limit, rule), code(rule.name()));
                match periods.iter_mut().find(|(known, _)| *known == period) {
                    Some((_, names)) if names.contains(&name) => {}
                    Some((_, names)) => names.push(name),
                    None => periods.push((period, vec![name])),
                }
            }
        }
        page.push(Block::Section { id: "counting", title: self.texts.periods.title });
        let said = |(period, names): (Period, Vec<Line>)| self.texts.period(period, &joined(names, ", "));
        page.push(Block::List(periods.into_iter().map(said).collect()));
    }

    /// What identifies callers, and what becomes of requests that do not say it.
    fn identity(&self, page: &mut Vec<Block>) {
        let texts = &self.texts.identity;
        let asks =
            |wanted: fn(&Kind) -> bool| self.rules.iter().flat_map(|rule| rule.key().kinds()).any(wanted);
        let trust = self.config.policy.trust();
        let mut lines = Vec::new();
        if asks(|kind| *kind == Kind::ApiKey) {
            lines.push(say(texts.api_key, &[("header", &code(trust.api_key_header.as_str()))]));
        }
        let claims = asks(|kind| matches!(kind, Kind::Claim(_)));
        if asks(|kind| *kind == Kind::User) || claims {
            lines.push(match self.token_header() {
                Some(header) => say(texts.token, &[("header", &code(header))]),
                None => say(texts.user, &[]),
            });
        }
        if asks(|kind| *kind == Kind::Ip) && trust.ipv6_prefix < 128 {
            lines.push(say(texts.ip, &[("bits", &text(trust.ipv6_prefix.to_string()))]));
        }
        if asks(|kind| *kind == Kind::Route) {
            lines.push(say(texts.route, &[("id", &code("{id}"))]));
        }
        let lacking = self.rules.iter().filter(|rule| may_lack(rule));
        let by_answer = |answer: OnMissing| {
            let names = lacking.clone().filter(move |rule| rule.on_missing() == answer);
            joined(names.map(|rule| code(rule.name())), ", ")
        };
        for (answer, words) in [
            (OnMissing::Shared, texts.shared),
            (OnMissing::Skip, texts.skipped),
            (OnMissing::Deny, texts.denied),
        ] {
            let names = by_answer(answer);
            if !names.is_empty() {
                lines.push(say(words, &[("limit", &names)]));
            }
        }
        if !lines.is_empty() {
            page.push(Block::Section { id: "identity", title: texts.title });
            page.push(Block::List(lines));
        }
    }

    /// Where tokens are read, if they are.
    fn token_header(&self) -> Option<&'a str> {
        self.config.jwt.as_ref().map(|jwt| jwt.header.as_deref().unwrap_or("authorization"))
    }

    /// What callers show of themselves, as far as a limit asks for it.
    fn credential(&self) -> Credential<'a> {
        let mut kinds = self.rules.iter().flat_map(|rule| rule.key().kinds());
        let shows = |kind: &Kind| match (kind, self.token_header()) {
            (Kind::ApiKey, _) => Some(Credential::Key(&self.config.policy.trust().api_key_header)),
            (Kind::User | Kind::Claim(_), Some(header)) => Some(Credential::Token(header)),
            _ => None,
        };
        kinds.find_map(shows).unwrap_or(Credential::None)
    }

    fn others(&self, page: &mut Vec<Block>) {
        let texts = &self.texts.others;
        let refuses = self.config.jwt.as_ref().is_some_and(|jwt| jwt.invalid == InvalidToken::Refuse);
        let lacking = |rule: &&Rule| rule.on_missing() == OnMissing::Deny && may_lack(rule);
        let fails = |rule: &&Rule| rule.on_store_error() == OnStoreError::Deny;
        let rows: Vec<Vec<Line>> = [
            (refuses, "401", texts.token),
            (self.rules.iter().any(lacking), "403", texts.missing),
            (self.rules.iter().any(fails), "503", texts.unavailable),
        ]
        .into_iter()
        .filter(|(is_so, ..)| *is_so)
        .map(|(_, status, when)| vec![code(status), say(when, &[])])
        .collect();
        if !rows.is_empty() {
            page.push(Block::Section { id: "others", title: texts.title });
            let head = vec![text(texts.status), text(texts.when)];
            page.push(Block::Table(Table { label: texts.title, head, rows }));
        }
    }

    /// Where the status endpoint answers, if it does.
    fn status_path(&self) -> Option<&str> {
        match &self.config.gateway.status_path {
            None => Some("/rate-limit-status"),
            Some(OwnPath::At(path)) => Some(path),
            Some(_) => None,
        }
    }

    fn strong(words: &str) -> Line {
        vec![Span::Strong(words.to_owned())]
    }
}

/// Whether a request may lack a part of what the rule counts by.
fn may_lack(rule: &Rule) -> bool {
    let is_always_there =
        |kind: &Kind| matches!(kind, Kind::Global | Kind::Ip | Kind::Route | Kind::Method | Kind::Host);
    rule.key().parts().any(|alternatives| !alternatives.iter().any(is_always_there))
}
