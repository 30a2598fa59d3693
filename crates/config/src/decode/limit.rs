//! A limit: a rate, or an algorithm with its numbers.

mod fixed_window;

use std::time::Duration;

use cupo_core::{Algorithm, Limit, LimitError, LimitSource};

use super::scalar::MAX;
use super::value::{Map, Value};
use crate::problem::{Expected, Problem};
use crate::tree::Content;

/// A rule's limit: its own, or the number of a name in the caller's tier.
pub(super) fn of_rule(value: &Value<'_>) -> Option<LimitSource> {
    let plan = match value.content() {
        Content::Map(_) => value.fields()?.get("plan"),
        _ => None,
    };
    match plan {
        Some(plan) => {
            value.map(&["plan"])?;
            plan.text().map(|name| LimitSource::Plan(name.to_owned()))
        }
        None => limit(value).map(LimitSource::Own),
    }
}

pub(super) fn limit(value: &Value<'_>) -> Option<Limit> {
    match value.content() {
        Content::Text { .. } => {
            let rate = value.rate()?;
            made(value, Limit::sliding_window_counter(rate.count, rate.period))
        }
        Content::Map(_) => by_algorithm(&value.fields()?),
        _ => value.wrong_type(Expected::Limit),
    }
}

fn by_algorithm(map: &Map<'_>) -> Option<Limit> {
    // As a rate by itself is.
    if map.names().all(|name| matches!(name, "rate" | "burst")) && map.get("rate").is_some() {
        return windowed(map, Limit::sliding_window_counter);
    }
    let algorithm = map.need("algorithm", "algorithm: sliding_window_counter")?.word(
        "an algorithm",
        &Algorithm::ALL,
        Algorithm::name,
    )?;
    match algorithm {
        Algorithm::FixedWindow => fixed_window::fixed_window(map),
        Algorithm::SlidingWindowLog => windowed(map, Limit::sliding_window_log),
        Algorithm::SlidingWindowCounter => windowed(map, Limit::sliding_window_counter),
        Algorithm::TokenBucket => {
            map.allow(&["algorithm", "capacity", "refill"]);
            let capacity = map.need("capacity", "capacity: 20").and_then(|value| value.integer(0, MAX));
            let refill = map.need("refill", "refill: 10/second").and_then(|value| value.rate());
            made(map.value(), Limit::token_bucket(capacity?, refill?))
        }
        Algorithm::LeakyBucket => {
            map.allow(&["algorithm", "rate", "queue"]);
            let rate = map.need("rate", "rate: 10/second").and_then(|value| value.rate());
            let queue = map.need("queue", "queue: 50").and_then(|value| value.integer(0, MAX));
            made(map.value(), Limit::leaky_bucket(rate?, queue?))
        }
    }
}

/// `count` per `window`, or the two as one `rate`, and perhaps a `burst` more; nothing else.
fn windowed(map: &Map<'_>, make: fn(u64, Duration) -> Result<Limit, LimitError>) -> Option<Limit> {
    map.allow(&["algorithm", "count", "window", "rate", "burst"]);
    counted(map, make)
}

/// `count` per `window`, or the two as one `rate`; and perhaps a `burst` more.
fn counted(map: &Map<'_>, make: fn(u64, Duration) -> Result<Limit, LimitError>) -> Option<Limit> {
    let burst = map.or("burst", 0, |value| value.integer(0, MAX));
    let make = |count, window| make(count, window)?.with_burst(burst.unwrap_or(0));
    let Some(rate) = map.get("rate") else {
        let count = map.need("count", "count: 100").and_then(|value| value.integer(0, MAX));
        let window = map.need("window", "window: 1m").and_then(|value| value.duration());
        return sound(burst, made(map.value(), make(count?, window?)));
    };
    for other in ["count", "window"] {
        if map.get(other).is_some() {
            return rate.fault(Problem::Conflict { one: "rate", other });
        }
    }
    let rate = rate.rate()?;
    sound(burst, made(map.value(), make(rate.count, rate.period)))
}

/// The limit, unless its burst was no number.
fn sound(burst: Option<u64>, limit: Option<Limit>) -> Option<Limit> {
    burst.and(limit)
}

fn made(value: &Value<'_>, limit: Result<Limit, LimitError>) -> Option<Limit> {
    limit.map_err(|error| value.fault::<()>(Problem::Limit(error))).ok()
}
