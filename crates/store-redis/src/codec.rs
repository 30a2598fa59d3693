//! From checks to the keys and arguments of the script, and from its reply to decisions.

use std::collections::HashMap;

use cupo_core::number::DOMAIN;
use cupo_core::{
    Charge, CheckItem, Decision, Decisions, Executed, Limit, Params, Refusal, Resolution, Settlement,
    StoreError, Timestamp, Verdict,
};
use redis::{Cmd, Value};
use smallvec::SmallVec;

use crate::calendars::{Calendars, calendar};
use crate::name::{Name, Naming};
use crate::script::Script;

/// An item of a check as the script wants it.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) name: Name,
    pub(crate) limit: Limit,
    pub(crate) cost: u64,
}

/// A charge that is to become smaller or larger.
#[derive(Debug, Clone)]
pub(crate) struct Adjustment {
    /// Its `cost` is what is to be charged now, 0 where something is to be given back.
    pub(crate) line: Line,
    /// Its `cost` is what is to be given back.
    pub(crate) charge: Charge<Timestamp>,
}

impl Adjustment {
    /// The units of `charge` go back.
    pub(crate) fn refund(line: Line, charge: Charge<Timestamp>) -> Self {
        Self { line: Line { cost: 0, ..line }, charge }
    }

    pub(crate) fn of(settlement: &Settlement, naming: &Naming) -> Self {
        let Settlement { key, limit, charge, .. } = settlement;
        // Above the quota nothing fits; the bound keeps it inside the number domain.
        let cost = settlement.extra().min(limit.quota());
        let line = Line { name: naming.name(key), limit: *limit, cost };
        Self { line, charge: settlement.refund().unwrap_or(Charge { cost: 0, ..*charge }) }
    }
}

/// The items of one check that are executed together.
pub(crate) type Lines = SmallVec<[Line; 1]>;

impl Line {
    pub(crate) fn new(item: &CheckItem, naming: &Naming) -> Self {
        // Above the quota every cost is the same to a decision; the bound keeps it inside the number domain.
        let cost = item.cost.min(item.limit.quota().saturating_add(1));
        Self { name: naming.name(&item.key), limit: item.limit, cost }
    }
}

/// The tag of a limit's states in the scripts, and the three numbers of the limit.
fn numbers(limit: &Limit) -> (u8, [u64; 3]) {
    let (algorithm, numbers) = match limit.params() {
        Params::FixedWindow(p) => (1, [p.count, p.window, 0]),
        Params::SlidingWindowLog(p) => (2, [p.count, p.window, 0]),
        Params::SlidingWindowCounter(p) => (3, [p.count, p.window, 0]),
        Params::TokenBucket(p) => (7, [p.capacity, p.refill, p.period]),
        Params::LeakyBucket(p) => (5, [p.rate, p.period, p.queue]),
        // The last is where the edges of the calendar are, if there is one.
        Params::EndingWindow(p) => (6, [p.count, p.longest(), 0]),
    };
    let tick = match limit.resolution() {
        Resolution::Micros => 0,
        Resolution::Millis => 8,
    };
    (LAYOUT | tick | algorithm, numbers)
}

/// The version of the states' layout, as a part of their tags.
const LAYOUT: u8 = 16;

/// The 7 bytes of a number below 2^56.
pub(crate) fn seven(number: u64) -> [u8; 7] {
    let [_, a, b, c, d, e, f, g] = number.to_be_bytes();
    [a, b, c, d, e, f, g]
}

/// How the script is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Hash,
    Text,
}

/// Keys and arguments of a call, ready to be sent by hash and, where the server does not know it, by text.
#[derive(Debug)]
pub(crate) struct Call {
    keys: Vec<Name>,
    /// Whole numbers in decimal, or packed bytes.
    arguments: SmallVec<[Argument; 2]>,
}

#[derive(Debug)]
enum Argument {
    Number(u64),
    Packed(Vec<u8>),
}

/// Bytes of an item in a packed batch.
const ITEM: usize = 31;

/// Bytes of a charge that is settled.
const CHARGE: usize = 52;

impl Call {
    /// The call that decides `checks`, one after the other; by the caller's clock if `now` is given. Windows of calendars are sent
    /// as they are `around` that instant.
    #[allow(single_use_lifetimes, reason = "an `impl Trait` argument cannot elide it")]
    pub(crate) fn check<'a>(
        checks: impl ExactSizeIterator<Item = &'a Lines> + Clone,
        around: Timestamp,
        now: Option<Timestamp>,
    ) -> Self {
        let mut calendars = Calendars::new(around);
        let items = checks.clone().map(SmallVec::len).fold(0_usize, usize::saturating_add);
        let mut index: HashMap<&[u8], u16> = HashMap::with_capacity(items);
        let mut keys: Vec<Name> = Vec::with_capacity(items);
        let mut packed = Vec::with_capacity(items.saturating_mul(ITEM.saturating_add(2)));
        for lines in checks {
            packed.extend(short(lines.len()).to_be_bytes());
            for Line { name, limit, cost } in lines {
                let i = *index.entry(&name.bytes).or_insert_with(|| {
                    keys.push(name.clone());
                    short(keys.len())
                });
                let (tag, mut numbers) = numbers(limit);
                if let Some(calendar) = calendar(limit) {
                    numbers[2] = calendars.place(calendar);
                }
                packed.extend(i.to_be_bytes());
                packed.push(tag);
                for number in numbers.into_iter().chain([*cost]) {
                    packed.extend(seven(number));
                }
            }
        }
        let mut arguments = SmallVec::from_iter([Argument::Packed(packed)]);
        arguments.extend((!calendars.packed.is_empty()).then_some(Argument::Packed(calendars.packed)));
        arguments.extend(now.map(|now| Argument::Number(now.as_micros())));
        Self { keys, arguments }
    }

    /// The call that moves what is counted from one line to the other, with windows of calendars as they are `around` that instant;
    /// by the caller's clock if `now` is given.
    pub(crate) fn carry(from: &Line, to: &Line, around: Timestamp, now: Option<Timestamp>) -> Self {
        let peeks = [from, to].map(|line| Lines::from_iter([Line { cost: 0, ..line.clone() }]));
        let mut call = Self::check(peeks.iter(), around, None);
        if call.arguments.len() == 1 {
            call.arguments.push(Argument::Packed(Vec::new()));
        }
        call.arguments.push(Argument::Packed(seven(from.limit.quota()).to_vec()));
        call.arguments.extend(now.map(|now| Argument::Number(now.as_micros())));
        call
    }

    /// The call that settles charges; by the caller's clock if `now` is given. Windows of calendars are sent as they are `around`
    /// that instant.
    #[allow(single_use_lifetimes, reason = "an `impl Trait` argument cannot elide it")]
    pub(crate) fn settle<'a>(
        changes: impl ExactSizeIterator<Item = &'a Adjustment>,
        around: Timestamp,
        now: Option<Timestamp>,
    ) -> Self {
        let mut calendars = Calendars::new(around);
        let mut keys = Vec::with_capacity(changes.len());
        let mut packed = Vec::with_capacity(changes.len().saturating_mul(CHARGE));
        for Adjustment { line: Line { name, limit, cost: extra }, charge } in changes {
            keys.push(name.clone());
            let (tag, mut numbers) = numbers(limit);
            if let (Some(calendar), 1..) = (calendar(limit), *extra) {
                numbers[2] = calendars.place(calendar);
            }
            let tick = |at| limit.resolution().tick(at);
            let cost = charge.cost.min(DOMAIN.saturating_sub(1));
            packed.extend(short(keys.len()).to_be_bytes());
            packed.push(tag);
            for number in numbers.into_iter().chain([cost, tick(charge.at), tick(charge.end), *extra]) {
                packed.extend(seven(number));
            }
        }
        let mut arguments = SmallVec::from_iter([Argument::Packed(packed)]);
        arguments.extend((!calendars.packed.is_empty()).then_some(Argument::Packed(calendars.packed)));
        arguments.extend(now.map(|now| Argument::Number(now.as_micros())));
        Self { keys, arguments }
    }

    /// The call that gives the line's cost back; by the caller's clock if `now` is given.
    pub(crate) fn grant(line: &Line, now: Option<Timestamp>) -> Self {
        let (tag, numbers) = numbers(&line.limit);
        let mut packed = vec![tag];
        for number in numbers.into_iter().chain([line.cost]) {
            packed.extend(seven(number));
        }
        Self::new(&line.name, &[&packed], &[], now)
    }

    /// A call of one key with these arguments; by the caller's clock if `now` is given.
    pub(crate) fn new(key: &Name, packed: &[&[u8]], numbers: &[u64], now: Option<Timestamp>) -> Self {
        let mut arguments: SmallVec<[Argument; 2]> =
            packed.iter().map(|bytes| Argument::Packed(bytes.to_vec())).collect();
        arguments.extend(numbers.iter().copied().map(Argument::Number));
        arguments.extend(now.map(|now| Argument::Number(now.as_micros())));
        Self { keys: vec![key.clone()], arguments }
    }

    pub(crate) fn command(&self, script: &Script, by: By) -> Cmd {
        let mut command = match by {
            By::Hash => redis::cmd("EVALSHA"),
            By::Text => redis::cmd("EVAL"),
        };
        command.arg(match by {
            By::Hash => script.hash.as_str(),
            By::Text => script.text,
        });
        command.arg(self.keys.len());
        for key in &self.keys {
            command.arg(&key.bytes[..]);
        }
        for argument in &self.arguments {
            match argument {
                Argument::Number(number) => command.arg(number),
                Argument::Packed(bytes) => command.arg(&bytes[..]),
            };
        }
        command
    }
}

/// The lane keeps calls far below this bound.
fn short(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// What the script said to a batch.
#[derive(Debug)]
pub(crate) struct Reply {
    at: Timestamp,
    /// States that could not be read and were taken for absent.
    pub(crate) unreadable: u64,
    bytes: Vec<u8>,
    position: usize,
}

/// The answer to what the script never says.
pub(crate) const NOT_UNDERSTOOD: StoreError = StoreError::Refused(Refusal::Protocol);

/// Bytes before the first decision of a reply, and of a decision.
const HEAD: usize = 11;
/// The verdict where the present window of a calendar was not sent.
const UNPLACED: u64 = 3;
const DECISION: usize = 29;

impl Reply {
    /// Reads the reply to checks of `items` items in all.
    ///
    /// # Errors
    /// That it is not understood.
    pub(crate) fn read(value: Value, items: usize) -> Result<Self, StoreError> {
        let Value::BulkString(bytes) = value else { return Err(NOT_UNDERSTOOD) };
        if bytes.len() != items.saturating_mul(DECISION).saturating_add(HEAD) {
            return Err(NOT_UNDERSTOOD);
        }
        Self::head(bytes)
    }

    /// Reads the reply to the settling of so many charges.
    ///
    /// # Errors
    /// That it is not understood.
    pub(crate) fn read_settled(value: Value, charges: usize) -> Result<Self, StoreError> {
        let Value::BulkString(bytes) = value else { return Err(NOT_UNDERSTOOD) };
        if bytes.len() != charges.saturating_mul(7).saturating_add(HEAD) {
            return Err(NOT_UNDERSTOOD);
        }
        Self::head(bytes)
    }

    fn head(bytes: Vec<u8>) -> Result<Self, StoreError> {
        let mut reply = Self { at: Timestamp::EPOCH, unreadable: 0, bytes, position: 0 };
        reply.at = Timestamp::from_micros(reply.number::<7>()?);
        reply.unreadable = reply.number::<4>()?;
        Ok(reply)
    }

    /// Reads the reply to a call that carries; whether it was done.
    ///
    /// # Errors
    /// That it is not understood.
    pub(crate) fn carried(value: Value) -> Result<(Self, bool), StoreError> {
        let Value::BulkString(bytes) = value else { return Err(NOT_UNDERSTOOD) };
        let &[.., done] = bytes.as_slice() else { return Err(NOT_UNDERSTOOD) };
        if bytes.len() != HEAD.saturating_add(1) || done > 1 {
            return Err(NOT_UNDERSTOOD);
        }
        let mut reply = Self { at: Timestamp::EPOCH, unreadable: 0, bytes, position: 0 };
        reply.at = Timestamp::from_micros(reply.number::<7>()?);
        reply.unreadable = reply.number::<4>()?;
        Ok((reply, done == 1))
    }

    /// The instant at which the store decided.
    pub(crate) const fn at(&self) -> Timestamp {
        self.at
    }

    /// The next check's share of it; `None` where the present window of a calendar was not sent, so that nothing was decided.
    ///
    /// # Errors
    /// That it is not understood.
    pub(crate) fn take(&mut self, lines: &[Line]) -> Result<Option<Executed>, StoreError> {
        let mut decisions = Decisions::new();
        for line in lines {
            decisions.extend(self.decision(&line.limit)?);
        }
        let whole = decisions.len() == lines.len();
        Ok(whole.then_some(Executed { at: self.at, decisions }))
    }

    /// The units that the next adjustment charged; `None` where the present window of a calendar was not sent, so that nothing was.
    ///
    /// # Errors
    /// That it is not understood.
    pub(crate) fn take_settled(&mut self, adjustment: &Adjustment) -> Result<Option<u64>, StoreError> {
        match (self.number::<7>()?, adjustment.line.cost) {
            (0 | 1, 0) => Ok(Some(0)),
            (DOMAIN, 1..) if calendar(&adjustment.line.limit).is_some() => Ok(None),
            (units, extra) if units <= extra => Ok(Some(units)),
            _ => Err(NOT_UNDERSTOOD),
        }
    }

    fn number<const BYTES: usize>(&mut self) -> Result<u64, StoreError> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let bytes = rest.first_chunk::<BYTES>().ok_or(NOT_UNDERSTOOD)?;
        self.position = self.position.saturating_add(BYTES);
        Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn decision(&mut self, limit: &Limit) -> Result<Option<Decision>, StoreError> {
        let (verdict, retry_after) = (self.number::<1>()?, self.number::<7>()?);
        let [remaining, reset_after, delay] = [self.number::<7>()?, self.number::<7>()?, self.number::<7>()?];
        let span = |ticks| limit.resolution().span(ticks);
        let verdict = match (verdict, retry_after) {
            (0, 0) => Verdict::Admit,
            (1, 1..) => Verdict::Deny { retry_after: span(retry_after) },
            (2, 0) => Verdict::Impossible,
            (UNPLACED, 0) if calendar(limit).is_some() => return Ok(None),
            _ => return Err(NOT_UNDERSTOOD),
        };
        if remaining > limit.quota() || reset_after >= DOMAIN || delay >= DOMAIN || retry_after >= DOMAIN {
            return Err(NOT_UNDERSTOOD);
        }
        Ok(Some(Decision {
            verdict,
            limit: limit.quota(),
            remaining,
            reset_after: span(reset_after),
            delay: span(delay),
        }))
    }
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
