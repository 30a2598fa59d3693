//! Previews: what a check would answer.

use cupo_core::{Limit, Store};
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use proptest::{prop_assert, prop_assert_eq};

use super::checks::{NOW, limits};
use super::{Setup, check_of, execute};
use crate::strategy;

/// Microseconds to wait, and what is asked then.
type Act = (u32, Vec<(Index, u64)>);

/// A preview says what the check says right after it, shows the balances as peeks do, and changes nothing.
pub fn a_preview_is_what_a_check_answers<S: Setup>(setup: &S) {
    let store = setup.store();
    for cost in [0, 1, 5, 6, u64::MAX] {
        let check = check_of((0..).zip(limits()).map(|(n, limit)| (n, limit, cost)));
        let preview = setup.wait(store.preview(&check, NOW)).expect("the store answers");
        assert_eq!(preview.decisions.len(), limits().len());
        assert!(preview.balances.iter().all(|balance| balance.remaining == 5), "{preview:?}");
    }
    assert_eq!(setup.keys(&store).unwrap_or(0), 0, "previews left keys behind");
    let items = vec((any::<Index>(), 0..7_u64), 1..5);
    let cases = vec((0..40_000_000_u32, items), 1..25);
    let test = |steps: Vec<Act>| {
        // Nothing is ever previewed in the other.
        let other = setup.store();
        let store = setup.store();
        let mut now = NOW;
        for (wait, items) in steps {
            now = now.after(core::time::Duration::from_micros(wait.into()));
            let mut chosen: Vec<(u64, Limit, u64)> = Vec::new();
            for (index, cost) in items {
                let n = index.index(limits().len());
                let key = u64::try_from(n).expect("a small number");
                if chosen.iter().all(|(other, ..)| *other != key) {
                    chosen.push((key, limits()[n], cost));
                }
            }
            let check = check_of(chosen.iter().copied());
            let peek = check_of(chosen.iter().map(|(key, limit, _)| (*key, *limit, 0)));
            let balances = execute(setup, &other, &peek, now).decisions;
            let keys = setup.keys(&store);
            for _ in 0..2 {
                let preview = setup.wait(store.preview(&check, now)).expect("the store answers");
                prop_assert_eq!(&preview.balances, &balances, "the balances before {:?}", check);
                prop_assert!(preview.at >= now);
            }
            let preview = setup.wait(store.preview(&check, now)).expect("the store answers");
            prop_assert!(setup.keys(&store) <= keys, "a preview created a key");
            let executed = execute(setup, &store, &check, now);
            prop_assert_eq!(&preview.decisions, &executed.decisions, "{:?}", check);
            let unseen = execute(setup, &other, &check, now);
            prop_assert_eq!(
                &executed.decisions,
                &unseen.decisions,
                "a preview of {:?} changed something",
                check
            );
        }
        Ok(())
    };
    TestRunner::new(strategy::config(64)).run(&cases, test).unwrap_or_else(|e| panic!("{e}"));
}
