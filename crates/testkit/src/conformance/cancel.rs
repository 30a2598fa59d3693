//! Cancelled slots.

use core::time::Duration;

use cupo_core::{Algorithm, CheckItem, Limit, Rate, Store, Timestamp};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use proptest::{prop_assert_eq, prop_oneof};

use super::checks::{NOW, limits};
use super::{Setup, check_of, execute, key};
use crate::model::Model;
use crate::strategy;
use crate::subject::in_ticks;

/// How many ticks to wait, and then what to ask for or which admitted request to cancel.
type Act = (u64, Result<u64, Index>);

/// A cancelled slot is given back where nobody has queued behind it and it has not passed; elsewhere a cancellation changes
/// nothing.
pub fn cancelled_slots_are_given_back<S: Setup>(setup: &S) {
    for other in limits().into_iter().filter(|limit| limit.algorithm() != Algorithm::LeakyBucket) {
        let store = setup.store();
        let item = CheckItem { key: key(0), limit: other, cost: 2 };
        setup.wait(store.cancel(&item, NOW, NOW)).expect("the store answers");
        assert_eq!(setup.keys(&store).unwrap_or(0), 0, "{other}: cancelling nothing created a key");
        let executed = execute(setup, &store, &check_of([(0, other, 2)]), NOW);
        let end = executed.at.after(executed.decisions[0].reset_after);
        setup.wait(store.cancel(&item, NOW, end)).expect("the store answers");
        let peek = execute(setup, &store, &check_of([(0, other, 0)]), NOW).decisions[0];
        assert_eq!(peek.remaining, 3, "{other}: gives no slots, yet one was taken back");
    }
    // At most a unit per tick, so that the end of the queue tells who is the last in it.
    let limits = (1..4_u64, 3..9_u64, 0..6_u64).prop_map(|(rate, period, queue)| {
        Limit::leaky_bucket(Rate::new(rate, Duration::from_micros(period)), queue).expect("a small limit")
    });
    // Ask, or cancel one of those that were admitted.
    let ask = (1..3_u64).prop_map(Ok);
    let cancel = any::<Index>().prop_map(Err);
    let cases = (limits, vec((0..4_u64, prop_oneof![ask, cancel]), 1..40));
    let test = |(limit, steps): (Limit, Vec<Act>)| {
        let store = setup.store();
        let mut model = Model::new(*limit.params());
        let mut admitted: Vec<(CheckItem, Timestamp)> = Vec::new();
        let mut now = NOW;
        for (wait, act) in steps {
            now = now.after(limit.resolution().span(wait));
            match act {
                Ok(cost) => {
                    let executed = execute(setup, &store, &check_of([(0, limit, cost)]), now);
                    let decision = executed.decisions[0];
                    let expected = model.ask(limit.resolution().tick(now), cost);
                    prop_assert_eq!(in_ticks(&limit, &decision), expected, "{} at {:?}", limit, now);
                    if decision.is_admitted() {
                        let end = executed.at.after(decision.reset_after);
                        admitted.push((CheckItem { key: key(0), limit, cost }, end));
                    }
                }
                Err(index) if !admitted.is_empty() => {
                    let n = index.index(admitted.len());
                    let (item, end) = admitted[n].clone();
                    setup.wait(store.cancel(&item, now, end)).expect("the store answers");
                    if model.cancel(limit.resolution().tick(now), n) {
                        admitted.pop();
                    }
                }
                Err(_) => {}
            }
            let peek = execute(setup, &store, &check_of([(0, limit, 0)]), now).decisions[0];
            let expected = model.decide(limit.resolution().tick(now), 0);
            prop_assert_eq!(in_ticks(&limit, &peek), expected, "{}: then a peek at {:?}", limit, now);
        }
        Ok(())
    };
    TestRunner::new(strategy::config(64)).run(&cases, test).unwrap_or_else(|e| panic!("{e}"));
}
