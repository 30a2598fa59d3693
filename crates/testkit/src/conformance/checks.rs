//! Several keys: a check is all or nothing.

use core::time::Duration;

use cupo_core::{Algorithm, Check, Decision, Key, Limit, Rate, Timestamp, Verdict};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use proptest::sample::{Index, select};
use proptest::test_runner::{TestCaseError, TestRunner};

use super::{Setup, check_of, execute};
use crate::calendars;
use crate::model::Model;
use crate::strategy;
use crate::subject::in_ticks;

pub(super) const NOW: Timestamp = Timestamp::from_micros(1_760_000_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);

/// How far the clock moves, and what is asked then.
type Jump = (i64, Vec<(Index, u64)>);

/// How many limits are tried together.
const LIMITS: usize = 7;

/// A limit of every algorithm and variant, with a quota of 5.
pub(super) fn limits() -> [Limit; LIMITS] {
    let rate = Rate::new(5, MINUTE);
    [
        Limit::fixed_window(5, MINUTE),
        Limit::sliding_window_log(5, MINUTE),
        Limit::sliding_window_counter(5, MINUTE),
        Limit::token_bucket(5, rate),
        Limit::leaky_bucket(rate, 4),
        Limit::fixed_window_from_first(5, MINUTE),
        Limit::fixed_window_of(5, calendars::number(3)),
    ]
    .map(|limit| limit.expect("an ordinary limit"))
}

/// One key of a store, as the reference model sees it.
struct Modelled {
    limit: Limit,
    model: Model,
}

impl Modelled {
    fn new(limit: Limit) -> Self {
        Self { limit, model: Model::new(*limit.params()) }
    }

    fn tick(&self, at: Timestamp) -> u64 {
        self.limit.resolution().tick(at)
    }
}

/// What the models say to a check: all are charged, or none and the others show their balance as a peek does.
fn expected(models: &mut [Modelled], items: &[(usize, u64)], at: Timestamp) -> Vec<Decision<u64>> {
    let alone: Vec<_> =
        items.iter().map(|&(n, cost)| models[n].model.decide(models[n].tick(at), cost)).collect();
    let all = alone.iter().all(Decision::is_admitted);
    let answer = |(&(n, cost), decision): (&(usize, u64), Decision<u64>)| {
        let tick = models[n].tick(at);
        if all {
            models[n].model.ask(tick, cost)
        } else if decision.is_admitted() {
            models[n].model.decide(tick, 0)
        } else {
            decision
        }
    };
    items.iter().zip(alone).map(answer).collect()
}

/// A check of nothing is admitted.
pub fn an_empty_check_is_admitted<S: Setup>(setup: &S) {
    let executed = execute(setup, &setup.store(), &Check::new(), NOW);
    assert!(executed.is_admitted() && executed.decisions.is_empty());
}

/// Whatever denies, and wherever it stands: no other item is charged.
pub fn a_denial_charges_no_item<S: Setup>(setup: &S) {
    for too_much in [6, 3, u64::MAX] {
        for (place, _) in limits().iter().enumerate() {
            let mut models = limits().map(Modelled::new);
            let store = setup.store();
            let costs = [[3; LIMITS], [1; LIMITS], [1; LIMITS], [1; LIMITS]];
            for (step, mut costs) in costs.into_iter().enumerate() {
                if step % 2 == 1 {
                    costs[place] = too_much;
                }
                let items: Vec<_> = (0..).zip(costs).collect();
                let check =
                    check_of((0..).zip(limits()).zip(costs).map(|((n, limit), cost)| (n, limit, cost)));
                let executed = execute(setup, &store, &check, NOW);
                let expected = expected(&mut models, &items, executed.at);
                for (n, (decision, expected)) in executed.decisions.iter().zip(expected).enumerate() {
                    let limit = models[n].limit;
                    let decision = in_ticks(&limit, decision);
                    assert_eq!(decision, expected, "step {step}, item {place} asks {too_much}: {limit}");
                }
            }
        }
    }
}

/// A check in another order gives the same decisions in that order, and leaves the same behind.
pub fn the_order_of_items_changes_nothing<S: Setup>(setup: &S) {
    let check = |order: &[usize], costs: [u64; LIMITS]| {
        check_of(order.iter().map(|&n| (u64::try_from(n).unwrap(), limits()[n], costs[n])))
    };
    let forwards = [0, 1, 2, 3, 4, 5, 6];
    let (one, other) = (setup.store(), setup.store());
    for turn in 0..LIMITS {
        let mut order = forwards;
        order.rotate_left(turn);
        if turn % 2 == 0 {
            order.reverse();
        }
        let denied_at = |place| {
            let mut costs = [1; LIMITS];
            costs[place] = 9;
            costs
        };
        for costs in
            [[1; LIMITS], denied_at(0), denied_at(2), denied_at(4), denied_at(5), denied_at(6), [0; LIMITS]]
        {
            let straight = execute(setup, &one, &check(&forwards, costs), NOW);
            let turned = execute(setup, &other, &check(&order, costs), NOW);
            let again: Vec<_> = order.iter().map(|&n| straight.decisions[n]).collect();
            assert_eq!(turned.decisions.as_slice(), again, "{costs:?} in the order {order:?}");
        }
    }
}

/// Random checks over several keys while others come and go, the clock jumps and steps back: every key follows its own
/// model, and what a store has forgotten does not show.
pub fn many_keys_follow_their_models<S: Setup>(setup: &S) {
    let small = |algorithm| strategy::limit(algorithm).prop_filter("too long", |l| l.window() < 100 * MINUTE);
    let limits = vec(select(&Algorithm::ALL[..]).prop_flat_map(small), 4..12);
    let jump = prop_oneof![
        4 => Just(0),
        4 => 0..3_i64,
        3 => 0..60_000_000_i64,
        2 => any::<u32>().prop_map(i64::from),
        1 => -100_000_000..0_i64,
    ];
    let items = vec((any::<Index>(), 0..5_u64), 0..5);
    let cases = (limits, vec((jump, items), 1..60));
    let test = |(limits, steps): (Vec<Limit>, Vec<Jump>)| {
        let store = setup.store();
        let mut models: Vec<Modelled> = limits.into_iter().map(Modelled::new).collect();
        let mut now = NOW.as_micros();
        for (jump, items) in steps {
            now = now.saturating_add_signed(jump);
            let mut chosen: Vec<(usize, u64)> = Vec::new();
            for (index, cost) in items {
                let n = index.index(models.len());
                if chosen.iter().all(|&(other, _)| other != n) {
                    chosen.push((n, cost));
                }
            }
            let numbered = chosen.iter().map(|&(n, cost)| (u64::try_from(n).unwrap(), models[n].limit, cost));
            let executed = execute(setup, &store, &check_of(numbered), Timestamp::from_micros(now));
            let expected = expected(&mut models, &chosen, executed.at);
            for ((&(n, cost), decision), expected) in chosen.iter().zip(&executed.decisions).zip(expected) {
                let limit = models[n].limit;
                let decision = in_ticks(&limit, decision);
                if decision != expected {
                    let at = executed.at.as_micros();
                    return Err(TestCaseError::fail(format!(
                        "{limit}: {cost} units at {now} (decided at {at}): {decision:?}, the model {expected:?}"
                    )));
                }
            }
        }
        Ok(())
    };
    TestRunner::new(strategy::config(96)).run(&cases, test).unwrap_or_else(|e| panic!("{e}"));
}

/// A peek shows the balance, also of a key that nobody has used, and creates nothing; so does a denial.
pub fn a_peek_creates_no_key<S: Setup>(setup: &S) {
    for limit in limits() {
        let store = setup.store();
        for (n, cost) in [(0, 0), (1, 6), (2, u64::MAX)] {
            let decision = execute(setup, &store, &check_of([(n, limit, cost)]), NOW).decisions[0];
            assert_eq!(decision.remaining, 5, "{limit}: {cost} units of an untouched key");
            assert_eq!(decision.reset_after, Duration::ZERO, "{limit}: {cost} units of an untouched key");
            let expected = if cost == 0 { Verdict::Admit } else { Verdict::Impossible };
            assert_eq!(decision.verdict, expected, "{limit}: {cost} units of an untouched key");
        }
        // A denial of one item creates no key for the others.
        execute(setup, &store, &check_of([(3, limit, 1), (4, limit, 6)]), NOW);
        let keys = setup.keys(&store).unwrap_or(0);
        assert_eq!(keys, 0, "{limit}: peeks and denials left keys behind");
        execute(setup, &store, &check_of([(0, limit, 1)]), NOW);
        assert!(setup.keys(&store).is_none_or(|keys| keys == 1), "{limit}: an admission left no key behind");
        for _ in 0..3 {
            let peek = execute(setup, &store, &check_of([(0, limit, 0)]), NOW).decisions[0];
            assert_eq!((peek.remaining, peek.is_admitted()), (4, true), "{limit}: peeks after an admission");
        }
    }
}

/// A clock that shows the last instant there is, as a broken one does, does not open the gate.
pub fn a_broken_clock_does_not_open_the_gate<S: Setup>(setup: &S) {
    let last = Timestamp::from_micros(u64::MAX);
    for limit in limits() {
        let store = setup.store();
        let ask = |cost| execute(setup, &store, &check_of([(0, limit, cost)]), last).is_admitted();
        let admitted = (0..20).filter(|_| ask(1)).count();
        assert_eq!(admitted, 5, "{limit}: of 20 at the last instant");
    }
}

/// Keys that look alike when their parts are put together are distinct, one by one and in one check; the same key twice is
/// no check.
pub fn lookalike_keys_are_distinct<S: Setup>(setup: &S) {
    let rule = || Key::builder("rule");
    let keys = [
        Key::builder("rul").part(1, "", b"e").build(),
        rule().build(),
        rule().part(1, "", b"").build(),
        rule().part(2, "", b"").build(),
        rule().part(1, "a", b"").build(),
        rule().part(1, "", b"a").build(),
        rule().part(1, "", b"A").build(),
        rule().part(1, "", b"a ").build(),
        rule().part(1, "", b"a\0").build(),
        rule().part(1, "", b"a_b").part(1, "", b"c").build(),
        rule().part(1, "", b"a").part(1, "", b"b_c").build(),
        rule().part(1, "", b"a\x01\x00\x01b").build(),
        rule().part(1, "", b"a").part(1, "", b"b").build(),
        rule().part(1, "", b"{a}").part(1, "", b"b").build(),
        rule().part(1, "", b"\xff\xfe\r\n").build(),
        rule().part(1, "", &[b'x'; 127]).build(),
        rule().part(1, "", &[b'x'; 128]).build(),
        rule().part(1, "", &[b'x'; 20_000]).build(),
    ];
    let store = setup.store();
    let [limit, ..] = limits();
    for (used, key) in keys.iter().enumerate() {
        for (n, other) in keys.iter().enumerate() {
            let peek = execute(setup, &store, &Check::one(other.clone(), limit, 0), NOW).decisions[0];
            let expected = if n < used { 0 } else { 5 };
            assert_eq!(peek.remaining, expected, "{other:?} after {used} keys were used up");
        }
        let decision = execute(setup, &store, &Check::one(key.clone(), limit, 5), NOW).decisions[0];
        assert!(decision.is_admitted(), "{key:?}: {decision:?}");
    }
    // All of them in one check; the same key twice is refused before any store sees it.
    let store = setup.store();
    let mut check = Check::new();
    for key in &keys {
        check.push(key.clone(), limit, 3).expect("keys that differ");
        check.push(key.clone(), limit, 3).expect_err("the same key twice");
    }
    for (admitted, left) in [(true, 2), (false, 2)] {
        let executed = execute(setup, &store, &check, NOW);
        for (key, decision) in keys.iter().zip(&executed.decisions) {
            assert_eq!((decision.is_admitted(), decision.remaining), (admitted, left), "{key:?} among all");
        }
    }
}
