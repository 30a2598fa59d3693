//! A policy from options, for those who have no file yet.

use std::sync::Arc;

use cupo_core::{Action, Algorithm, KeySpec, Limit, Policy, PolicySource, Rate, RuleSource};

use crate::args::QuickArgs;
use crate::failure::Failure;

/// The only rule's name.
const NAME: &str = "default";

pub(super) fn policy(args: &QuickArgs) -> Result<Arc<Policy>, Failure> {
    let Some(rate) = &args.limit else {
        return Err(Failure::Usage(
            "nothing says what to limit: write -c FILE, or --limit RATE as in --limit 100/minute",
        ));
    };
    let rate: Rate = rate.parse().map_err(|source| Failure::Rate { option: "--limit", source })?;
    let limit = limit(args, rate)?;
    let mut rule = RuleSource::new(NAME, key(args)?, limit);
    if limit.algorithm() == Algorithm::LeakyBucket {
        rule.action = Action::Delay;
    }
    Ok(Policy::compile(PolicySource { rules: vec![rule], ..PolicySource::default() })?)
}

fn key(args: &QuickArgs) -> Result<KeySpec, Failure> {
    if args.key.is_empty() { Ok(KeySpec::parse(&["ip"])?) } else { Ok(KeySpec::parse(&args.key)?) }
}

fn limit(args: &QuickArgs, rate: Rate) -> Result<Limit, Failure> {
    let Rate { count, period } = rate;
    Ok(match (args.algorithm.into(), args.burst) {
        (Algorithm::TokenBucket, burst) => Limit::token_bucket(burst.unwrap_or(count), rate)?,
        (Algorithm::LeakyBucket, queue) => Limit::leaky_bucket(rate, queue.unwrap_or(count))?,
        (_, Some(_)) => {
            return Err(Failure::Usage(
                "--burst goes with --algorithm token_bucket (its capacity) or leaky_bucket (its queue); the others have no burst of their own",
            ));
        }
        (Algorithm::FixedWindow, None) => Limit::fixed_window(count, period)?,
        (Algorithm::SlidingWindowLog, None) => Limit::sliding_window_log(count, period)?,
        (Algorithm::SlidingWindowCounter, None) => Limit::sliding_window_counter(count, period)?,
    })
}
