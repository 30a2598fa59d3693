//! The vocabulary and all the thinking of the Cupo rate limiter: algorithms, keys, policy, engine.
//!
//! This crate does no I/O, needs no runtime, knows no HTTP and never reads the system clock outside [`clock`]: time, state
//! and randomness are arguments. What the words mean:
//!
//! | word | type |
//! |---|---|
//! | limit | [`Limit`]: an [`Algorithm`] with its numbers |
//! | key | [`Key`]: what is counted, as canonical bytes |
//! | check | [`Check`]: the list of (key, limit, cost) that one request must pass |
//! | store | [`Store`]: executes a check, all or nothing |
//! | rule | [`Rule`]: match, key, limit and action under a stable name |
//! | policy | [`Policy`]: everything the operator wrote, compiled from a [`PolicySource`] |
//! | attributes | [`Attributes`]: what may be asked of a request |
//! | outcome | [`Outcome`]: the answer for a whole request |
//! | engine | [`Engine`]: snapshot, check, store, fold, observe |
//! | decision | [`Decision`]: the answer for one rule, with its [`Verdict`] |

#![forbid(unsafe_code)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod algorithm;
mod attributes;
mod blocks;
mod calendar;
mod carry;
mod carrying;
mod check;
pub mod clock;
mod decision;
mod engine;
mod explanation;
mod host;
mod in_force;
mod key;
mod limit;
mod method;
pub mod number;
mod observer;
mod outcome;
mod path;
mod policy;
mod rate;
mod readings;
mod reservation;
mod response;
mod scaled;
mod settled;
mod settlement;
mod standing;
mod store;
mod time;
mod token;
mod upkeep;

pub use algorithm::{Algorithm, Change, Charge, Params, State};
pub use attributes::Attributes;
pub use blocks::{Block, BlockBook, BlockChange, BlockList, MOST_BLOCKS};
pub use calendar::{Calendar, CalendarError};
pub use check::{Check, CheckItem, Decisions, DuplicateKey, Executed, Preview};
pub use clock::{Clock, ManualClock, SystemClock};
pub use decision::{Decision, Verdict};
pub use engine::Engine;
pub use explanation::{CallerView, Explanation, RuleView};
pub use host::canonical_host;
pub use in_force::InForce;
pub use key::{
    ApiKeyHash, Key, KeyBuilder, KeySecret, KeySpec, KeySpecError, Kind, LEAST_SECRET_BYTES, NotAHash,
    SaidError, SecretTooShort, Spelling, canonical_address,
};
pub use limit::{Limit, LimitError};
pub use observer::{Observer, Unobserved};
pub use outcome::{Outcome, Ruling};
pub use path::{Template, TemplateError, normalise};
pub use policy::{
    Action, AppliesTo, Bearing, CallerSource, Changes, ChargeSource, ClientAddressHeader, CostSource,
    Counter, CounterChange, ExemptionSource, ExemptionsSource, Fate, FieldChange, Fresh, HeaderSecret,
    HeaderSource, HeaderTest, LimitSource, MatchSource, NameError, Named, OnMissing, OnStoreError,
    OrderChange, PlanFrom, PlansSource, Policy, PolicyError, PolicyErrors, PolicySource, Problem, Proxies,
    Rule, RuleChange, RuleChangeKind, RuleSource, STATUS_RULE, Statuses, TierSource, Trust, Unmet, Who,
};
pub use rate::{DisplayDuration, Rate, RateError, parse_duration};
pub use reservation::Reservation;
pub use response::ResponseAttributes;
pub use settled::{Entry, Settled};
pub use settlement::{Settlement, Settling};
pub use standing::{Endpoint, Place, Standing};
pub use store::{Fallback, Refusal, Store, StoreError, Uncovered};
pub use time::{Resolution, Timestamp};
pub use token::is_token;
pub use upkeep::{Granted, Upkeep};
