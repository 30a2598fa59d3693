//! A whole decision (attributes to outcome) by policies of more and more rules, and by one rule and ten that match. Rounds
//! interleaved, medians printed. `cargo bench -p cupo-store-memory --bench matching`.

#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a program for people who measure"
)]

#[path = "../compare/time.rs"]
#[allow(dead_code, reason = "shared with the other benchmark")]
mod time;

use std::net::IpAddr;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cupo_core::{Attributes, Engine, KeySpec, Limit, MatchSource, Policy, PolicySource, Rate, RuleSource};
use cupo_store_memory::MemoryStore;

use time::{contender, medians, per_decision};

const SIZES: [usize; 5] = [1, 10, 100, 1_000, 10_000];
const ROUNDS: usize = 41;
const DECISIONS: u64 = 10_000;
/// Requests of a round differ, and meet rules all over the policy.
const REQUESTS: usize = 500;

#[derive(Debug, Clone)]
struct Ask {
    client: IpAddr,
    path: String,
    host: String,
}

impl Attributes for Ask {
    fn client(&self) -> Option<IpAddr> {
        Some(self.client)
    }
    fn method(&self) -> Option<&str> {
        Some("GET")
    }
    fn host(&self) -> Option<&str> {
        Some(&self.host)
    }
    fn path(&self) -> Option<&str> {
        Some(&self.path)
    }
}

fn ask(number: usize, path: String, host: String) -> Ask {
    Ask { client: IpAddr::from([10, 0, (number >> 8) as u8, number as u8]), path, host }
}

/// A rule that never refuses, by client.
fn rule(number: usize, matches: MatchSource) -> RuleSource {
    let limit = Limit::token_bucket(1_000_000, Rate::new(1_000_000, Duration::from_secs(1))).unwrap();
    let key = KeySpec::parse(&["ip"]).unwrap();
    RuleSource { matches, ..RuleSource::new(&format!("rule-{number}"), key, limit) }
}

fn at(path: String) -> MatchSource {
    MatchSource { path: Some(path), ..MatchSource::default() }
}

fn on(host: String) -> MatchSource {
    MatchSource { hosts: vec![host], ..MatchSource::default() }
}

/// A policy and the requests that it is asked.
struct Case {
    engine: Engine<MemoryStore>,
    asks: Vec<Ask>,
    /// Decisions of a round.
    decisions: u64,
}

impl Case {
    fn new(rules: Vec<RuleSource>, asks: Vec<Ask>, met: usize) -> Self {
        let policy = Policy::compile(PolicySource { rules, ..PolicySource::default() }).unwrap();
        let case = Self { engine: Engine::new(policy, MemoryStore::new()), asks, decisions: DECISIONS };
        for ask in &case.asks {
            assert_eq!(case.decide(ask), met, "{ask:?}");
        }
        case
    }

    /// How many rules decided.
    fn decide(&self, ask: &Ask) -> usize {
        match pin!(self.engine.decide(ask)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome.unwrap().decisions().count(),
            Poll::Pending => panic!("memory never waits"),
        }
    }

    fn round(&self) -> f64 {
        per_decision(1, self.decisions, |_, decisions| {
            for ask in self.asks.iter().cycle().take(decisions as usize) {
                std::hint::black_box(self.decide(ask));
            }
        })
    }
}

/// Policies of `n` rules of which each request meets one (or two, where there is a wide rule beside).
type Shape = (&'static str, fn(usize) -> Case);

const SHAPES: [Shape; 5] = [
    ("distinct paths, /r7/{id}", |n| {
        let rules = (0..n).map(|i| rule(i, at(format!("/r{i}/{{id}}"))));
        let asks = spread(n).map(|(k, i)| ask(k, format!("/r{i}/42"), "a.test".to_owned()));
        Case::new(rules.collect(), asks.collect(), 1)
    }),
    ("parameter first, /{a}/r7, beside /**", |n| {
        let rules = (0..n).map(|i| rule(i, at(format!("/{{tenant}}/r{i}"))));
        let rules = rules.chain([rule(n, at("/**".to_owned()))]);
        let asks = spread(n).map(|(k, i)| ask(k, format!("/acme/r{i}"), "a.test".to_owned()));
        Case::new(rules.collect(), asks.collect(), 2)
    }),
    ("distinct hosts", |n| {
        let rules = (0..n).map(|i| rule(i, on(format!("t{i}.example.com"))));
        let asks = spread(n).map(|(k, i)| ask(k, "/".to_owned(), format!("t{i}.example.com")));
        Case::new(rules.collect(), asks.collect(), 1)
    }),
    ("one path, hosts *.t7.example.com", |n| {
        let matches =
            |i| MatchSource { hosts: on(format!("*.t{i}.example.com")).hosts, ..at("/api/**".to_owned()) };
        let asks = spread(n).map(|(k, i)| ask(k, "/api/x".to_owned(), format!("www.t{i}.example.com")));
        Case::new((0..n).map(|i| rule(i, matches(i))).collect(), asks.collect(), 1)
    }),
    ("told apart by method only (asked one by one)", |n| {
        let rules = (0..n).map(|i| {
            let method = if i == n / 2 { "GET".to_owned() } else { format!("X{i}") };
            rule(i, MatchSource { methods: vec![method], ..MatchSource::default() })
        });
        let asks = spread(n).map(|(k, _)| ask(k, "/".to_owned(), "a.test".to_owned()));
        // Fewer of them, since each takes long.
        let decisions = DECISIONS / (n as u64 / 100).max(1);
        Case { decisions, ..Case::new(rules.collect(), asks.collect(), 1) }
    }),
];

/// Numbers of requests, each with the number of a rule, spread over the policy.
fn spread(rules: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..REQUESTS).map(move |k| (k, k * 7_919 % rules))
}

fn compare(cases: &[Case]) -> Vec<f64> {
    let mut contenders: Vec<_> = cases.iter().map(|case| contender(|| case.round())).collect();
    medians(ROUNDS, &mut contenders)
}

fn main() {
    println!("ns of CPU per decision, medians of {ROUNDS} rounds of {DECISIONS} decisions");
    println!("{:<48}{}", "rules", SIZES.map(|size| format!("{size:>8}")).concat());
    for (name, make) in SHAPES {
        let cases = SIZES.map(make);
        let times: String = compare(&cases).iter().map(|time| format!("{time:>8.0}")).collect();
        println!("{name:<48}{times}");
    }
    let matching = [1, 2, 5, 10, 20].map(|n| {
        let rules = (0..n).map(|i| rule(i, at("/api/{id}".to_owned())));
        let asks = spread(1).map(|(k, _)| ask(k, "/api/42".to_owned(), "a.test".to_owned()));
        (n, Case::new(rules.collect(), asks.collect(), n))
    });
    let (counts, cases): (Vec<usize>, Vec<Case>) = matching.into_iter().unzip();
    println!("rules that all match: {counts:?}");
    let times = compare(&cases);
    println!("{times:.0?}; over one rule: {:.0?}", times.iter().map(|t| t - times[0]).collect::<Vec<_>>());
}
