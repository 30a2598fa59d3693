//! The conformance suite can fail: stores with one deliberate fault each are found out, by the part that is about it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "this is a test")]

use core::time::Duration;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::yield_now;

use cupo_core::{
    Check, CheckItem, Decision, Decisions, Executed, Preview, Settlement, State, Store, StoreError,
    Timestamp, Uncovered, Verdict,
};
use cupo_testkit::conformance::{self, Setup};
use parking_lot::Mutex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Decides, lets others in, then charges what it decided.
    ChecksThenActs,
    /// Charges item by item until one denies.
    ChargesBeforeADenial,
    /// Charges what is admitted, whatever the others say.
    ChargesInSpiteOfADenial,
    /// Shows the others' balance as if they had been charged.
    ShowsWhatItDidNotCharge,
    /// Decides nothing after the first denial.
    StopsAtADenial,
    /// Drops a state a microsecond before it has expired.
    ForgetsEarly,
    /// Takes an expiry after the last instant for one at it.
    ForgetsAtTheLastInstant,
    /// Drops a state by a clock that may then step back.
    ForgetsByARunningClock,
    /// Takes a step back of the clock for a new beginning.
    StartsAnewWhenTheClockStepsBack,
    /// Keeps a state for keys that were only peeked at.
    PeeksCreateKeys,
    /// Charges what was only asked about.
    PreviewsCharge,
    /// Puts the parts of a key together without their lengths.
    RunsKeysTogether,
    /// Counts requests, not units.
    IgnoresCosts,
    /// Takes back whatever it is told to.
    CancelsAnything,
    /// Never takes a slot back.
    CancelsNothing,
    /// Forgets what was counted under another limit.
    CarriesNothing,
    /// Counts it in both places.
    CarriesAndKeeps,
    /// Wipes out what is counted under the new limit.
    CarriesOverWhatIsThere,
    /// Forgets what has no room.
    CarriesAllOrNothing,
    /// Takes units for units, whatever the algorithm.
    CarriesAcrossAlgorithms,
    /// Takes it away, lets others in, then puts it back.
    CarriesInTwoSteps,
    /// Gives back all that was charged, however little stays.
    SettlesToNothing,
    /// Charges what is lacking whether there is room or not at all.
    TopsUpAllOrNothing,
    /// Settles the first charge only.
    SettlesTheFirst,
    /// Names waits in whole milliseconds, rounded down.
    RoundsWaitsDown,
    /// Has a wait for what can never be.
    DeniesTheImpossible,
    /// Decides at an instant that nobody has shown.
    LivesInTheFuture,
}

#[derive(Debug)]
struct Toy {
    fault: Fault,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    states: HashMap<Vec<u8>, State>,
    peeked: HashMap<Vec<u8>, ()>,
    clock: Timestamp,
}

impl Toy {
    fn key(&self, item: &CheckItem) -> Vec<u8> {
        let bytes = item.key.as_bytes().iter().copied();
        if self.fault == Fault::RunsKeysTogether {
            bytes.filter(|b| *b > 31).collect()
        } else {
            bytes.collect()
        }
    }

    fn at(&self, inner: &mut Inner, now: Timestamp) -> Timestamp {
        match self.fault {
            Fault::ForgetsByARunningClock => return now,
            Fault::LivesInTheFuture => return now.after(Duration::from_millis(1)),
            Fault::StartsAnewWhenTheClockStepsBack if now < inner.clock => {
                inner.states.clear();
                inner.clock = now;
            }
            _ => {}
        }
        inner.clock = now.max(inner.clock);
        inner.clock
    }

    fn forget(&self, inner: &mut Inner, item: &CheckItem, at: Timestamp) {
        let key = self.key(item);
        let tick = item.limit.resolution().tick(at);
        let tick = if self.fault == Fault::ForgetsEarly { tick + 1 } else { tick };
        let end = if self.fault == Fault::ForgetsAtTheLastInstant {
            item.limit.resolution().tick(Timestamp::from_micros(u64::MAX))
        } else {
            u64::MAX
        };
        if inner.states.get(&key).is_some_and(|state| tick >= item.limit.params().expires_at(state).min(end))
        {
            inner.states.remove(&key);
        }
    }

    fn decide(&self, inner: &Inner, item: &CheckItem, at: Timestamp) -> (Decision, cupo_core::Change) {
        let cost = if self.fault == Fault::IgnoresCosts { item.cost.min(1) } else { item.cost };
        let (mut decision, change) = item.limit.decide(inner.states.get(&self.key(item)), at, cost);
        match (self.fault, &mut decision.verdict) {
            (Fault::RoundsWaitsDown, Verdict::Deny { retry_after }) => {
                let millis = u64::try_from(retry_after.as_millis()).unwrap();
                *retry_after = Duration::from_millis(millis);
            }
            (Fault::DeniesTheImpossible, verdict @ Verdict::Impossible) => {
                *verdict = Verdict::Deny { retry_after: item.limit.window() };
            }
            _ => {}
        }
        (decision, change)
    }

    fn charge(&self, inner: &mut Inner, item: &CheckItem, change: cupo_core::Change) {
        let key = self.key(item);
        let mut state = inner.states.remove(&key);
        item.limit.apply(&mut state, change);
        inner.states.extend(state.map(|state| (key, state)));
    }
}

impl Store for Toy {
    async fn check(&self, check: &Check, now: Timestamp) -> Result<Executed, StoreError> {
        let mut inner = self.inner.lock();
        let at = self.at(&mut inner, now);
        let (mut decisions, mut changes) = (Decisions::new(), Vec::new());
        let mut denied = false;
        for item in check.items() {
            self.forget(&mut inner, item, at);
            if self.fault == Fault::PeeksCreateKeys {
                inner.peeked.insert(self.key(item), ());
            }
            let (mut decision, change) = self.decide(&inner, item, at);
            if denied && self.fault == Fault::StopsAtADenial {
                decision = item.limit.decide(None, at, 0).0;
            }
            denied |= !decision.is_admitted();
            if self.fault == Fault::ChargesBeforeADenial && !denied {
                self.charge(&mut inner, item, change);
            }
            decisions.push(decision);
            changes.push(change);
        }
        if self.fault == Fault::ChecksThenActs {
            drop(inner);
            yield_now();
            inner = self.inner.lock();
        }
        let charges = match self.fault {
            Fault::ChargesBeforeADenial => false,
            Fault::ChargesInSpiteOfADenial => true,
            _ => !denied,
        };
        for (item, change) in check.items().iter().zip(changes).filter(|_| charges) {
            self.charge(&mut inner, item, change);
        }
        if denied && self.fault != Fault::ShowsWhatItDidNotCharge {
            for (item, decision) in check.items().iter().zip(&mut decisions) {
                let stopped = self.fault == Fault::StopsAtADenial;
                if decision.is_admitted() && !stopped {
                    *decision = item.limit.decide(inner.states.get(&self.key(item)), at, 0).0;
                }
            }
        }
        Ok(Executed { at, decisions })
    }

    async fn preview(&self, check: &Check, now: Timestamp) -> Result<Preview, StoreError> {
        let mut balances = Decisions::new();
        let mut decisions = Decisions::new();
        let at = {
            let mut inner = self.inner.lock();
            let at = self.at(&mut inner, now);
            for item in check.items() {
                self.forget(&mut inner, item, at);
                balances.push(self.decide(&inner, &CheckItem { cost: 0, ..item.clone() }, at).0);
                decisions.push(self.decide(&inner, item, at).0);
            }
            at
        };
        if self.fault == Fault::PreviewsCharge {
            decisions = self.check(check, now).await?.decisions;
        } else if !decisions.iter().all(Decision::is_admitted) {
            let admitted = decisions.iter_mut().zip(&balances).filter(|(decision, _)| decision.is_admitted());
            admitted.for_each(|(decision, balance)| *decision = *balance);
        }
        Ok(Preview { at, balances, decisions })
    }

    async fn cancel(&self, item: &CheckItem, now: Timestamp, end: Timestamp) -> Result<(), StoreError> {
        let mut inner = self.inner.lock();
        let at = self.at(&mut inner, now);
        let state = inner.states.get(&self.key(item));
        let end = match (self.fault, state) {
            (Fault::CancelsNothing, _) => return Ok(()),
            (Fault::CancelsAnything, Some(state)) => item.limit.expires_at(state),
            _ => end,
        };
        let change = item.limit.cancel(state, at, item.cost, end);
        self.charge(&mut inner, item, change);
        Ok(())
    }

    async fn carry(&self, from: &CheckItem, to: &CheckItem, now: Timestamp) -> Result<(), StoreError> {
        let mut inner = self.inner.lock();
        let at = self.at(&mut inner, now);
        let (old, new) = (self.key(from), self.key(to));
        if old == new {
            return Ok(());
        }
        let Some(state) = inner.states.get(&old).cloned() else { return Ok(()) };
        let used = from.limit.used(Some(&state), at);
        if self.fault == Fault::CarriesNothing || used == 0 {
            return Ok(());
        }
        if self.fault != Fault::CarriesAcrossAlgorithms && from.limit.algorithm() != to.limit.algorithm() {
            return Ok(());
        }
        if self.fault != Fault::CarriesAndKeeps {
            inner.states.remove(&old);
        }
        if self.fault == Fault::CarriesInTwoSteps {
            drop(inner);
            yield_now();
            inner = self.inner.lock();
        }
        self.forget(&mut inner, to, at);
        let there = match self.fault {
            Fault::CarriesOverWhatIsThere => None,
            _ => inner.states.get(&new).cloned(),
        };
        let room = to.limit.decide(there.as_ref(), at, 0).0.remaining;
        let cost = if self.fault == Fault::CarriesAllOrNothing && used > room { 0 } else { used.min(room) };
        let (_, change) = to.limit.decide(there.as_ref(), at, cost);
        let mut state = there;
        to.limit.apply(&mut state, change);
        inner.states.extend(state.map(|state| (new, state)));
        Ok(())
    }

    async fn settle(&self, settlements: &[Settlement], now: Timestamp) -> Result<Uncovered, StoreError> {
        let mut inner = self.inner.lock();
        let at = self.at(&mut inner, now);
        let settle = |(n, Settlement { key, limit, charge, actual }): (usize, &Settlement)| {
            let item = CheckItem { key: key.clone(), limit: *limit, cost: 0 };
            let mut inner_actual = *actual;
            match self.fault {
                Fault::SettlesTheFirst if n > 0 => return 0,
                Fault::SettlesToNothing => inner_actual = if *actual < charge.cost { 0 } else { *actual },
                _ => {}
            }
            self.forget(&mut inner, &item, at);
            let (change, uncovered) =
                limit.settle(inner.states.get(&self.key(&item)), at, *charge, inner_actual);
            if self.fault == Fault::TopsUpAllOrNothing && uncovered > 0 {
                return actual - charge.cost;
            }
            self.charge(&mut inner, &item, change);
            uncovered
        };
        Ok(settlements.iter().enumerate().map(settle).collect())
    }
}

impl Setup for Fault {
    type Store = Toy;

    fn store(&self) -> Toy {
        Toy { fault: *self, inner: Mutex::default() }
    }

    fn keys(&self, store: &Toy) -> Option<usize> {
        let inner = store.inner.lock();
        Some(inner.states.len().max(inner.peeked.len()))
    }
}

/// The parts of the suite that `fault` fails, of those that are `asked` for.
fn failed(fault: Fault, asked: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let fails = |part: conformance::Part<Fault>| catch_unwind(AssertUnwindSafe(|| part(&fault))).is_err();
    let parts = conformance::parts::<Fault>().into_iter().filter(|(name, _)| asked(name));
    parts.filter(|(_, part)| fails(*part)).map(|(name, _)| name).collect()
}

fn is_found_out(fault: Fault, parts: &[&str]) {
    let failed = failed(fault, |name| parts.contains(&name));
    for part in parts {
        assert!(failed.contains(part), "{fault:?} fails {failed:?}, not {part}");
    }
}

#[test]
fn a_toy_without_a_fault_passes() {
    assert_eq!(failed(Fault::None, |_| true), Vec::<&str>::new());
}

macro_rules! found_out {
    ($($test:ident: $fault:ident => $($part:ident)+;)+) => { $(#[test]
        fn $test() {
            is_found_out(Fault::$fault, &[$(stringify!($part)),+]);
        })+
    };
}

found_out! {
    checks_then_acts: ChecksThenActs => concurrent_admissions_on_one_key concurrent_admissions_on_overlapping_keys;
    charges_before_a_denial: ChargesBeforeADenial => a_denial_charges_no_item many_keys_follow_their_models;
    charges_in_spite_of_a_denial: ChargesInSpiteOfADenial => a_denial_charges_no_item concurrent_admissions_on_overlapping_keys;
    shows_what_it_did_not_charge: ShowsWhatItDidNotCharge => a_denial_charges_no_item;
    stops_at_a_denial: StopsAtADenial => the_order_of_items_changes_nothing;
    forgets_early: ForgetsEarly => the_frozen_traces_are_followed random_histories_follow_the_model;
    forgets_at_the_last_instant: ForgetsAtTheLastInstant => a_broken_clock_does_not_open_the_gate;
    forgets_by_a_running_clock: ForgetsByARunningClock => many_keys_follow_their_models;
    starts_anew: StartsAnewWhenTheClockStepsBack => random_histories_follow_the_model the_laws_hold;
    peeks_create_keys: PeeksCreateKeys => a_peek_creates_no_key the_laws_hold;
    previews_charge: PreviewsCharge => a_preview_is_what_a_check_answers;
    runs_keys_together: RunsKeysTogether => lookalike_keys_are_distinct;
    ignores_costs: IgnoresCosts => the_frozen_traces_are_followed the_laws_hold;
    cancels_anything: CancelsAnything => cancelled_slots_are_given_back;
    cancels_nothing: CancelsNothing => cancelled_slots_are_given_back;
    carries_nothing: CarriesNothing => what_is_counted_is_carried_to_another_limit reloads_keep_what_was_consumed;
    carries_and_keeps: CarriesAndKeeps => what_is_counted_is_carried_to_another_limit;
    carries_over_what_is_there: CarriesOverWhatIsThere => what_is_counted_is_carried_to_another_limit;
    carries_all_or_nothing: CarriesAllOrNothing => what_is_counted_is_carried_to_another_limit;
    carries_across_algorithms: CarriesAcrossAlgorithms => what_is_counted_is_carried_to_another_limit;
    carries_in_two_steps: CarriesInTwoSteps => concurrent_carries_count_each_unit_once;
    settles_to_nothing: SettlesToNothing => charges_are_settled;
    tops_up_all_or_nothing: TopsUpAllOrNothing => charges_are_settled;
    settles_the_first: SettlesTheFirst => charges_are_settled;
    rounds_waits_down: RoundsWaitsDown => the_frozen_traces_are_followed the_laws_hold;
    denies_the_impossible: DeniesTheImpossible => the_frozen_traces_are_followed a_peek_creates_no_key the_laws_hold;
    lives_in_the_future: LivesInTheFuture => random_histories_follow_the_model;
}
