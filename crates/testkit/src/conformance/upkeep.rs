//! What administrators ask of a store.

use core::time::Duration;

use cupo_core::{BlockChange, CheckItem, Fallback as _, MOST_BLOCKS, Store, Upkeep};
use proptest::collection::vec;
use proptest::prelude::Strategy;
use proptest::test_runner::TestRunner;
use proptest::{prop_assert, prop_assert_eq, prop_oneof};

use super::checks::{NOW, limits};
use super::{ReferenceStore, Setup, check_of, execute, key};
use crate::strategy;

#[derive(Debug, Clone, Copy)]
enum Act {
    Ask(u64),
    Grant(u64),
    Reset,
}

/// A grant gives exactly what was asked for, or all that is used; a reset leaves nothing; and whatever comes after is what the
/// pure functions have it.
pub fn resets_forget_and_grants_give_back<S: Setup>(setup: &S)
where
    S::Store: Upkeep,
{
    let acts = prop_oneof![
        6 => (1..4_u64).prop_map(Act::Ask),
        4 => (0..8_u64).prop_map(Act::Grant),
        1 => proptest::prelude::Just(Act::Reset),
    ];
    let limits = limits();
    let cases = (0..limits.len(), vec((0..25_000_000_u64, acts), 1..30));
    let test = |(limit, steps): (usize, Vec<(u64, Act)>)| {
        let limit = limits[limit];
        let (store, reference) = (setup.store(), ReferenceStore::default());
        let mut now = NOW;
        for (wait, act) in steps {
            now = now.after(Duration::from_micros(wait));
            let peek = |now| execute(setup, &store, &check_of([(0, limit, 0)]), now).decisions[0].remaining;
            match act {
                Act::Ask(cost) => {
                    let check = check_of([(0, limit, cost)]);
                    let executed = execute(setup, &store, &check, now);
                    prop_assert_eq!(executed.at, now);
                    prop_assert_eq!(executed, reference.execute(&check, now), "{}: {:?}", limit, act);
                }
                Act::Grant(units) => {
                    let before = peek(now);
                    let item = CheckItem { key: key(0), limit, cost: units };
                    let granted = setup.wait(store.grant(&item, now)).expect("the store answers");
                    let expected = before + units.min(limit.quota() - before);
                    prop_assert_eq!(
                        (granted.before, granted.after),
                        (before, expected),
                        "{}: {:?}",
                        limit,
                        act
                    );
                    prop_assert_eq!(peek(now), expected, "{}: what is told is what is left", limit);
                    setup.wait(reference.grant(&item, now)).expect("memory answers");
                }
                Act::Reset => {
                    setup.wait(store.reset(&key(0))).expect("the store answers");
                    prop_assert_eq!(peek(now), limit.quota(), "{}: a reset leaves nothing", limit);
                    let again = setup.wait(store.reset(&key(0))).expect("the store answers");
                    prop_assert!(!again, "{}: there is nothing to forget twice", limit);
                    setup.wait(reference.reset(&key(0))).expect("memory answers");
                }
            }
            let check = check_of([(0, limit, 0)]);
            let (ours, theirs) = (execute(setup, &store, &check, now), reference.execute(&check, now));
            prop_assert_eq!(ours, theirs, "{}: then a peek", limit);
        }
        Ok(())
    };
    TestRunner::new(strategy::config(96)).run(&cases, test).unwrap_or_else(|e| panic!("{e}"));
}

/// A block is there until it ends, is replaced by the next one, and is lifted; there are only so many.
pub fn blocks_are_kept_until_they_end<S: Setup>(setup: &S)
where
    S::Store: Upkeep,
{
    let store = setup.store();
    let (minute, second) = (Duration::from_secs(60), Duration::from_secs(1));
    let block = |n, span, now| setup.wait(store.block(&key(n), span, now)).expect("the store answers");
    let list = |known, now| setup.wait(store.blocks(known, now)).expect("the store answers");
    let first = list(None, NOW).expect("nobody knows anything");
    assert_eq!((first.blocks.len(), list(Some(first.version), NOW)), (0, None));
    assert_eq!(block(1, Some(minute), NOW), BlockChange::Done(None));
    let second_list = list(Some(first.version), NOW).expect("something changed");
    assert_ne!(second_list.version, first.version);
    let [only] = second_list.blocks.as_slice() else { panic!("{second_list:?}") };
    assert_eq!((&only.key, only.left), (&key(1), minute));
    assert_eq!(list(Some(second_list.version), NOW), None);
    let later = NOW.after(second * 20);
    assert_eq!(list(None, later).expect("all of it").blocks[0].left, second * 40);
    assert_eq!(block(1, Some(minute * 2), later), BlockChange::Done(Some(second * 40)));
    assert_eq!(block(2, Some(second), later), BlockChange::Done(None));
    assert_eq!(list(None, later).expect("all of it").blocks.len(), 2);
    let after = later.after(second);
    let keys: Vec<_> = list(None, after).expect("all of it").blocks.into_iter().map(|b| b.key).collect();
    assert_eq!(keys, [key(1)], "the other one has ended");
    assert_eq!(block(1, None, after), BlockChange::Done(Some(second * 119)));
    assert_eq!(block(1, None, after), BlockChange::Done(None));
    assert!(list(None, after).expect("all of it").blocks.is_empty());
    for n in 0..MOST_BLOCKS as u64 {
        assert_eq!(block(n, Some(minute), after), BlockChange::Done(None));
    }
    assert_eq!(block(MOST_BLOCKS as u64, Some(minute), after), BlockChange::Full);
    assert_eq!(block(7, Some(second), after), BlockChange::Done(Some(minute)), "a place that is there");
    assert_eq!(list(None, after).expect("all of it").blocks.len(), MOST_BLOCKS);
    // What was counted under a key has nothing to do with it.
    let executed =
        setup.wait(store.check(&check_of([(1, limits()[0], 1)]), after)).expect("the store answers");
    assert!(executed.is_admitted());
}
