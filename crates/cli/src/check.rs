//! `cupo check`: validates a policy and says what it means.

mod access;

use std::io::{self, Write};

use cupo_config::{
    Config, HeaderDialect, HeadersSource, MemoryBound, ProxyProtocol, ResponsesSource, RuleResponseSource,
    StoreSource, UpstreamHeaders,
};
use cupo_core::algorithm::ending_window::Edges;
use cupo_core::{
    Action, Algorithm, ChargeSource, CostSource, DisplayDuration, Limit, OnMissing, OnStoreError, Params,
    PlanFrom, Proxies, Rule, Trust,
};
use cupo_store_redis::{RedisSettings, RedisStore};

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::jwt::Tokens;
use crate::presentation;
use crate::serve::admin::Said;
use crate::store;

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let config = cupo_config::load(&args.file)?;
    presentation::of(&config)?;
    // What only the store understands, such as its URL, is looked at too.
    let redis = match &config.store {
        StoreSource::Redis(redis) => Some(store::settings(redis).map_err(|error| error.within(&config))?),
        _ => None,
    };
    Tokens::open(&config)?;
    Said::of(&config)?;
    describe(&config, &mut io::stdout().lock()).map_err(Failure::Write)?;
    match redis {
        Some(settings) if args.connect => connect(&settings),
        _ => Ok(()),
    }
}

/// Tries the connection and says what is there.
fn connect(settings: &RedisSettings) -> Result<(), Failure> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
    let found = runtime.block_on(RedisStore::try_connection(settings)).map_err(Failure::Connect)?;
    writeln!(io::stdout().lock(), "\nthe store answers: {found}").map_err(Failure::Write)
}

fn describe(config: &Config, out: &mut impl Write) -> io::Result<()> {
    let gateway = &config.gateway;
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "not said".to_owned());
    let trust = config.policy.trust();
    writeln!(out, "{} is valid.\n", config.source.name())?;
    writeln!(out, "listen           {}", or_none(gateway.listen.as_ref().map(ToString::to_string)))?;
    writeln!(out, "upstream         {}", or_none(gateway.upstream.as_ref().map(ToString::to_string)))?;
    writeln!(out, "store            {}", kept(&config.store))?;
    if let Some(admin) = &config.admin {
        let bearers: Vec<&str> = admin.tokens.iter().map(|token| token.name.as_str()).collect();
        let who = if bearers.is_empty() { "this machine".to_owned() } else { bearers.join(", ") };
        writeln!(out, "admin            {}: answers {who}", admin.listen)?;
    }
    describe_trust(trust, out)?;
    if let Some(protocol) = gateway.proxy_protocol.filter(|protocol| *protocol != ProxyProtocol::Off) {
        writeln!(out, "PROXY protocol   {}: connections begin with a PROXY header", protocol.name())?;
    }
    let tiers: Vec<&str> = config.policy.tiers().collect();
    describe_callers(config, &tiers, out)?;
    access::describe(config, out)?;
    writeln!(out, "callers see      {}", seen(&config.responses))?;
    for rule in config.policy.rules() {
        let own = config.responses.rules.iter().find(|own| own.rule == rule.name());
        describe_rule(rule, own, &tiers, out)?;
        if let Some(own) = own {
            writeln!(out, "  answers        {}", answered(own))?;
        }
    }
    Ok(())
}

/// The rate-limit headers, and what becomes of the upstream's.
fn seen(responses: &ResponsesSource) -> String {
    let usual =
        [HeadersSource::Dialect(HeaderDialect::XRateLimit), HeadersSource::Dialect(HeaderDialect::Ietf11)];
    let forms = responses.headers.as_deref().unwrap_or(&usual).iter().map(|form| match form {
        HeadersSource::Names { limit, remaining, reset, .. } => {
            let names = [limit, remaining, reset].into_iter().flatten();
            names.map(String::as_str).collect::<Vec<_>>().join(", ")
        }
        HeadersSource::Dialect(dialect) => dialect.name().to_owned(),
        _ => "others".to_owned(),
    });
    let forms = forms.collect::<Vec<_>>().join(", ");
    let upstream = match responses.upstream_headers {
        Some(UpstreamHeaders::Keep) => "the upstream's own where it has any",
        Some(UpstreamHeaders::Replace) => "none of the upstream's",
        _ => "the upstream's own where they are tighter",
    };
    let jitter = responses.retry_after_jitter.filter(|jitter| !jitter.is_zero());
    let jitter =
        jitter.map(|jitter| format!("; up to {} more to wait", DisplayDuration(jitter))).unwrap_or_default();
    format!("{}; {upstream}{jitter}", if forms.is_empty() { "no rate-limit headers" } else { &forms })
}

/// What a rule answers with in place of the usual.
fn answered(own: &RuleResponseSource) -> String {
    let mut parts = vec![format!("with status {}", own.status.unwrap_or(429))];
    parts.extend((!own.headers.is_empty()).then(|| {
        let names: Vec<&str> = own.headers.iter().map(|(name, _)| name.as_str()).collect();
        format!("headers {}", names.join(", "))
    }));
    parts.extend((!own.messages.is_empty()).then(|| {
        let tags: Vec<&str> = own.messages.iter().map(|message| message.language.as_str()).collect();
        format!("a message in {}", tags.join(", "))
    }));
    parts.extend(own.body.as_ref().map(|(content_type, _)| format!("a body of {content_type}")));
    parts.join("; ")
}

fn describe_trust(trust: &Trust, out: &mut impl Write) -> io::Result<()> {
    let header = trust.client_address_header.name();
    match &trust.proxies {
        Proxies::Known { networks, unix } => {
            let networks = networks.iter().map(ToString::to_string);
            let proxies: Vec<String> = networks.chain(unix.then(|| "unix".to_owned())).collect();
            if proxies.is_empty() {
                return writeln!(out, "trusted proxies  none: the address of the connection is the client's");
            }
            writeln!(out, "trusted proxies  {}", proxies.join(", "))?;
        }
        Proxies::Hops(hops) => {
            writeln!(out, "trusted proxies  whoever connects, and the hops behind it: {hops} in all")?;
        }
    }
    writeln!(out, "client address   in {header}")
}

fn kept(store: &StoreSource) -> String {
    match store {
        StoreSource::Memory { bound: None } => "memory".to_owned(),
        StoreSource::Memory { bound: Some(MemoryBound::Bytes(bytes)) } => {
            format!("memory, at most {bytes} bytes")
        }
        StoreSource::Memory { bound: Some(MemoryBound::Keys(keys)) } => {
            format!("memory, at most {keys} keys")
        }
        StoreSource::Redis(redis) => redis.shown_url(),
        _ => "another".to_owned(),
    }
}

fn describe_rule(
    rule: &Rule,
    own: Option<&RuleResponseSource>,
    tiers: &[&str],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "\nrule {}", rule.name())?;
    writeln!(out, "  applies to     {}", rule.describe_match())?;
    if rule.stops() {
        writeln!(out, "  stops          the rules after it are not looked at")?;
    }
    writeln!(out, "  counts by      {}", rule.key())?;
    describe_limits(rule, tiers, out)?;
    let excess = match rule.action() {
        Action::Deny => format!("deny: {}", access::refusal(rule, own)),
        Action::Delay => {
            let refusal = access::refusal(rule, own);
            format!("delay: hold each request until its slot; when the queue is full, {refusal}")
        }
        Action::Shadow => "shadow: count and observe, never deny".to_owned(),
        other => other.name().to_owned(),
    };
    writeln!(out, "  on excess      {excess}")?;
    let missing = match rule.on_missing() {
        OnMissing::Skip => "skip: the rule does not apply",
        OnMissing::Shared => "shared: all requests that lack it share one counter",
        OnMissing::Deny => "deny: 403, saying what is missing",
        other => other.name(),
    };
    // These two are never missing.
    if !matches!(rule.key().to_string().as_str(), "global" | "ip") {
        writeln!(out, "  without key    {missing}")?;
    }
    let store_error = match rule.on_store_error() {
        OnStoreError::Allow => "allow: the request passes, without rate-limit fields".to_owned(),
        OnStoreError::Deny => "deny: 503 with Retry-After".to_owned(),
        OnStoreError::Local => {
            let shares: Vec<String> = rule
                .shares()
                .map(|share| share.map_or("unlimited".to_owned(), ToString::to_string))
                .collect();
            format!("local: this node allows its share, {}", shares.join("; "))
        }
        other => other.name().to_owned(),
    };
    writeln!(out, "  without store  {store_error}")
}

/// What the rule allows, to each tier where that matters.
fn describe_limits(rule: &Rule, tiers: &[&str], out: &mut impl Write) -> io::Result<()> {
    let uses = |limit: &Limit| match limit.quota().checked_div(rule.cost()) {
        Some(requests) if rule.cost() > 1 && matches!(rule.cost_source(), CostSource::Fixed(_)) => {
            format!(", so that {requests} requests use it up")
        }
        _ => String::new(),
    };
    if rule.is_by_tier() {
        for (tier, limit) in tiers.iter().zip(rule.limits()) {
            match limit {
                Some(limit) => {
                    writeln!(out, "  allows {tier:<7} {limit}")?;
                    writeln!(out, "  that is        {}{}", meaning(limit), uses(limit))?;
                }
                None => writeln!(out, "  allows {tier:<7} unlimited: the rule does not apply")?,
            }
        }
        return writeln!(out, "  each costs     {}", costs(rule));
    }
    for limit in rule.limits().flatten() {
        writeln!(out, "  allows         {limit}")?;
        writeln!(out, "  that is        {}", meaning(limit))?;
        writeln!(out, "  each costs     {}{}", costs(rule), uses(limit))?;
    }
    Ok(())
}

/// What a request takes of it, and when that counts.
fn costs(rule: &Rule) -> String {
    let cost = match rule.cost_source() {
        CostSource::Fixed(units) => units.to_string(),
        CostSource::Response { header, reserve } => {
            format!("what the response says in {header}; {reserve} until then, and where it does not")
        }
        CostSource::Request { header, max, default } => {
            format!("what a trusted proxy says in {header}, 1 to {max}; else {default}")
        }
        CostSource::Body { unit, max } => {
            format!(
                "1 for each started {unit} bytes of the body, at most {max}; {max} where its length is not known"
            )
        }
        _ => "something else".to_owned(),
    };
    match rule.charge_source() {
        ChargeSource::OnResponse(statuses) => {
            format!("{cost}, given back unless the response has status {statuses}")
        }
        _ => cost,
    }
}

/// Plans and callers, where there are any.
fn describe_callers(config: &Config, tiers: &[&str], out: &mut impl Write) -> io::Result<()> {
    let policy = &config.policy;
    if let Some(default) = policy.default_tier() {
        let from: Vec<String> = policy
            .plan_from()
            .iter()
            .map(|from| match from {
                PlanFrom::Callers => "the file of callers".to_owned(),
                PlanFrom::Claim(name) => format!("the claim {name} of a verified token"),
                PlanFrom::Header(name) => format!("the header {name} from a trusted proxy"),
                _ => "elsewhere".to_owned(),
            })
            .collect();
        writeln!(out, "plans            {}", tiers.join(", "))?;
        writeln!(out, "plan by          {}; else {default}", from.join(", then "))?;
    }
    if let Some(file) = &config.callers {
        writeln!(out, "callers          {}, from {}", file.callers, file.path.display())?;
    }
    Ok(())
}

/// What the numbers amount to: the burst, and the rate that lasts.
fn meaning(limit: &Limit) -> String {
    let (quota, window) = (limit.quota(), DisplayDuration(limit.window()));
    if quota == 0 {
        return "nothing: every request is refused".to_owned();
    }
    match limit.algorithm() {
        Algorithm::FixedWindow => {
            let each = match limit.params() {
                Params::EndingWindow(p) => match p.edges {
                    Edges::Calendar(calendar) => format!("{}, by its clock and calendar", calendar.name()),
                    Edges::FirstRequest { .. } => format!("{window} that begins with a first request"),
                },
                _ => format!("{window} of the clock"),
            };
            format!("at most {quota} in each {each}; up to twice that across an edge")
        }
        Algorithm::SlidingWindowLog => format!("at most {quota} in any {window}, exactly"),
        Algorithm::SlidingWindowCounter => {
            format!("about {quota} in any {window}, estimated from two windows")
        }
        Algorithm::TokenBucket => format!("a burst of {quota}, whole again after {window}"),
        Algorithm::LeakyBucket => format!("evenly spaced; {quota} at once fill it, and drain in {window}"),
    }
}
