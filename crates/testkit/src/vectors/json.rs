//! The traces as JSON.

use core::fmt::Write as _;

use cupo_core::algorithm::ending_window::Edges;
use cupo_core::algorithm::{
    Params, State, ending_window, fixed_window, leaky_bucket, sliding_window_counter, sliding_window_log,
    token_bucket,
};
use cupo_core::{Algorithm, Decision, Verdict};
use serde_json::{Value, json};

use super::{Recorded, Trace};
use crate::calendars;

const ABOUT: &str = "Decision traces. Integers below 2^53; instants and spans are ticks. Steps are asked in order, from no \
                     state; `state` is the whole state after the step, null while there is none. Windows of a \
                     calendar begin at its `edges`, and after the last are as long as the last.";

/// One step a line, so that a difference shows which one.
pub(super) fn write(algorithm: Algorithm, traces: &[Trace]) -> String {
    let mut out = format!("{{\n\"about\": {},\n\"algorithm\": \"{algorithm}\",\n\"traces\": [", json!(ABOUT));
    for (i, trace) in traces.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let (name, params) = (json!(trace.name), params_to(&trace.params));
        write!(out, "{comma}\n{{\"name\": {name}, \"params\": {params}, \"steps\": [").unwrap();
        for (i, step) in trace.steps.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let (decision, state) = (decision_to(&step.decision), state_to(step.state.as_ref()));
            let (now, cost) = (step.now, step.cost);
            write!(
                out,
                "{comma}\n{{\"now\": {now}, \"cost\": {cost}, \"decision\": {decision}, \"state\": {state}}}"
            )
            .unwrap();
        }
        out.push_str("\n]}");
    }
    out.push_str("\n]\n}\n");
    out
}

pub(super) fn read(algorithm: Algorithm, text: &str) -> Vec<Trace> {
    let file: Value = serde_json::from_str(text).expect("valid JSON");
    assert_eq!(file["algorithm"], algorithm.name());
    let steps = |trace: &Value| {
        list(&trace["steps"])
            .iter()
            .map(|step| Recorded {
                now: number(step, "now"),
                cost: number(step, "cost"),
                decision: decision_from(&step["decision"]),
                state: (!step["state"].is_null()).then(|| state_from(algorithm, &step["state"])),
            })
            .collect()
    };
    let trace = |trace: &Value| Trace {
        name: trace["name"].as_str().expect("a name").to_owned(),
        params: params_from(algorithm, &trace["params"]),
        steps: steps(trace),
    };
    list(&file["traces"]).iter().map(trace).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn number(value: &Value, name: &str) -> u64 {
    let n = value[name].as_u64().unwrap_or_else(|| panic!("`{name}` of {value} is no number"));
    assert!(n < cupo_core::number::DOMAIN, "`{name}` of {value} is outside the domain");
    n
}

/// An object of numbers, in the order in which they are given.
fn object(numbers: &[(&str, u64)]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|(name, n)| format!("\"{name}\": {n}")).collect();
    format!("{{{}}}", numbers.join(", "))
}

fn decision_to(decision: &Decision<u64>) -> String {
    let verdict = match decision.verdict {
        Verdict::Admit => "admit",
        Verdict::Deny { .. } => "deny",
        Verdict::Impossible => "impossible",
    };
    let retry_after = decision.retry_after().map_or("null".to_owned(), |wait| wait.to_string());
    let rest = object(&[
        ("limit", decision.limit),
        ("remaining", decision.remaining),
        ("reset_after", decision.reset_after),
        ("delay", decision.delay),
    ]);
    format!("{{\"verdict\": \"{verdict}\", \"retry_after\": {retry_after}, {}", &rest[1..])
}

fn decision_from(value: &Value) -> Decision<u64> {
    Decision {
        verdict: match value["verdict"].as_str().expect("a verdict") {
            "admit" => Verdict::Admit,
            "deny" => Verdict::Deny { retry_after: number(value, "retry_after") },
            "impossible" => Verdict::Impossible,
            other => panic!("{other} is no verdict"),
        },
        limit: number(value, "limit"),
        remaining: number(value, "remaining"),
        reset_after: number(value, "reset_after"),
        delay: number(value, "delay"),
    }
}

fn params_to(params: &Params) -> String {
    match params {
        Params::FixedWindow(p) => object(&[("count", p.count), ("window", p.window)]),
        Params::EndingWindow(ending_window::Params { count, edges: Edges::FirstRequest { window } }) => {
            format!("{{\"count\": {count}, \"window\": {window}, \"anchor\": \"first_request\"}}")
        }
        Params::EndingWindow(ending_window::Params { count, edges: Edges::Calendar(calendar) }) => {
            let (name, edges) = (json!(calendar.name()), json!(calendars::edges(calendar)));
            format!("{{\"count\": {count}, \"calendar\": {name}, \"edges\": {edges}}}")
        }
        Params::SlidingWindowLog(p) => object(&[("count", p.count), ("window", p.window)]),
        Params::SlidingWindowCounter(p) => object(&[("count", p.count), ("window", p.window)]),
        Params::TokenBucket(p) => {
            object(&[("capacity", p.capacity), ("refill", p.refill), ("period", p.period)])
        }
        Params::LeakyBucket(p) => object(&[("rate", p.rate), ("period", p.period), ("queue", p.queue)]),
    }
}

fn params_from(algorithm: Algorithm, value: &Value) -> Params {
    let n = |name| number(value, name);
    match algorithm {
        Algorithm::FixedWindow => {
            let edges = if let Some(name) = value["calendar"].as_str() {
                let edges = list(&value["edges"]).iter().map(|edge| edge.as_u64().expect("an edge"));
                Edges::Calendar(calendars::leaked(name, &edges.collect::<Vec<_>>()))
            } else if value["anchor"] == "first_request" {
                Edges::FirstRequest { window: n("window") }
            } else {
                return Params::FixedWindow(fixed_window::Params { count: n("count"), window: n("window") });
            };
            Params::EndingWindow(ending_window::Params { count: n("count"), edges })
        }
        Algorithm::SlidingWindowLog => {
            Params::SlidingWindowLog(sliding_window_log::Params { count: n("count"), window: n("window") })
        }
        Algorithm::SlidingWindowCounter => Params::SlidingWindowCounter(sliding_window_counter::Params {
            count: n("count"),
            window: n("window"),
        }),
        Algorithm::TokenBucket => Params::TokenBucket(token_bucket::Params {
            capacity: n("capacity"),
            refill: n("refill"),
            period: n("period"),
        }),
        Algorithm::LeakyBucket => Params::LeakyBucket(leaky_bucket::Params {
            rate: n("rate"),
            period: n("period"),
            queue: n("queue"),
        }),
    }
}

fn state_to(state: Option<&State>) -> String {
    match state {
        None => "null".to_owned(),
        Some(State::EndingWindow(s)) => object(&[("end", s.end), ("count", s.count)]),
        Some(State::FixedWindow(s)) => object(&[("start", s.start), ("count", s.count)]),
        Some(State::SlidingWindowLog(s)) => {
            let entries: Vec<String> =
                s.entries().map(|e| object(&[("at", e.at), ("cost", e.cost)])).collect();
            format!("{{\"entries\": [{}]}}", entries.join(", "))
        }
        Some(State::SlidingWindowCounter(s)) => {
            object(&[("start", s.start), ("previous", s.previous), ("current", s.current)])
        }
        Some(State::TokenBucket(s)) => object(&[("missing", s.missing), ("at", s.at)]),
        Some(State::LeakyBucket(s)) => object(&[("backlog", s.backlog), ("at", s.at)]),
    }
}

fn state_from(algorithm: Algorithm, value: &Value) -> State {
    let n = |name| number(value, name);
    match algorithm {
        Algorithm::FixedWindow if !value["end"].is_null() => {
            State::EndingWindow(ending_window::State { end: n("end"), count: n("count") })
        }
        Algorithm::FixedWindow => {
            State::FixedWindow(fixed_window::State { start: n("start"), count: n("count") })
        }
        Algorithm::SlidingWindowLog => {
            let entries = list(&value["entries"]).iter();
            State::SlidingWindowLog(sliding_window_log::State::from_entries(
                entries.map(|e| sliding_window_log::Entry { at: number(e, "at"), cost: number(e, "cost") }),
            ))
        }
        Algorithm::SlidingWindowCounter => State::SlidingWindowCounter(sliding_window_counter::State {
            start: n("start"),
            previous: n("previous"),
            current: n("current"),
        }),
        Algorithm::TokenBucket => {
            State::TokenBucket(token_bucket::State { missing: n("missing"), at: n("at") })
        }
        Algorithm::LeakyBucket => {
            State::LeakyBucket(leaky_bucket::State { backlog: n("backlog"), at: n("at") })
        }
    }
}
